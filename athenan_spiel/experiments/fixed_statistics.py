"""What networks score against the opponents of [fixed], stage by stage, with intervals.

Points are the share of matches won, a draw counting half. The papers' performance, the share won minus the share lost,
is twice the points minus one.

1. With several repetitions what varies independently are the trainings: the interval is the stratified bootstrap's over
   repetitions, within each game, as in *Minimax Strikes Back*, Section 3.3.
2. With one repetition it is of that one network, and what varies are its matches: at a game Wilson's interval with
   openings as clusters (`arena.intervals`); that of the mean over games comes from these, whose reaches to either side
   add up by their squares (Zou and Donner, Statistics in Medicine, 2008). It says nothing of other trainings.
3. The mean is over the games at which the variant meets the opponent, each with the same weight.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from athenan_spiel.arena.bootstrap import stratified_mean
from athenan_spiel.arena.intervals import Interval, share_interval
from athenan_spiel.experiments.folder import Row, fixed_pairing_of
from athenan_spiel.experiments.plan import Entrant, FixedPairing, Plan, seed_of
from athenan_spiel.experiments.statistics import MEAN


@dataclass(frozen=True)
class FixedShare:
    """The points of a variant against an opponent of [fixed].

    Attributes:
        game: or `MEAN`.
        opponent: its name.
        stage: of the variant's networks, from 1.
        estimate: of the share of the points, in [0, 1].
        interval: of the same; None where the resamples show no spread.
        matches: played.
        forfeits: of these, how many ended as a player failed.
        repetitions: of the trainings whose networks have met the opponent, at each game.
    """

    game: str
    variant: str
    opponent: str
    stage: int
    estimate: float
    interval: Interval | None
    matches: int
    forfeits: int
    repetitions: int


@dataclass(frozen=True)
class _Match:
    opening: int
    points: float
    forfeited: bool


def fixed_shares(plan: Plan, rows: Iterable[Row]) -> list[FixedShare]:
    """The shares by stage, opponent, variant and game, the mean over games last where there are several."""
    pool = plan.experiment.fixed
    if pool is None:
        return []
    played: dict[FixedPairing, list[_Match]] = {}
    for row in rows:
        match = _Match((row["match"] - 1) // 2, row["points_a"], row["forfeit"] is not None)
        played.setdefault(fixed_pairing_of(row), []).append(match)
    found: list[FixedShare] = []
    for stage in plan.fixed_stages():
        for opponent in pool.opponents:
            for variant in opponent.variants:
                games = [game for game in plan.experiment.games if game in opponent.games]
                found += _shares(plan, played, games, variant, opponent.name, stage)
    return found


def _shares(
    plan: Plan,
    played: dict[FixedPairing, list[_Match]],
    games: Sequence[str],
    variant: str,
    opponent: str,
    stage: int,
) -> Iterator[FixedShare]:
    """Of a variant's networks of a stage against an opponent: at each game, and the mean."""
    of_games = {}
    for game in games:
        players = (Entrant(variant, r, stage) for r in range(1, plan.experiment.repetitions + 1))
        networks = [played[pairing] for p in players if (pairing := FixedPairing(game, p, opponent)) in played]
        if networks:
            of_games[game] = networks
    lines = [(game, [networks]) for game, networks in of_games.items()]
    if len(lines) > 1:
        lines.append((MEAN, [*of_games.values()]))
    for game, strata in lines:
        seed = seed_of(plan.experiment.seed, "bootstrap", "fixed", game, variant, opponent, stage)
        estimate, interval = _estimated(plan, strata, seed)
        matches = [match for networks in strata for network in networks for match in network]
        yield FixedShare(
            game=game,
            variant=variant,
            opponent=opponent,
            stage=stage,
            estimate=estimate,
            interval=interval,
            matches=len(matches),
            forfeits=sum(match.forfeited for match in matches),
            repetitions=min(map(len, strata)),
        )


def _estimated(plan: Plan, strata: Sequence[Sequence[Sequence[_Match]]], seed: int) -> tuple[float, Interval | None]:
    """The mean over games of what their networks have scored, with its interval.

    Args:
        strata: for each game its networks, each with its matches.
    """
    protocol = plan.experiment.protocol
    if plan.experiment.repetitions > 1:
        units = [[_mean(match.points for match in network) for network in networks] for networks in strata]
        return stratified_mean(units, protocol.confidence, seed, protocol.resamples)
    parts = [share_interval(_by_opening(networks[0]), protocol.confidence) for networks in strata]
    estimate = _mean(part.estimate for part in parts)
    below = math.hypot(*(part.estimate - part.low for part in parts)) / len(parts)
    above = math.hypot(*(part.high - part.estimate for part in parts)) / len(parts)
    low, high = max(0.0, estimate - below), min(1.0, estimate + above)
    return estimate, Interval(estimate, low, high, protocol.confidence)


def _by_opening(matches: Iterable[_Match]) -> list[list[float]]:
    """The points of the matches that share an opening."""
    groups: dict[int, list[float]] = {}
    for match in matches:
        groups.setdefault(match.opening, []).append(match.points)
    return [*groups.values()]


def _mean(numbers: Iterable[float]) -> float:
    values = [*numbers]
    return sum(values) / len(values)
