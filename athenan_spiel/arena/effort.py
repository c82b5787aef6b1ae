"""What an agent has spent on its matches: moves and their times, states valued, questions to what values them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from athenan_spiel.play.match import MatchResult


@dataclass
class Effort:
    """The sums over an agent's matches.

    Attributes:
        matches, moves, evaluations, questions: how many; the last two of agents whose questions a driver answers.
        seconds: of each move.
    """

    matches: int = 0
    evaluations: int = 0
    questions: int = 0
    seconds: array[float] = field(default_factory=lambda: array("f"))

    def add(self, result: MatchResult, player_id: int) -> None:
        """Add a match that the agent played as `player_id`."""
        self.matches += 1
        self.evaluations += result.evaluations[player_id] if result.evaluations else 0
        self.questions += result.questions[player_id] if result.questions else 0
        both = zip(result.movers, result.move_seconds, strict=True)
        self.seconds.extend(seconds for mover, seconds in both if mover == player_id)

    @property
    def moves(self) -> int:
        """How many moves."""
        return len(self.seconds)

    def counts(self) -> dict[str, int]:
        """What is the same each time, as JSON values."""
        return {"moves": self.moves, "states_valued": self.evaluations, "network_calls": self.questions}

    def times(self) -> dict[str, float | None]:
        """The seconds of a move, as JSON values; None where there was none."""
        if not self.seconds:
            return {"mean": None, "99_percent": None, "longest": None}
        seconds = np.frombuffer(self.seconds, np.float32)
        found = {"mean": seconds.mean(), "99_percent": np.quantile(seconds, 0.99), "longest": seconds.max()}
        return {name: round(float(value), 6) for name, value in found.items()}


def effort_of(results: Iterable[tuple[MatchResult, int]]) -> Effort:
    """The effort of a player in matches, each with its player id."""
    found = Effort()
    for result, player_id in results:
        found.add(result, player_id)
    return found
