"""What an agent has spent on its matches: moves and their times, states valued, questions to what values them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

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

    def to_json(self) -> dict[str, Any]:
        """As JSON values; seconds are of a move, and None where there was none."""
        seconds = np.frombuffer(self.seconds, np.float32) if self.seconds else None
        return {
            "moves": self.moves,
            "seconds_mean": None if seconds is None else round(float(seconds.mean()), 6),
            "seconds_99_percent": None if seconds is None else round(float(np.quantile(seconds, 0.99)), 6),
            "seconds_longest": None if seconds is None else round(float(seconds.max()), 6),
            "states_valued": self.evaluations,
            "network_calls": self.questions,
        }


def effort_of(results: Iterable[tuple[MatchResult, int]]) -> Effort:
    """The effort of a player in matches, each with its player id."""
    found = Effort()
    for result, player_id in results:
        found.add(result, player_id)
    return found
