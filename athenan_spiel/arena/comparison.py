"""What a series says of two agents, ready to be shown: tallies by colour, share of the points, Elo difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from athenan_spiel.arena.intervals import Interval, points_interval
from athenan_spiel.arena.ratings import elo_difference
from athenan_spiel.play.series import Series, Tally


@dataclass(frozen=True)
class Comparison:
    """A finished series between two named agents, seen from the contender.

    Attributes:
        contender, opponent: their names, such as the agent words of the command line.
        series: their matches.
        confidence: of the intervals.
    """

    contender: str
    opponent: str
    series: Series
    confidence: float = 0.95

    @property
    def points(self) -> Interval:
        """The contender's share of the points, in [0, 1]."""
        return points_interval(self.series, self.confidence)

    @property
    def elo(self) -> Interval:
        """By how many Elo points the contender is ahead; infinite where it won or lost everything."""
        return self.points.mapped(elo_difference)

    def forfeited(self) -> list[tuple[str, int, str]]:
        """Who forfeited matches: its name, how many, and the reason of the first."""
        both = zip((self.contender, self.opponent), self.series.forfeits(), strict=True)
        return [(name, len(reasons), reasons[0]) for name, reasons in both if reasons]

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        seconds = self.series.seconds
        ours, theirs = self.series.forfeits()
        return {
            "contender": self.contender,
            "opponent": self.opponent,
            "matches": self.series.tally.matches,
            "total": tally_to_json(self.series.tally),
            "as_first_player": tally_to_json(self.series.as_player(0)),
            "as_second_player": tally_to_json(self.series.as_player(1)),
            "points": self.points.to_json(),
            "elo_difference": self.elo.to_json(),
            "openings": len(self.series.points_by_opening),
            "seconds": {"contender": seconds[0], "opponent": seconds[1]},
            "forfeits": {"contender": ours, "opponent": theirs},
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
