"""Training time after which a variant is as strong as a rival at its end: the measure of *Minimax Strikes Back* (2023).

A variant reaches a rival at the first stage at which its networks score half of the points against the rival's final
networks of the same repetition, mean over repetitions. Against an opponent of [fixed], as in the paper, they have to
score as many points as the rival's final networks. Between two stages the logarithm of the share of the training is
interpolated linearly in the points. The share is measured for the saved networks, mean over repetitions (`Moments`).

1. If the first stage reaches the rival, `share` is that of the first stage, an upper bound.
2. If no stage does, `share` is infinite.
3. If the curve decreases afterwards, the first time counts.
4. The interval is the percentile bootstrap over repetitions, which are drawn with the networks of both sides. Its ends
   may be those of 1 and 2. Without spread of the resamples there is no interval.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.arena.statistics import draws
from athenan_spiel.arena.tables import code, markdown_table
from athenan_spiel.experiments.plan import Entrant, Plan, seed_of
from athenan_spiel.experiments.settings import Experiment
from athenan_spiel.experiments.statistics import MEAN, Points

ENOUGH = 0.5
"""Share of the points at which two networks are equally strong."""
ROUNDING = 1e-9


class Moments:
    """Shares of the trainings after which the networks of an experiment were saved.

    Args:
        found: maps (game, name of the training, repetition) to the share at each stage; by default the planned shares.
    """

    def __init__(self, plan: Plan, found: Mapping[tuple[str, str, int], list[float]] | None = None) -> None:
        self._plan = plan
        self._found = found or {}

    def of(self, game: str, variant: str) -> NDArray[np.float64]:
        """Returns the shares of the training before each saved network, [repetitions, stages], in (0, 1]."""
        planned, name = self._plan.experiment.protocol.shares(), self._plan.trained_as[variant]
        repetitions = range(1, self._plan.experiment.repetitions + 1)
        shares = np.array([self._found.get((game, name, r), planned) for r in repetitions])
        clipped: NDArray[np.float64] = np.clip(shares, planned, 1.0)
        return clipped

    def mean(self, game: str, variant: str) -> list[float]:
        """Returns the mean share at each stage, over repetitions, and over games if `game` is `MEAN`."""
        games = self._plan.variants[variant].games if game == MEAN else [game]
        shares: list[float] = np.mean([self.of(one, variant).mean(axis=0) for one in games], axis=0).tolist()
        return shares

    def rows(self) -> list[dict[str, Any]]:
        """Returns the planned and the measured share, mean over repetitions, by game, variant and stage."""
        experiment = self._plan.experiment
        planned = experiment.protocol.shares()
        return [
            {"game": game, "variant": variant.name, "stage": n, "planned": planned[n - 1], "share": round(share, 6)}
            for game in experiment.games
            for variant in experiment.variants_of(game)
            for n, share in enumerate(self.mean(game, variant.name), 1)
        ]


@dataclass(frozen=True)
class Reached:
    """Share of its training after which a variant reaches a rival's final strength.

    Attributes:
        opponent: opponent of [fixed]; empty for games between the two.
        share: the share; that of the first stage is an upper bound; infinite if the rival is not reached.
        low, high: ends of its interval; NaN without one.
        first: the share of the first stage.
    """

    game: str
    variant: str
    rival: str
    opponent: str
    share: float
    low: float
    high: float
    first: float


def reached(points: Points, moments: Moments) -> list[Reached]:
    """Returns the results for each game and ordered pair of variants that have met."""
    experiment = points.plan.experiment
    found = []
    for game in experiment.games:
        names = [variant.name for variant in experiment.variants_of(game)]
        for variant, rival in itertools.permutations(names, 2):
            curves = _curves(points, game, variant, rival)
            if not np.isnan(curves).any():
                goals = np.full(len(curves), ENOUGH)
                found.append(_reached(experiment, moments, (game, variant, rival, ""), curves, goals))
    return found


def reached_against_fixed(points: Points, moments: Moments) -> list[Reached]:
    """Returns the results against the opponents of [fixed], if all stages have met them."""
    plan = points.plan
    pool = plan.experiment.fixed
    if pool is None or pool.config.stages == "last":
        return []
    found = []
    for opponent in pool.opponents:
        for game in opponent.games:
            names = [name for name in opponent.variants if game in plan.variants[name].games]
            curves = {name: _curves(points, game, name, opponent.name, fixed=True) for name in names}
            complete = {name: curve for name, curve in curves.items() if not np.isnan(curve).any()}
            for variant, rival in itertools.permutations(complete, 2):
                key = game, variant, rival, opponent.name
                found.append(_reached(plan.experiment, moments, key, complete[variant], complete[rival][:, -1]))
    return found


def crossings(
    curves: NDArray[np.float64], goals: NDArray[np.float64], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Returns the share of the training at which each curve first reaches its goal.

    Args:
        curves: points, [B, stages].
        goals: [B].
        shares: share of the training at each stage, [B, stages].

    Returns:
        [B]; infinite for a curve that never reaches it.
    """
    goals = goals - ROUNDING
    above = curves >= goals[:, np.newaxis]
    first = above.argmax(axis=1)
    rows, before = np.arange(len(curves)), np.maximum(first - 1, 0)
    low, high = curves[rows, before], curves[rows, first]
    logarithms = np.log(shares)
    part = np.where(first > 0, (goals - low) / np.where(high > low, high - low, 1.0), 1.0)
    start, end = logarithms[rows, before], logarithms[rows, first]
    moments = np.exp(start + part * (end - start))
    reached_at: NDArray[np.float64] = np.where(above.any(axis=1), moments, math.inf)
    return reached_at


def reaching_tables(experiment: Experiment, found: Sequence[Reached]) -> Iterator[str]:
    """Yields a table for each game and opponent: when the row's variant reaches the final strength of the column's."""
    cells = {(one.game, one.opponent, one.variant, one.rival): _cell(one) for one in found}
    for game, opponent in dict.fromkeys((one.game, one.opponent) for one in found):
        names = [variant.name for variant in experiment.variants_of(game)]
        rows = [[code(row), *(cells.get((game, opponent, row, column), "") for column in names)] for row in names]
        against = f", by points against {code(opponent)}" if opponent else ""
        yield markdown_table([code(game) + against, *map(code, names)], rows)


def _curves(points: Points, game: str, variant: str, rival: str, *, fixed: bool = False) -> NDArray[np.float64]:
    """Returns the points of a variant's networks against a rival's final ones or an opponent of [fixed].

    The shape is [repetitions, stages]; NaN if they have not met.
    """
    experiment = points.plan.experiment
    stages = range(1, experiment.protocol.stages + 1)
    found = []
    for r in range(1, experiment.repetitions + 1):
        opponent = rival if fixed else Entrant(rival, r, stages[-1])
        found.append([points.share(game, Entrant(variant, r, stage), opponent) for stage in stages])
    return np.array(found)


def _reached(
    experiment: Experiment,
    moments: Moments,
    key: tuple[str, str, str, str],
    curves: NDArray[np.float64],
    goals: NDArray[np.float64],
) -> Reached:
    """Returns the result for `key`, (game, variant, rival, opponent), with goals [repetitions]."""
    protocol = experiment.protocol
    shares = moments.of(*key[:2])
    rng = np.random.default_rng(seed_of(experiment.seed, "bootstrap", "reached", *key))
    weights = draws(rng, len(curves), protocol.resamples) / len(curves)
    found = crossings(weights @ curves, weights @ goals, weights @ shares)
    tail = (1 - protocol.confidence) / 2
    resamples = np.sort(found[1:])
    low, high = (resamples[round(level * (len(resamples) - 1))] for level in (tail, 1 - tail))
    if resamples[0] == resamples[-1]:
        low = high = math.nan
    return Reached(*key, float(found[0]), float(low), float(high), float(shares[:, 0].mean()))


def _cell(one: Reached) -> str:
    share = _percent(one.share, one.first)
    low, high = ("" if math.isnan(end) else _percent(end, one.first) for end in (one.low, one.high))
    return share if low == high else f"{share} ({low} to {high})"


def _percent(share: float, first: float) -> str:
    if math.isinf(share):
        return "never"
    return f"{'≤ ' if share <= first + ROUNDING else ''}{100 * share:.3g} %"
