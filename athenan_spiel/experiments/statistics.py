"""Win percentages of variants, with intervals by the stratified bootstrap.

A win percentage is a share of the points: a win is one, a draw a half. What varies independently are the trainings, not
the matches of one network, nor those of two; so a resample draws repetitions, with replacement, within each game
(the stratum), and all matches follow their networks. The interval is that between two percentiles of the resamples.

1. Where final networks meet those of all repetitions, each training's repetitions are drawn by themselves, and both
   players of a match count as often as they were drawn. Variants that share their networks are drawn together.
2. Where they meet those of their own repetition, repetitions are drawn, each with all its networks.
3. The mean over games is over those in which the variant takes part, each with the same weight.
4. A network does not meet itself; where a resample has it twice, the two have a half against each other. So a variant
   meets itself as often in a resample as it did, and no resample lies further from a half for that alone.
5. Where the resamples show no spread there is no interval: they would give one without a width, which says that nothing
   is uncertain, while nothing is known of that. So it is with one repetition, with repetitions that came out alike, and
   where all resamples but one drew nothing that was played.

With few repetitions such intervals are somewhat too narrow: four numbers do not say all about their spread.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.arena.statistics import Interval, draws, percentile_interval
from athenan_spiel.experiments.plan import Entrant, GameResult, Pairing, Plan, seed_of

MEAN = "mean"
"""Stands for the mean over games, where otherwise a game is named."""
ARRAYS = 8
"""Arrays of resamples by networks that `weighted_shares` and those who call it hold at once."""
MOST_BYTES = 4 * 10**9
"""Memory that the bootstrap may take."""


@dataclass(frozen=True)
class Share:
    """The points of a variant.

    Attributes:
        game: or `MEAN`.
        stage: of the variant's networks, from 1.
        estimate: of the share of the points, in [0, 1].
        interval: of the same; None where the resamples show no spread.
        matches: played, by this variant's networks.
        repetitions: of its trainings, in each game.
        opponent: of [fixed], by its name; empty: other networks.
        forfeits: games that ended because a player failed, against an opponent of [fixed].
    """

    game: str
    variant: str
    stage: int
    estimate: float
    interval: Interval | None
    matches: int
    repetitions: int
    opponent: str = ""
    forfeits: int = 0


@dataclass(frozen=True)
class Difference:
    """By how much one variant's share of the points is more than another's, mean over `games` games.

    Attributes:
        interval: of `estimate`; None where the resamples show no spread.
    """

    variant: str
    other: str
    games: int
    estimate: float
    interval: Interval | None


class Points:
    """The points of all games that were played.

    Attributes:
        played: number of games.
    """

    def __init__(self, plan: Plan, games: Iterable[GameResult]) -> None:
        self.plan = plan
        self.played = 0
        self._fixed: dict[Pairing, list[GameResult]] = {}
        self._points: dict[tuple[str, Entrant, Entrant | str], list[float]] = {}
        for result in games:
            self.played += 1
            game, a, b = result.pairing.game, result.pairing.a, result.pairing.b
            self._points.setdefault((game, a, b), []).append(result.points)
            if isinstance(b, Entrant):
                self._points.setdefault((game, b, a), []).append(1 - result.points)
            else:
                self._fixed.setdefault(result.pairing, []).append(result)

    def fixed(self, pairing: Pairing) -> Sequence[GameResult]:
        """The games of a pairing with an opponent of [fixed]."""
        return self._fixed.get(pairing, ())

    def share(self, game: str, player: Entrant, opponent: Entrant | str) -> float:
        """The player's share of the points against the opponent; NaN if they have not met."""
        points = self._points.get((game, player, opponent))
        return sum(points) / len(points) if points else np.nan

    def matches(self, game: str, player: Entrant, opponent: Entrant) -> int:
        """How many they have played."""
        return len(self._points.get((game, player, opponent), ()))

    def matrix(self, game: str, players: Sequence[Entrant]) -> NDArray[np.float64]:
        """Each one's share against each other, [n, n]; NaN where they have not met, as on the diagonal."""
        return np.array([[self.share(game, a, b) for b in players] for a in players])


def final_shares(points: Points) -> list[Share]:
    """The final networks' points, for each game and variant, and the means over games."""
    plan = points.plan
    sampled = {game: _final_samples(points, game) for game in plan.experiment.games}
    stage = plan.experiment.protocol.stages
    counts: dict[tuple[str, str], int] = Counter()
    for game in plan.experiment.games:
        for player, opponent in itertools.product(plan.finals(game), repeat=2):
            counts[game, player.variant] += points.matches(game, player, opponent)
    return _shares(plan, sampled, stage, counts)


def curve_shares(points: Points) -> list[Share]:
    """The points of each stage's networks against the final ones of their repetition, for each game, and the means.

    As in the article, a variant's own final network is among them; that against itself counts a half.
    """
    plan = points.plan
    shares = []
    for stage in range(1, plan.experiment.protocol.stages + 1):
        sampled: dict[str, dict[str, NDArray[np.float64]]] = {}
        counts: dict[tuple[str, str], int] = {}
        for game in plan.experiment.games:
            sampled[game], played = _stage_samples(points, game, stage)
            counts |= {(game, name): count for name, count in played.items()}
        shares += _shares(plan, sampled, stage, counts)
    return shares


def final_differences(points: Points) -> list[Difference]:
    """By how much the variant of the best mean is ahead of each other one, over the games in which both take part."""
    plan = points.plan
    sampled = {game: _final_samples(points, game) for game in plan.experiment.games}
    means = {share.variant: share.estimate for share in final_shares(points) if share.game == MEAN}
    best = max(means, key=means.__getitem__, default=None)
    found = []
    for other in means:
        common = [samples for samples in sampled.values() if best in samples and other in samples]
        if best is not None and other != best and common:
            values = np.mean([samples[best] - samples[other] for samples in common], axis=0)
            resamples = values[1:][~np.isnan(values[1:])]
            interval = percentile_interval(values[0], resamples, plan.experiment.protocol.confidence)
            found.append(Difference(best, other, len(common), float(values[0]), interval))
    return found


def bootstrap_bytes(plan: Plan) -> int:
    """About how much memory the bootstrap takes at the game of most networks."""
    experiment = plan.experiment
    networks = experiment.repetitions * max(len(experiment.variants_of(game)) for game in experiment.games)
    kept = sum(len(variant.games) for variant in experiment.variants)
    rows = experiment.protocol.resamples + 1
    return 8 * (rows * (ARRAYS * networks + kept) + 3 * networks**2)


def head_to_head(points: Points) -> dict[tuple[str, str], float]:
    """(row, column) → the row's share of the points of all final matches between the two, mean over their games."""
    plan = points.plan
    found: dict[tuple[str, str], list[float]] = {}
    for game in plan.experiment.games:
        players = plan.finals(game)
        matrix = points.matrix(game, players)
        names = np.array([player.variant for player in players])
        for row in dict.fromkeys(names):
            for column in dict.fromkeys(names):
                block = matrix[np.ix_(names == row, names == column)]
                if row != column and not np.isnan(block).all():
                    found.setdefault((str(row), str(column)), []).append(float(np.nanmean(block)))
    return {pair: sum(values) / len(values) for pair, values in found.items()}


def weighted_shares(
    matrix: NDArray[np.float64], weights: NDArray[np.float64], members: NDArray[np.bool_], *, by_both: bool
) -> NDArray[np.float64]:
    """Each variant's share when its networks count as often as they were drawn.

    Args:
        matrix: [n, n], share of each network against each other; NaN where they have not met.
        weights: [B, n], how often each was drawn.
        members: [v, n], which networks are a variant's.
        by_both: whether a match counts by both players' weights, or by the first one's alone.

    Returns:
        [B, v]; NaN where nothing that a variant plays was drawn.
    """
    met = ~np.isnan(matrix)
    values = np.where(met, matrix, 0.0)
    opponents = weights if by_both else np.ones_like(weights)
    points, played = opponents @ values.T, opponents @ met.T  # [B, n]
    if by_both:
        twins = (weights - 1) * met.any(axis=1)
        points, played = points + 0.5 * twins, played + twins
    with np.errstate(invalid="ignore"):
        shares: NDArray[np.float64] = ((weights * points) @ members.T) / ((weights * played) @ members.T)
    return shares


def _final_samples(points: Points, game: str) -> dict[str, NDArray[np.float64]]:
    """variant → the estimate, then that of each resample: [1 + B]."""
    plan = points.plan
    players = plan.finals(game)
    names = [variant.name for variant in plan.experiment.variants_of(game)]
    members = np.array([[player.variant == name for player in players] for name in names])
    everyone = plan.experiment.protocol.opponents == "all"
    weights = _weights(plan, game, players, everyone)
    shares = weighted_shares(points.matrix(game, players), weights, members, by_both=everyone)
    return dict(zip(names, shares.T, strict=True))


def _stage_samples(points: Points, game: str, stage: int) -> tuple[dict[str, NDArray[np.float64]], dict[str, int]]:
    """As `_final_samples` for the networks of `stage`, and how many matches each variant has."""
    plan = points.plan
    finals = plan.finals(game)
    samples, counts = {}, {}
    for variant in plan.experiment.variants_of(game):
        shares = []
        for repetition in range(1, plan.experiment.repetitions + 1):
            player = Entrant(variant.name, repetition, stage)
            opponents = [final for final in finals if final.repetition == repetition]
            shares.append(np.mean([0.5 if player == o else points.share(game, player, o) for o in opponents]))
        counts[variant.name] = sum(
            points.matches(game, Entrant(variant.name, final.repetition, stage), final) for final in finals
        )
        weights = _draws(plan, "curve", game, variant.name)
        samples[variant.name] = _weighted_mean(np.array(shares), weights)
    return samples, counts


def _weighted_mean(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of those values that are there, for each row of weights."""
    there = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        means: NDArray[np.float64] = (weights @ np.where(there, values, 0.0)) / (weights @ there)
    return means


def _weights(plan: Plan, game: str, players: Sequence[Entrant], everyone: bool) -> NDArray[np.float64]:
    """How often each player counts, [1 + B, n]: once, then as often as its repetition was drawn."""
    drawn = {
        name: _draws(plan, "final", game, plan.trained_as(name) if everyone else "")
        for name in {player.variant for player in players}
    }
    return np.stack([drawn[player.variant][:, player.repetition - 1] for player in players], axis=1)


def _draws(plan: Plan, *what: str) -> NDArray[np.float64]:
    """How often each repetition was drawn, [1 + B, R]; in the first row once each. `what` is drawn independently."""
    experiment = plan.experiment
    count = experiment.repetitions
    rng = np.random.default_rng(seed_of(experiment.seed, "bootstrap", what))
    return draws(rng, count, experiment.protocol.resamples)


def _shares(
    plan: Plan,
    sampled: Mapping[str, Mapping[str, NDArray[np.float64]]],
    stage: int,
    counts: Mapping[tuple[str, str], int],
) -> list[Share]:
    """The shares whose estimates and resamples are given by game and variant, and their means over games."""
    experiment = plan.experiment
    found = []
    for variant in experiment.variants:
        of_games = {game: samples[variant.name] for game, samples in sampled.items() if variant.name in samples}
        lines = [*of_games.items(), (MEAN, np.mean(list(of_games.values()), axis=0))]
        for game, values in lines:
            resamples = values[1:][~np.isnan(values[1:])]
            if np.isnan(values[0]) or not len(resamples):
                continue
            played = counts[game, variant.name] if game != MEAN else sum(counts[g, variant.name] for g in of_games)
            interval = percentile_interval(values[0], resamples, experiment.protocol.confidence)
            estimate = float(values[0])
            found.append(Share(game, variant.name, stage, estimate, interval, played, experiment.repetitions))
    return found
