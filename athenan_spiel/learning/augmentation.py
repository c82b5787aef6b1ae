"""Data augmentation by symmetry: each pair is joined by its mirror image (the article, Section 9.3.1).

D ← D ∪ {(sym(s), v) | (s, v) ∈ D}, after a match and before the replay, where sym is drawn for each state from the
symmetries chosen, the identity excepted (Sections 10.3 and 11.4). The union is not merged: a state that is its own
image counts twice.
"""

from __future__ import annotations

import numpy as np
import pyspiel

from athenan_spiel.encoding.compact import CompactRows
from athenan_spiel.encoding.encoder import Encoder
from athenan_spiel.encoding.symmetries import find_symmetries
from athenan_spiel.learning.targets import Targets


class Augmentation:
    """Adds mirror images to the data set of a match.

    Args:
        game: whose symmetries are found first.
        encoder: of what is learned.
        setting: `EncodingConfig.symmetries`; with "none", nothing is looked for, added or drawn.
        rng: finds the symmetries, and draws the one for each state. Its state belongs to its owner.

    Attributes:
        names: of the symmetries that are drawn from.

    Raises:
        ConfigError: a symmetry is named that the game does not have.
    """

    def __init__(self, game: pyspiel.Game, encoder: Encoder, setting: str, rng: np.random.Generator) -> None:
        self.names: tuple[str, ...] = ()
        self._rng = rng
        if setting == "none":
            return
        self._symmetries = find_symmetries(game, rng, encoder)
        chosen = self._symmetries.select(setting)
        self.names = tuple(self._symmetries.names[i] for i in chosen)
        self._chosen = np.array(chosen, np.int64)

    def __call__(self, targets: Targets) -> Targets:
        """D with as many images behind it, in the same order and with the same values and weights."""
        if not self.names:
            return targets
        images = [self._images(pack) for pack in targets.rows]
        weights = None if targets.weights is None else np.tile(targets.weights, 2)
        return Targets([*targets.rows, *images], np.tile(targets.values, 2), weights)

    def _images(self, pack: CompactRows) -> CompactRows:
        which = self._rng.choice(self._chosen, size=len(pack))
        return CompactRows.pack(self._symmetries.apply(pack.unpack(), which))
