"""What a series says of two agents, ready to be shown: tallies by colour, share of the points, Elo difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from athenan_spiel.arena.effort import Effort, effort_of
from athenan_spiel.arena.ratings import elo_difference
from athenan_spiel.arena.sprt import SequentialTest
from athenan_spiel.arena.statistics import Interval, binomial_p, points_interval, wilcoxon_p
from athenan_spiel.play.series import Series, Tally


@dataclass(frozen=True)
class Comparison:
    """A finished series between two named agents, seen from the contender.

    Attributes:
        contender, opponent: their names, such as the agent words of the command line.
        series: their matches.
        confidence: of the intervals.
        test: the sequential test by which the series was stopped, if there was one.
        first_mover: the player id that moves first in the game; 1 in OpenSpiel's chess, where player 0 is Black.
    """

    contender: str
    opponent: str
    series: Series
    confidence: float = 0.95
    test: SequentialTest | None = None
    first_mover: int = 0

    @property
    def moving_first(self) -> Tally:
        """The contender's tally where it moved first."""
        return self.series.as_player(self.first_mover)

    @property
    def moving_second(self) -> Tally:
        """The contender's tally where it moved second."""
        return self.series.as_player(1 - self.first_mover)

    @property
    def points(self) -> Interval:
        """The contender's share of the points, in [0, 1]."""
        return points_interval(self.series, self.confidence)

    @property
    def elo(self) -> Interval:
        """By how many Elo points the contender is ahead; infinite where it won or lost everything."""
        return self.points.mapped(elo_difference)

    @property
    def binomial_p(self) -> float:
        """The p-value of the sign test of won and lost matches (`statistics`)."""
        return binomial_p(self.series.wins, self.series.losses)

    @property
    def wilcoxon_p(self) -> float:
        """The p-value of Wilcoxon's signed-rank test of the points of each opening (`statistics`)."""
        return wilcoxon_p([sum(points) - len(points) / 2 for points in self.series.points_by_opening.values()])

    def efforts(self) -> tuple[Effort, Effort]:
        """What the contender and the opponent have spent."""
        both = list(zip(self.series.results, self.series.colours, strict=True))
        return effort_of(both), effort_of((result, 1 - colour) for result, colour in both)

    def forfeited(self) -> list[tuple[str, int, str]]:
        """Who forfeited matches: its name, how many, and the reason of the first."""
        both = zip((self.contender, self.opponent), self.series.forfeits(), strict=True)
        return [(name, len(reasons), reasons[0]) for name, reasons in both if reasons]

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        seconds = self.series.seconds
        ours, theirs = self.series.forfeits()
        efforts = dict(zip(("contender", "opponent"), self.efforts(), strict=True))
        plies = [len(result.history) for result in self.series.results]
        return {
            "contender": self.contender,
            "opponent": self.opponent,
            "matches": self.series.tally.matches,
            "total": tally_to_json(self.series.tally),
            "as_first_player": tally_to_json(self.series.as_player(0)),
            "as_second_player": tally_to_json(self.series.as_player(1)),
            "moving_first": tally_to_json(self.moving_first),
            "moving_second": tally_to_json(self.moving_second),
            "draw_share": self.series.draws / self.series.tally.matches,
            "cut": self.series.cut,
            "failed": list(self.series.failures),
            "points": self.points.to_json(),
            "elo_difference": self.elo.to_json(),
            "openings": len(self.series.points_by_opening),
            "seconds": {"contender": seconds[0], "opponent": seconds[1]},
            "forfeits": {"contender": ours, "opponent": theirs},
            "wins_minus_losses": (self.series.wins - self.series.losses) / self.series.tally.matches,
            "binomial_p": self.binomial_p,
            "wilcoxon_p": self.wilcoxon_p,
            "sprt": None if self.test is None else self.test.to_json(),
            "move_seconds": {name: effort.times() for name, effort in efforts.items()},
            "moves": {name: effort.counts() for name, effort in efforts.items()},
            "plies": {"mean": sum(plies) / len(plies), "least": min(plies), "most": max(plies)},
        }

    def __str__(self) -> str:
        points, tally = self.points, self.series.tally
        return (
            f"{self.contender} against {self.opponent}: {tally.wins} won, {tally.draws} drawn, {tally.losses} lost, "
            f"{points.estimate:.1%} of the points "
            f"({points.confidence:.0%} interval {points.low:.1%} to {points.high:.1%})"
        )


def tally_to_json(tally: Tally) -> dict[str, int]:
    """As JSON values."""
    return {"wins": tally.wins, "draws": tally.draws, "losses": tally.losses}
