"""Results of one agent against another, or of one agent in a game for one player, for display."""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from athenan_spiel.arena.sprt import SequentialTest
from athenan_spiel.arena.statistics import binomial_p, wilcoxon_p
from athenan_spiel.games.chance import FirstMover
from athenan_spiel.play.intervals import Interval, elo_difference, mean_interval, share_interval
from athenan_spiel.play.match import MatchResult
from athenan_spiel.play.series import Series, Tally


@dataclass(frozen=True, kw_only=True)
class PairPoints:
    """Points of a contender against an opponent.

    Attributes:
        contender, opponent: names of the agents.
        points_by_opening: the contender's points in the games of each opening.
        cut: number of games that the length limit ended.
        confidence: confidence level of the intervals.
        test: the sequential test that may have stopped the games.
    """

    contender: str
    opponent: str
    points_by_opening: Mapping[Any, Sequence[float]]
    cut: int
    confidence: float = 0.95
    test: SequentialTest | None = None

    @property
    def tally(self) -> Tally:
        """The contender's tally over all games."""
        return Tally.of(itertools.chain.from_iterable(self.points_by_opening.values()))

    @cached_property
    def points(self) -> Interval:
        """The contender's share of the points, in [0, 1]."""
        return share_interval(self.points_by_opening.values(), self.confidence)


@dataclass(frozen=True, kw_only=True)
class PairResult(PairPoints):
    """Points of a contender against an opponent in a game for two players.

    Attributes:
        as_first, as_second: the contender's tally as player 0 and as player 1.
        moving_first: the contender's tally in games where it moved first. In OpenSpiel's chess player 0, Black, moves
            second; in Backgammon the first roll decides.
    """

    as_first: Tally
    as_second: Tally
    moving_first: Tally

    @property
    def moving_second(self) -> Tally:
        """The contender's tally in games where it moved second."""
        both, first = self.tally, self.moving_first
        return Tally(both.wins - first.wins, both.draws - first.draws, both.losses - first.losses)

    @property
    def elo(self) -> Interval:
        """The contender's Elo difference to the opponent; infinite if it won or lost every game."""
        return self.points.mapped(elo_difference)

    @property
    def binomial_p(self) -> float:
        """The p-value of the sign test of won and lost games."""
        return binomial_p(self.tally.wins, self.tally.losses)

    @cached_property
    def wilcoxon_p(self) -> float:
        """The p-value of Wilcoxon's signed-rank test of the points of each opening."""
        return wilcoxon_p([sum(points) - len(points) / 2 for points in self.points_by_opening.values()])

    def to_json(self) -> dict[str, Any]:
        """Returns the result as JSON values."""
        return {
            "contender": self.contender,
            "opponent": self.opponent,
            "matches": self.tally.matches,
            **vars(self.tally),
            "draw_share": self.tally.draws / self.tally.matches,
            "cut": self.cut,
            "as_first_player": asdict(self.as_first),
            "as_second_player": asdict(self.as_second),
            "moving_first": asdict(self.moving_first),
            "moving_second": asdict(self.moving_second),
            "points": self.points.estimate,
            "points_interval": self.points.ends(),
            "elo_difference": self.elo.to_json(),
            "binomial_p": self.binomial_p,
            "wilcoxon_p": self.wilcoxon_p,
            "sprt": None if self.test is None else self.test.to_json(),
        }


class _OfSeries:
    """Names, failures and forfeits of a comparison of two agents by a series."""

    contender: str
    opponent: str
    series: Series

    @property
    def name(self) -> str:
        """Both names, for messages."""
        return f"{self.contender} against {self.opponent}"

    @property
    def finished(self) -> int:
        """Number of finished games."""
        return len(self.series.results)

    @property
    def failures(self) -> tuple[str, ...]:
        """Reasons of the games without a result."""
        return self.series.failures

    def forfeited(self) -> list[tuple[str, int, str]]:
        """Returns each agent that forfeited games: its name, their number, and the first reason."""
        both = zip((self.contender, self.opponent), self.series.forfeits(), strict=True)
        return [(name, len(reasons), reasons[0]) for name, reasons in both if reasons]


@dataclass(frozen=True, kw_only=True)
class Comparison(_OfSeries, PairResult):
    """A finished series between two agents, created by `Comparison.of`.

    Attributes:
        series: the games.
    """

    series: Series

    @classmethod
    def of(
        cls,
        contender: str,
        opponent: str,
        series: Series,
        confidence: float = 0.95,
        test: SequentialTest | None = None,
        first_mover: FirstMover = lambda history: 0,
    ) -> Comparison:
        """Returns the comparison of two agents by a series.

        Args:
            contender, opponent: names of the agents, for example their specs on the command line.
            series: their games, at least one.
            confidence: confidence level of the intervals.
            test: the sequential test that may have stopped the series.
            first_mover: finds the player id that moved first in a game.
        """
        games = zip(series.results, series.colours, strict=True)
        first = Tally.of(result.points(colour) for result, colour in games if colour == first_mover(result.history))
        return cls(
            contender=contender,
            opponent=opponent,
            as_first=series.as_player(0),
            as_second=series.as_player(1),
            points_by_opening=series.points_by_opening,
            cut=series.cut,
            confidence=confidence,
            test=test,
            moving_first=first,
            series=series,
        )

    def efforts(self) -> tuple[Effort, Effort]:
        """Returns the effort of the contender and of the opponent."""
        both = list(zip(self.series.results, self.series.colours, strict=True))
        return effort_of(both), effort_of((result, 1 - colour) for result, colour in both)

    def to_json(self) -> dict[str, Any]:
        """Returns the comparison as JSON values."""
        seconds = self.series.seconds
        ours, theirs = self.series.forfeits()
        efforts = dict(zip(("contender", "opponent"), self.efforts(), strict=True))
        plies = [len(result.history) for result in self.series.results]
        pair, tally = super().to_json(), self.tally
        for key in (*vars(tally), "points_interval"):
            del pair[key]
        return pair | {
            "total": asdict(tally),
            "failed": list(self.series.failures),
            "points": self.points.to_json(),
            "openings": len(self.points_by_opening),
            "seconds": {"contender": seconds[0], "opponent": seconds[1]},
            "forfeits": {"contender": ours, "opponent": theirs},
            "wins_minus_losses": (tally.wins - tally.losses) / tally.matches,
            "move_seconds": {name: effort.times() for name, effort in efforts.items()},
            "moves": {name: effort.counts() for name, effort in efforts.items()},
            "plies": {"mean": sum(plies) / len(plies), "least": min(plies), "most": max(plies)},
        }

    def __str__(self) -> str:
        points, tally = self.points, self.tally
        return (
            f"{self.name}: {tally.wins} won, {tally.draws} drawn, {tally.losses} lost, "
            f"{points.estimate:.1%} of the points "
            f"({points.confidence:.0%} interval {points.low:.1%} to {points.high:.1%})"
        )


@dataclass(frozen=True)
class Scores:
    """Finished games of one agent in a game for one player.

    Attributes:
        name: the agent's name, for example its spec on the command line.
        results: the games; at least one.
        failures: reasons of the games without a result.
        confidence: confidence level of the interval.
    """

    name: str
    results: tuple[MatchResult, ...]
    failures: tuple[str, ...] = ()
    confidence: float = 0.95

    @property
    def finished(self) -> int:
        """Number of finished games."""
        return len(self.results)

    @property
    def scores(self) -> list[float]:
        """The return of each game."""
        return [result.returns[0] for result in self.results]

    @property
    def cut(self) -> int:
        """Number of games that the length limit ended."""
        return sum(result.cut for result in self.results)

    @property
    def mean(self) -> Interval:
        """The mean score."""
        return mean_interval(self.scores, self.confidence)

    @property
    def best(self) -> float:
        """The highest score."""
        return max(self.scores)

    @property
    def worst(self) -> float:
        """The lowest score."""
        return min(self.scores)

    def to_json(self) -> dict[str, Any]:
        """Returns the scores as JSON values."""
        return {
            "agent": self.name,
            "matches": self.finished,
            "mean": self.mean.to_json(),
            "best": self.best,
            "worst": self.worst,
            "scores": self.scores,
            "cut": self.cut,
            "failed": list(self.failures),
            "seconds": sum(result.seconds[0] for result in self.results),
        }


@dataclass(frozen=True)
class SeatResult:
    """Returns of one agent against copies of another one.

    Attributes:
        agent: name of the agent.
        mean: mean return over all seats. Games with the same opening count as one observation.
        seats: mean return for each player id.
    """

    agent: str
    mean: Interval
    seats: tuple[Interval, ...]

    @classmethod
    def of(cls, agent: str, games: Iterable[tuple[int, Any, float]], players: int, confidence: float) -> SeatResult:
        """Returns the result of games, each given as the agent's player id, the opening and the agent's return."""
        by_opening: dict[Any, list[float]] = {}
        by_seat: list[list[float]] = [[] for _ in range(players)]
        for seat, opening, returned in games:
            by_opening.setdefault(opening, []).append(returned)
            by_seat[seat].append(returned)
        means = [sum(each) / len(each) for each in by_opening.values()]
        mean, *seats = (mean_interval(each, confidence) if each else NO_GAMES for each in (means, *by_seat))
        return cls(agent, mean, tuple(seats))

    def to_json(self) -> dict[str, Any]:
        """Returns the intervals as JSON values: `mean`, `player_0`, ...."""
        seats = {f"player_{seat}": interval.to_json() for seat, interval in enumerate(self.seats)}
        return {"mean": self.mean.to_json()} | seats


@dataclass(frozen=True, kw_only=True)
class SeatPairResult(PairPoints):
    """Results of a contender and an opponent in a game for n > 2 players.

    Attributes:
        contender_alone, opponent_alone: returns of each agent, alone against n - 1 copies of the other one.
    """

    contender_alone: SeatResult
    opponent_alone: SeatResult

    def to_json(self) -> dict[str, Any]:
        """Returns the result as JSON values."""
        return {
            "contender": self.contender,
            "opponent": self.opponent,
            "matches": self.tally.matches,
            **vars(self.tally),
            "cut": self.cut,
            "contender_alone": self.contender_alone.to_json(),
            "opponent_alone": self.opponent_alone.to_json(),
            "points": self.points.estimate,
            "points_interval": self.points.ends(),
        }


@dataclass(frozen=True, kw_only=True)
class SeatComparison(_OfSeries, PairPoints):
    """A series of two agents in a game for n > 2 players, created by `SeatComparison.of`: each plays alone against
    n - 1 copies of the other one, with each player id. A series may have ended before all games of an opening.

    Attributes:
        series: the games.
    """

    series: Series

    @classmethod
    def of(cls, contender: str, opponent: str, series: Series, confidence: float = 0.95) -> SeatComparison:
        """Returns the comparison of two agents by a series; the arguments are those of `Comparison.of`."""
        return cls(
            contender=contender,
            opponent=opponent,
            points_by_opening=series.points_by_opening,
            cut=series.cut,
            confidence=confidence,
            series=series,
        )

    @cached_property
    def alone(self) -> tuple[SeatResult, ...]:
        """Results of the contender and of the opponent, each alone against copies of the other; only with games."""
        players = len(self.series.results[0].returns)
        returns: list[list[tuple[int, Any, float]]] = [[], []]
        dice: Sequence[int] = self.series.dice or [0] * self.finished
        for result, colour, seed in zip(self.series.results, self.series.colours, dice, strict=True):
            seat = colour % players
            returns[colour >= players].append((seat, (result.opening, seed), result.returns[seat]))
        named = zip((self.contender, self.opponent), returns, strict=True)
        return tuple(SeatResult.of(name, found, players, self.confidence) for name, found in named if found)

    def to_json(self) -> dict[str, Any]:
        """Returns the comparison as JSON values."""
        ours, theirs = self.series.forfeits()
        return {
            "contender": self.contender,
            "opponent": self.opponent,
            "matches": self.finished,
            "total": asdict(self.tally),
            "points": self.points.to_json(),
            "alone": [
                {"agent": one.agent, "mean": one.mean.to_json(), "seats": [seat.to_json() for seat in one.seats]}
                for one in self.alone
            ],
            "cut": self.cut,
            "failed": list(self.failures),
            "forfeits": {"contender": ours, "opponent": theirs},
            "seconds": sum(sum(result.seconds) for result in self.series.results),
        }


NO_GAMES = Interval(math.nan, -math.inf, math.inf, 0.0)
"""Interval of the mean of no games."""


@dataclass
class Effort:
    """Time and evaluations that an agent spent, summed over its games.

    Attributes:
        matches, evaluations: numbers of games and evaluations.
        requests: number of batches of evaluations. Evaluations and batches are counted only for agents whose requests
            a driver answers.
        seconds: time of each move.
    """

    matches: int = 0
    evaluations: int = 0
    requests: int = 0
    seconds: array[float] = field(default_factory=lambda: array("f"))

    def add(self, result: MatchResult, player_id: int) -> None:
        """Adds a game that the agent played as `player_id`."""
        self.matches += 1
        self.evaluations += result.evaluations[player_id] if result.evaluations else 0
        self.requests += result.requests[player_id] if result.requests else 0
        moves = zip(result.movers, result.move_seconds, strict=True)
        self.seconds.extend(seconds for mover, seconds in moves if mover == player_id)

    def counts(self) -> dict[str, int]:
        """Returns the counts as JSON values. They are reproducible with the same seed."""
        return {"moves": len(self.seconds), "evaluations": self.evaluations, "requests": self.requests}

    def times(self) -> dict[str, float | None]:
        """Returns statistics of the time per move in seconds, as JSON values; None without a move."""
        if not self.seconds:
            return {"mean": None, "99_percent": None, "longest": None}
        seconds = np.frombuffer(self.seconds, np.float32)
        found = {"mean": seconds.mean(), "99_percent": np.quantile(seconds, 0.99), "longest": seconds.max()}
        return {name: round(float(value), 6) for name, value in found.items()}


def effort_of(results: Iterable[tuple[MatchResult, int]]) -> Effort:
    """Returns the effort of a player in games; `results` contains each game with the player id."""
    found = Effort()
    for result, player_id in results:
        found.add(result, player_id)
    return found
