"""Data augmentation: each training sample is augmented by a random symmetry (the article, Section 9.3.1).

D ← D ∪ {(sym(s), v) | (s, v) ∈ D}, after a game and before the replay. For each state sym is drawn from the chosen
symmetries other than the identity (Sections 10.3 and 11.4). Equal samples are not merged: a state that is its own image
counts twice.

A policy is transformed with its state: each action becomes its image. If the image of one of a state's actions is
unknown (`Symmetries.action_images`), the image of the state has a value and no policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.encoding.compact import CompactRows
from athenan_spiel.encoding.encoder import Encoder
from athenan_spiel.encoding.symmetries import Symmetries, find_symmetries
from athenan_spiel.learning.labels import Labels
from athenan_spiel.learning.targets import Targets


@dataclass(frozen=True, eq=False)
class ChosenSymmetries:
    """Symmetries of a game that augment its training samples; by default none.

    Attributes:
        found: the symmetries of the game; None: they were not searched for.
        indices: indices of the chosen ones in `found`.
        actions: images of actions, as `Symmetries.action_images` returns them; None without policies.
    """

    found: Symmetries | None = None
    indices: tuple[int, ...] = ()
    actions: NDArray[Any] | None = None

    @classmethod
    def find(
        cls, game: pyspiel.Game, encoder: Encoder, setting: str, rng: np.random.Generator, *, policies: bool = False
    ) -> Self:
        """Finds the symmetries of `game` and chooses some.

        Args:
            setting: `EncodingConfig.symmetries`. With "none" nothing is searched for or drawn.
            policies: whether samples have policies, which need images of actions.

        Raises:
            ConfigError: the game does not have the symmetry that `setting` names.
        """
        if setting == "none":
            return cls()
        found = find_symmetries(game, rng, encoder)
        chosen = tuple(found.select(setting))
        return cls(found, chosen, found.action_images(game, rng, encoder) if policies else None)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the chosen symmetries."""
        return () if self.found is None else tuple(self.found.names[index] for index in self.indices)


class Augmentation:
    """Adds an image of each sample to the samples of a game.

    Args:
        rng: draws the symmetry of each state. Its owner stores its state.
    """

    def __init__(self, symmetries: ChosenSymmetries, rng: np.random.Generator) -> None:
        self._symmetries = symmetries
        self._rng = rng

    def __call__(self, targets: Targets) -> Targets:
        """Returns `targets` followed by one image of each, in the same order, with the same values and weights."""
        symmetries = self._symmetries
        if symmetries.found is None or not symmetries.indices:
            return targets
        chosen = np.array(symmetries.indices, np.int64)
        drawn = [self._rng.choice(chosen, size=len(pack)) for pack in targets.rows]
        images = [
            CompactRows.pack(symmetries.found.apply(pack.unpack(), which))
            for pack, which in zip(targets.rows, drawn, strict=True)
        ]
        labels = targets.labels
        if labels.policies is not None and symmetries.actions is not None:
            mirrored = labels.policies.renamed(symmetries.actions, np.concatenate(drawn))
            labels = Labels(labels.values, labels.weights, mirrored)
        return Targets([*targets.rows, *images], Labels.joined([targets.labels, labels]))
