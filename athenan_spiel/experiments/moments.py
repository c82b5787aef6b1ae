"""When the network of each stage was saved: after the first round that had come so far, which may be much later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.experiments.plan import Plan
from athenan_spiel.experiments.statistics import MEAN


@dataclass(frozen=True)
class Moment:
    """When the networks of a stage were saved.

    Attributes:
        planned: the share of the training that was to lie behind.
        share: that lay behind, mean over repetitions.
    """

    game: str
    variant: str
    stage: int
    planned: float
    share: float


class Moments:
    """The shares of their trainings that lay behind the networks of an experiment.

    Args:
        found: (game, name of the training, repetition) → the share at each stage; what is missing is as it was planned.
    """

    def __init__(self, plan: Plan, found: Mapping[tuple[str, str, int], list[float]] | None = None) -> None:
        self._plan = plan
        self._found = found or {}

    def of(self, game: str, variant: str) -> NDArray[np.float64]:
        """Of a variant's networks at a game, [repetitions, stages], in (0, 1]."""
        planned, name = self._plan.experiment.protocol.shares(), self._plan.trained_as(variant)
        repetitions = range(1, self._plan.experiment.repetitions + 1)
        shares = np.array([self._found.get((game, name, r), planned) for r in repetitions])
        clipped: NDArray[np.float64] = np.clip(shares, planned, 1.0)
        return clipped

    def mean(self, game: str, variant: str) -> list[float]:
        """At each stage the mean over repetitions, and over games where `game` is their mean."""
        games = self._plan.variant(variant).games if game == MEAN else [game]
        shares: list[float] = np.mean([self.of(one, variant).mean(axis=0) for one in games], axis=0).tolist()
        return shares

    def all(self) -> list[Moment]:
        """Of each variant at each of its games."""
        experiment = self._plan.experiment
        planned = experiment.protocol.shares()
        return [
            Moment(game, variant.name, stage, planned[stage - 1], share)
            for game in experiment.games
            for variant in experiment.variants_of(game)
            for stage, share in enumerate(self.mean(game, variant.name), 1)
        ]
