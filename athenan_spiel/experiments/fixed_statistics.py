"""Points of networks against the opponents of [fixed], for each stage, with intervals.

Points are the share of games won, with draws as half a win. The papers' performance, the share won minus the share
lost, is twice the points minus one.

1. With several repetitions, trainings are the independent units. The interval is the stratified bootstrap over
   repetitions within each game, as in *Minimax Strikes Back*, Section 3.3.
2. With one repetition, games of the one network are the units; the interval says nothing about other trainings. For a
   game it is Wilson's interval with openings as clusters (`arena.statistics`). For the mean over games, the distances
   from estimate to interval end add up in squares (Zou and Donner, Statistics in Medicine, 2008).
3. The mean over games weights equally the games at which the variant meets the opponent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from athenan_spiel.arena.statistics import Interval, share_interval, stratified_mean
from athenan_spiel.experiments.plan import Entrant, GameResult, Pairing, Plan, seed_of
from athenan_spiel.experiments.statistics import MEAN, Points, Share

Networks = Sequence[Sequence[GameResult]]
"""The games of each network that has met an opponent."""


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


def _share(plan: Plan, game: str, variant: str, opponent: str, stage: int, strata: Sequence[Networks]) -> Share:
    seed = seed_of(plan.experiment.seed, "bootstrap", "fixed", game, variant, opponent, stage)
    estimate, interval = _estimated(plan, strata, seed)
    games = [result for networks in strata for network in networks for result in network]
    repetitions, forfeits = min(map(len, strata)), sum(result.failed for result in games)
    return Share(game, variant, stage, estimate, interval, len(games), repetitions, opponent, forfeits)


def _estimated(plan: Plan, strata: Sequence[Networks], seed: int) -> tuple[float, Interval | None]:
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
