"""Data augmentation by symmetry: each pair is joined by its mirror image (the article, Section 9.3.1).

D ← D ∪ {(sym(s), v) | (s, v) ∈ D}, after a match and before the replay, where sym is drawn for each state from the
symmetries chosen, the identity excepted (Sections 10.3 and 11.4). The union is not merged: a state that is its own
image counts twice.

A policy is mirrored with its state: each action becomes its image. Where the image of one of a state's actions is not
known (`Symmetries.action_images`), the image of the state has its value to learn, and no policy.
"""

from __future__ import annotations

import numpy as np
import pyspiel

from athenan_spiel.encoding.compact import CompactRows
from athenan_spiel.encoding.encoder import Encoder
from athenan_spiel.encoding.symmetries import find_symmetries
from athenan_spiel.learning.labels import Labels
from athenan_spiel.learning.targets import Targets


class Augmentation:
    """Adds mirror images to the data set of a match.

    Args:
        game: whose symmetries are found first.
        encoder: of what is learned.
        setting: `EncodingConfig.symmetries`; with "none", nothing is looked for, added or drawn.
        rng: finds the symmetries, and draws the one for each state. Its state belongs to its owner.
        policies: states have policies, which are to be mirrored.

    Attributes:
        names: of the symmetries that are drawn from.

    Raises:
        ConfigError: a symmetry is named that the game does not have.
    """

    def __init__(
        self, game: pyspiel.Game, encoder: Encoder, setting: str, rng: np.random.Generator, *, policies: bool = False
    ) -> None:
        self.names: tuple[str, ...] = ()
        self._rng = rng
        if setting == "none":
            return
        self._symmetries = find_symmetries(game, rng, encoder)
        chosen = self._symmetries.select(setting)
        self.names = tuple(self._symmetries.names[i] for i in chosen)
        self._chosen = np.array(chosen, np.int64)
        self._actions = self._symmetries.action_images(game, rng, encoder) if policies else None

    def __call__(self, targets: Targets) -> Targets:
        """D with as many images behind it, in the same order and with the same values and weights."""
        if not self.names:
            return targets
        drawn = [self._rng.choice(self._chosen, size=len(pack)) for pack in targets.rows]
        images = [
            CompactRows.pack(self._symmetries.apply(pack.unpack(), which))
            for pack, which in zip(targets.rows, drawn, strict=True)
        ]
        labels = targets.labels
        if labels.policies is not None and self._actions is not None:
            mirrored = labels.policies.renamed(self._actions, np.concatenate(drawn))
            labels = Labels(labels.values, labels.weights, mirrored)
        return Targets([*targets.rows, *images], Labels.joined([targets.labels, labels]))
