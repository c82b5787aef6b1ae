"""Win percentages of variants against each other and against the opponents of [fixed], with intervals.

A win percentage is a share of the points: a win counts one, a draw a half. The papers' performance, the share won minus
the share lost, is twice the points minus one. Trainings are the independent units, not the games of one network or of
two. So a resample of the stratified bootstrap draws repetitions with replacement within each game (the stratum), as in
*Minimax Strikes Back*, Section 3.3, and games follow their networks. The interval lies between two percentiles of the
resamples.

1. If final networks meet those of all repetitions, the repetitions of each training are drawn independently. The weight
   of a game is the product of the counts of both players. Variants that share networks are drawn together.
2. If they meet those of their own repetition, repetitions are drawn with all their networks.
3. The mean over games weights equally the games that a variant plays, or at which it meets a fixed opponent.
4. A network does not meet itself. If a resample contains it twice, the two copies score a half against each other. So a
   variant meets itself as often in a resample as in the data, which does not move a resample away from a half.
5. Without spread of the resamples there is no interval, because one of zero width would claim certainty. This occurs
   with one repetition, with equal repetitions, and if only one resample contains a played game.
6. Against a fixed opponent with one repetition, the games of the network are the units, so the interval does not
   include the variation between trainings. For a game it is Wilson's interval with openings as clusters
   (`arena.statistics`). For the mean over games, the squared distances from the estimate to the ends of the intervals
   are added (Zou and Donner, Statistics in Medicine, 2008).

With few repetitions such intervals are somewhat too narrow.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.arena.statistics import draws, percentile_interval, stratified_mean
from athenan_spiel.experiments.plan import Entrant, GameResult, Pairing, Plan, seed_of
from athenan_spiel.play.intervals import Interval, share_interval

Strata = Sequence[Sequence[Sequence[GameResult]]]
"""Games against a fixed opponent, of each network at each game."""

MEAN = "mean"
"""Name of the mean over games, in place of a game's."""
ARRAYS = 8
"""Number of arrays [resamples, networks] that exist at once in `weighted_shares` and its callers."""
MOST_BYTES = 4 * 10**9
"""Maximum memory of the bootstrap, in bytes."""


@dataclass(frozen=True)
class Share:
    """The points of a variant.

    Attributes:
        game: a game or `MEAN`.
        stage: stage of the variant's networks, from 1.
        estimate: share of the points, in [0, 1].
        interval: interval of the share; None if the resamples show no spread.
        matches: number of games of this variant's networks.
        repetitions: number of its trainings at each game.
        opponent: name of an opponent of [fixed]; empty for other networks.
        forfeits: number of games against an opponent of [fixed] that ended because a player failed.
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
    """Difference of two variants' shares of the points, mean over `games` games.

    Attributes:
        interval: interval of `estimate`; None if the resamples show no spread.
    """

    variant: str
    other: str
    games: int
    estimate: float
    interval: Interval | None


class Points:
    """The points of all finished games.

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
        """Returns the games of a pairing with an opponent of [fixed]."""
        return self._fixed.get(pairing, ())

    def share(self, game: str, player: Entrant, opponent: Entrant | str) -> float:
        """Returns the player's share of the points against the opponent; NaN if they have not met."""
        points = self._points.get((game, player, opponent))
        return sum(points) / len(points) if points else np.nan

    def matches(self, game: str, player: Entrant, opponent: Entrant) -> int:
        """Returns the number of games between the two."""
        return len(self._points.get((game, player, opponent), ()))

    def matrix(self, game: str, players: Sequence[Entrant]) -> NDArray[np.float64]:
        """Returns the share of each player against each other one, [n, n]; NaN if they have not met, and on the
        diagonal."""
        return np.array([[self.share(game, a, b) for b in players] for a in players])


def final_shares(points: Points) -> list[Share]:
    """Returns the points of final networks for each game and variant, and the means over games."""
    plan = points.plan
    sampled = {game: _final_samples(points, game) for game in plan.experiment.games}
    stage = plan.experiment.protocol.stages
    counts: dict[tuple[str, str], int] = Counter()
    for game in plan.experiment.games:
        for player, opponent in itertools.product(plan.finals(game), repeat=2):
            counts[game, player.variant] += points.matches(game, player, opponent)
    return _shares(plan, sampled, stage, counts)


def curve_shares(points: Points) -> list[Share]:
    """Returns the points of each stage's networks against the final ones of their repetition, and the means over games.

    As in the article, a variant's own final network is included; against itself it scores a half.
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
    """Returns the lead of the variant with the best mean over each other one, over the games that both play."""
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
    """Returns the approximate memory of the bootstrap for the game with most networks."""
    experiment = plan.experiment
    networks = experiment.repetitions * max(len(experiment.variants_of(game)) for game in experiment.games)
    kept = sum(len(variant.games) for variant in experiment.variants)
    rows = experiment.protocol.resamples + 1
    return 8 * (rows * (ARRAYS * networks + kept) + 3 * networks**2)


def head_to_head(points: Points) -> dict[tuple[str, str], float]:
    """Returns the row's share of the points in all final games against the column, mean over their games."""
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
    """Returns each variant's share if its networks count as often as they were drawn.

    Args:
        matrix: [n, n], share of each network against each other; NaN if they have not met.
        weights: [B, n], how often each network was drawn.
        members: [v, n], the networks of each variant.
        by_both: whether a game is weighted by both players or by the first one only.

    Returns:
        [B, v]; NaN if no game of a variant was drawn.
    """
    met = ~np.isnan(matrix)
    values = np.where(met, matrix, 0.0)
    opponents = weights if by_both else np.ones_like(weights)
    points, played = opponents @ values.T, opponents @ met.T  # [B, n]
    if by_both:
        copies = (weights - 1) * met.any(axis=1)
        points, played = points + 0.5 * copies, played + copies
    with np.errstate(invalid="ignore"):
        shares: NDArray[np.float64] = ((weights * points) @ members.T) / ((weights * played) @ members.T)
    return shares


def _final_samples(points: Points, game: str) -> dict[str, NDArray[np.float64]]:
    """Maps each variant to its estimate, followed by those of the resamples, [1 + B]."""
    plan = points.plan
    players = plan.finals(game)
    names = [variant.name for variant in plan.experiment.variants_of(game)]
    members = np.array([[player.variant == name for player in players] for name in names])
    everyone = plan.experiment.protocol.opponents == "all"
    weights = _weights(plan, game, players, everyone)
    shares = weighted_shares(points.matrix(game, players), weights, members, by_both=everyone)
    return dict(zip(names, shares.T, strict=True))


def _stage_samples(points: Points, game: str, stage: int) -> tuple[dict[str, NDArray[np.float64]], dict[str, int]]:
    """As `_final_samples` for the networks of `stage`, and the number of each variant's games."""
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
    """Returns the mean of the values that are not NaN, for each row of weights."""
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        means: NDArray[np.float64] = (weights @ np.where(known, values, 0.0)) / (weights @ known)
    return means


def _weights(plan: Plan, game: str, players: Sequence[Entrant], everyone: bool) -> NDArray[np.float64]:
    """Returns the weight of each player, [1 + B, n]: 1 in the first row, then the count of its repetition."""
    drawn = {
        name: _draws(plan, "final", game, plan.trained_as[name] if everyone else "")
        for name in {player.variant for player in players}
    }
    return np.stack([drawn[player.variant][:, player.repetition - 1] for player in players], axis=1)


def _draws(plan: Plan, *what: str) -> NDArray[np.float64]:
    """Returns the count of each repetition in each resample, [1 + B, R]; 1 in the first row. `what` sets the seed."""
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
    """Returns the shares of samples by game and variant, and their means over games."""
    experiment = plan.experiment
    found = []
    for variant in experiment.variants:
        by_game = {game: samples[variant.name] for game, samples in sampled.items() if variant.name in samples}
        lines = [*by_game.items(), (MEAN, np.mean(list(by_game.values()), axis=0))]
        for game, values in lines:
            resamples = values[1:][~np.isnan(values[1:])]
            if np.isnan(values[0]) or not len(resamples):
                continue
            played = counts[game, variant.name] if game != MEAN else sum(counts[g, variant.name] for g in by_game)
            interval = percentile_interval(values[0], resamples, experiment.protocol.confidence)
            estimate = float(values[0])
            found.append(Share(game, variant.name, stage, estimate, interval, played, experiment.repetitions))
    return found


def fixed_shares(points: Points) -> list[Share]:
    """Returns the shares by stage, opponent, variant and game; with several games the mean over games comes last."""
    plan = points.plan
    pool = plan.experiment.fixed
    found = []
    for stage in plan.fixed_stages():
        for opponent in () if pool is None else pool.opponents:
            for variant in opponent.variants:
                met = {}
                for game in plan.experiment.games:
                    players = (Entrant(variant, r, stage) for r in range(1, plan.experiment.repetitions + 1))
                    networks = [games for p in players if (games := points.fixed(Pairing(game, p, opponent.name)))]
                    if networks:
                        met[game] = networks
                lines = [(game, [networks]) for game, networks in met.items()]
                if len(lines) > 1:
                    lines.append((MEAN, [*met.values()]))
                found += [_share(plan, game, variant, opponent.name, stage, strata) for game, strata in lines]
    return found


def _share(plan: Plan, game: str, variant: str, opponent: str, stage: int, strata: Strata) -> Share:
    seed = seed_of(plan.experiment.seed, "bootstrap", "fixed", game, variant, opponent, stage)
    estimate, interval = _estimated(plan, strata, seed)
    games = [result for networks in strata for network in networks for result in network]
    repetitions, forfeits = min(map(len, strata)), sum(result.failed for result in games)
    return Share(game, variant, stage, estimate, interval, len(games), repetitions, opponent, forfeits)


def _estimated(plan: Plan, strata: Strata, seed: int) -> tuple[float, Interval | None]:
    protocol = plan.experiment.protocol
    if plan.experiment.repetitions > 1:
        units = [[_mean(result.points for result in network) for network in networks] for networks in strata]
        return stratified_mean(units, protocol.confidence, seed, protocol.resamples)
    parts = [share_interval(_by_opening(networks[0]), protocol.confidence) for networks in strata]
    estimate = _mean(part.estimate for part in parts)
    below = math.hypot(*(part.estimate - part.low for part in parts)) / len(parts)
    above = math.hypot(*(part.high - part.estimate for part in parts)) / len(parts)
    low, high = max(0.0, estimate - below), min(1.0, estimate + above)
    return estimate, Interval(estimate, low, high, protocol.confidence)


def _by_opening(games: Iterable[GameResult]) -> list[list[float]]:
    groups: dict[int, list[float]] = {}
    for result in games:
        groups.setdefault(result.number, []).append(result.points)
    return [*groups.values()]


def _mean(numbers: Iterable[float]) -> float:
    values = [*numbers]
    return sum(values) / len(values)
