"""What networks score against the opponents of [fixed], stage by stage, with intervals.

Points are the share of matches won, a draw counting half. The papers' performance, the share won minus the share lost,
is twice the points minus one.

1. With several repetitions what varies independently are the trainings: the interval is the stratified bootstrap's over
   repetitions, within each game, as in *Minimax Strikes Back*, Section 3.3.
2. With one repetition it is of that one network, and what varies are its matches: at a game Wilson's interval with
   openings as clusters (`arena.statistics`); that of the mean over games comes from these, whose reaches to either side
   add up by their squares (Zou and Donner, Statistics in Medicine, 2008). It says nothing of other trainings.
3. The mean is over the games at which the variant meets the opponent, each with the same weight.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from athenan_spiel.arena.statistics import Interval, share_interval, stratified_mean
from athenan_spiel.experiments.plan import Entrant, GameResult, Pairing, Plan, seed_of
from athenan_spiel.experiments.statistics import MEAN, Points, Share

Networks = Sequence[Sequence[GameResult]]
"""The games of each network that has met an opponent at a game."""


def fixed_shares(points: Points) -> list[Share]:
    """The shares by stage, opponent, variant and game, the mean over games last if there are several."""
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
    """The share of a variant's networks of a stage against an opponent.

    Args:
        strata: the networks at each game.
    """
    seed = seed_of(plan.experiment.seed, "bootstrap", "fixed", game, variant, opponent, stage)
    estimate, interval = _estimated(plan, strata, seed)
    games = [result for networks in strata for network in networks for result in network]
    repetitions, forfeits = min(map(len, strata)), sum(result.failed for result in games)
    return Share(game, variant, stage, estimate, interval, len(games), repetitions, opponent, forfeits)


def _estimated(plan: Plan, strata: Sequence[Networks], seed: int) -> tuple[float, Interval | None]:
    """The mean over games of what their networks have scored, with its interval."""
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
    """The points of the games that share an opening."""
    groups: dict[int, list[float]] = {}
    for result in games:
        groups.setdefault(result.number, []).append(result.points)
    return [*groups.values()]


def _mean(numbers: Iterable[float]) -> float:
    values = [*numbers]
    return sum(values) / len(values)
