"""A match clock: the seconds that a player has for all its moves of a match, and how many of them the next move gets.

It may have an increment, as Fischer's clock has: seconds that each move of the player's own brings once it is made.

The rule. What is left, less a reserve, is divided by the number of moves of one's own that are still expected: seconds
of a move = (left - reserve) / moves (the basic formula of Huang, Coulom and Lin, *Time Management for Monte-Carlo Tree
Search Applied to the Game of Go*, 2010). `EXPECTED_MOVES` are expected, or as many as the longest match of the game
leaves where that is fewer. So early moves, on which more depends, get the most, a match that goes on for ever never
runs out, and where the end is in sight what is left is shared evenly.

With an increment the moves to come bring more, all but the last of them in time to be used, and that is shared, too:
seconds of a move = (left - reserve + (moves - 1) x increment) / moves, or left - reserve where that is less. In a long
match a move so comes to take the increment.

Its promises:

1. A move is never allotted more than is left without the reserve, and never less than `LEAST_SECONDS`, in which a
   search does its one iteration. The increment of a move is left after that move, and not before.
2. What a move takes beyond its share is missing from the shares of those after it.
3. It knows one match: `restart` begins another one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import pyspiel

from athenan_spiel.arguments import is_number
from athenan_spiel.config.settings import LONGEST
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
class GameClock:
    """The clock of one player; the file's docstring says by what rule it allots.

    Attributes:
        seconds: for all moves of a match.
        longest: actions of the longest match of the game, at most.
        players: who share them.
        increment: seconds that each own move brings once it is made.
        used: seconds so far.
        moves: own moves that are made.
        ply: of the own move under way or made last; None before the first.
    """

    seconds: float
    longest: int
    players: int
    increment: float = 0.0
    used: float = 0.0
    moves: int = 0
    ply: int | None = None

    @classmethod
    def of(cls, game: pyspiel.Game, seconds: float, increment: float = 0.0) -> Self:
        """A clock that stands at its beginning.

        Raises:
            BudgetError: as `require_times`.
        """
        require_times(seconds, increment)
        return cls(float(seconds), game.max_game_length(), game.num_players(), float(increment))

    @property
    def left(self) -> float:
        """Seconds that are left; never less than none."""
        return max(0.0, self.seconds + self.increment * self.moves - self.used)

    @property
    def most(self) -> float:
        """Seconds that may ever be left: after the longest match of the game, if nothing is used."""
        return min(LONGEST, self.seconds + self.increment * self.longest)

    def arrive(self, state: pyspiel.State) -> None:
        """An own move is to be made in `state`; the one before it is made, and has brought its increment.

        Said again of the same state, nothing changes: it is the same move.
        """
        ply = state.move_number()
        if self.ply is not None and ply > self.ply:
            self.moves += 1
        self.ply = ply

    def allot(self, state: pyspiel.State) -> float:
        """Seconds for the move in `state`, at which the match has arrived."""
        self.arrive(state)
        reserve = min(MOST_RESERVED, RESERVE * self.seconds)
        in_sight: int = -(-(self.longest - state.move_number()) // self.players)
        moves = max(1, min(EXPECTED_MOVES, in_sight))
        usable = self.left - reserve
        return max(LEAST_SECONDS, min(usable, (usable + (moves - 1) * self.increment) / moves))

    def spend(self, seconds: float) -> None:
        """A move has taken so long."""
        self.used += seconds

    def restart(self) -> None:
        """A new match begins, with all the seconds."""
        self.used, self.moves, self.ply = 0.0, 0, None

    def copy(self) -> Self:
        """A clock that goes on from here, independently."""
        return replace(self)


def clock_of(game: pyspiel.Game, seconds: float | None, increment: float = 0.0) -> GameClock | None:
    """A match clock that stands at its beginning; None without seconds.

    Raises:
        BudgetError: as `require_times`.
    """
    require_times(seconds, increment)
    return None if seconds is None else GameClock.of(game, seconds, increment)


def require_times(seconds: float | None, increment: float = 0.0) -> None:
    """Check the seconds and the increment of a match clock; without seconds there is none, and no increment either.

    Raises:
        BudgetError: the seconds are not more than zero, the increment is less than zero, one of them is larger than
            any use of it, or there is an increment alone.
    """
    if not (is_number(increment) and 0 <= increment <= LONGEST):
        raise BudgetError(
            f"the increment of a match clock must be from 0 to {LONGEST:,} seconds, got {shown(increment)}"
        )
    if seconds is None:
        if increment:
            raise BudgetError(f"an increment is for a match clock: give match_seconds beside {shown(increment)}")
        return
    try:
        Budget(seconds=seconds)
    except BudgetError as error:
        raise BudgetError(str(error).replace("a budget's seconds", "the seconds of a match clock")) from None


def require_time(who: str, used: float, moves: int, seconds: float | None, increment: float = 0.0) -> None:
    """Raise `AgentError` if a player's moves have taken longer than its clock, its increments and the tolerance.

    Args:
        used: seconds of all its moves, of which there are so many; that of the last one has not brought its increment.
        seconds, increment: its clock's; None: it has none.
    """
    if seconds is None or used <= seconds + increment * (moves - 1) + TOLERANCE:
        return
    had = f"{shown(seconds)} s" + (f" and {shown(increment)} s after each of {moves - 1} moves" if increment else "")
    raise AgentError(f"{who} lost on time: its moves took {used:.3f} s and its match clock has {had}")
