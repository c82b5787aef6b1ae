"""A match clock: the seconds that a player has for all its moves of a match, and how many of them the next move gets.

The rule. What is left, less a reserve, is divided by the number of moves of one's own that are still expected: seconds
of a move = (left - reserve) / moves (the basic formula of Huang, Coulom and Lin, *Time Management for Monte-Carlo Tree
Search Applied to the Game of Go*, 2010). `EXPECTED_MOVES` are expected, or as many as the longest match of the game
leaves where that is fewer. So early moves, on which more depends, get the most, a match that goes on for ever never
runs out, and where the end is in sight what is left is shared evenly.

Its promises:

1. A move is never allotted more than is left without the reserve, and never less than `LEAST_SECONDS`, in which a
   search does its one iteration.
2. What a move takes beyond its share is missing from the shares of those after it.
3. It knows one match: `restart` begins another one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import pyspiel

from athenan_spiel.errors import AgentError, BudgetError, shown
from athenan_spiel.search.drive import Budget

EXPECTED_MOVES = 20
"""Moves of one's own that are expected at any time: about those of a match of Breakthrough or Connect Four."""
RESERVE = 0.05
"""Share of the clock that is kept for what a move takes beyond its share: the last iteration, and what is around it."""
MOST_RESERVED = 0.5
"""Seconds of the reserve at most."""
LEAST_SECONDS = 0.001
"""A search needs some time to be a search at all."""
TOLERANCE = 0.1
"""Seconds by which a match lets a player's moves exceed its clock: they are measured with what is around them."""


@dataclass
class MatchClock:
    """The clock of one player; the file's docstring says by what rule it allots.

    Attributes:
        seconds: for all moves of a match.
        longest: actions of the longest match of the game, at most.
        players: who share them.
        used: seconds so far.
    """

    seconds: float
    longest: int
    players: int
    used: float = 0.0

    @classmethod
    def of(cls, game: pyspiel.Game, seconds: float) -> Self:
        """A clock that stands at its beginning.

        Raises:
            BudgetError: the seconds are not more than zero.
        """
        try:
            Budget(seconds=seconds)
        except BudgetError as error:
            raise BudgetError(str(error).replace("a budget's seconds", "the seconds of a match clock")) from None
        return cls(float(seconds), game.max_game_length(), game.num_players())

    @property
    def left(self) -> float:
        """Seconds that are left; never less than none."""
        return max(0.0, self.seconds - self.used)

    def allot(self, state: pyspiel.State) -> float:
        """Seconds for the move in `state`."""
        reserve = min(MOST_RESERVED, RESERVE * self.seconds)
        in_sight: int = -(-(self.longest - state.move_number()) // self.players)
        moves = max(1, min(EXPECTED_MOVES, in_sight))
        return max(LEAST_SECONDS, (self.left - reserve) / moves)

    def spend(self, seconds: float) -> None:
        """A move has taken so long."""
        self.used += seconds

    def restart(self) -> None:
        """A new match begins, with all the seconds."""
        self.used = 0.0

    def copy(self) -> Self:
        """A clock that goes on from here, independently."""
        return replace(self)


def require_time(who: str, used: float, allowed: float | None) -> None:
    """Raise `AgentError` if a player's moves have taken longer than its clock and the tolerance."""
    if allowed is not None and used > allowed + TOLERANCE:
        raise AgentError(f"{who} lost on time: its moves took {used:.3f} s and its match clock has {shown(allowed)} s")
