"""Game clock: the time of one player for all its moves of a game, and the share that the next move gets.

The clock may have an increment, as Fischer's clock has: seconds that each of the player's moves adds. "Own moves" are
those of this player.

The time left, less a reserve, is divided by the number of own moves that are still expected: seconds of a move =
(left - reserve) / moves (the basic formula of Huang, Coulom and Lin, *Time Management for Monte-Carlo Tree Search
Applied to the Game of Go*, 2010). The number is `EXPECTED_MOVES`, or fewer if the longest possible game leaves
fewer. So early moves get the most time, a long game never runs out of time, and near the end the rest is shared evenly.

With an increment, future moves add time, and all but the last addition can be used: seconds of a move = (left - reserve
+ (moves - 1) x increment) / moves, or left - reserve if that is less. In a long game a move's time approaches the
increment.

1. A move is never allotted more than the time left without the reserve, and never less than `LEAST_SECONDS`, in which a
   search does one iteration. The increment of a move is available after that move.
2. Time that a move takes beyond its share is missing from later shares.
3. A clock is for one game; `restart` starts another one.
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
"""Expected number of own moves left, about the length of a game of Breakthrough or Connect Four."""
RESERVE = 0.05
"""Fraction of the clock kept for what a move takes beyond its share: the last iteration and overhead."""
MAX_RESERVE_SECONDS = 0.5
"""Maximum reserve, in seconds."""
LEAST_SECONDS = 0.001
"""Minimum time of a move, in seconds."""
TOLERANCE = 0.1
"""Seconds by which a player's moves may exceed its clock, since overhead is measured with them."""


@dataclass
class GameClock:
    """Clock of one player; the module's docstring has the formula.

    Attributes:
        seconds: time for all moves of a game.
        longest: maximum number of actions of a game.
        players: number of players.
        increment: seconds that each own move adds.
        used: seconds used so far.
        moves: number of own moves made.
        ply: ply of the current or last own move; None before the first.
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
        """Returns a clock for a new game; raises as `require_times`."""
        require_times(seconds, increment)
        return cls(float(seconds), game.max_game_length(), game.num_players(), float(increment))

    @property
    def left(self) -> float:
        """Seconds left, at least 0."""
        return max(0.0, self.seconds + self.increment * self.moves - self.used)

    @property
    def most(self) -> float:
        """Maximum seconds left at any time: after the longest game, if nothing is used."""
        return min(LONGEST, self.seconds + self.increment * self.longest)

    def arrive(self, state: pyspiel.State) -> None:
        """Starts the own move in `state` and adds the increment of the previous one. Repeated calls change nothing."""
        ply = state.move_number()
        if self.ply is not None and ply > self.ply:
            self.moves += 1
        self.ply = ply

    def allot(self, state: pyspiel.State) -> float:
        """Starts the own move in `state`. Returns its time, in seconds."""
        self.arrive(state)
        reserve = min(MAX_RESERVE_SECONDS, RESERVE * self.seconds)
        possible_moves: int = -(-(self.longest - state.move_number()) // self.players)
        moves = max(1, min(EXPECTED_MOVES, possible_moves))
        usable = self.left - reserve
        return max(LEAST_SECONDS, min(usable, (usable + (moves - 1) * self.increment) / moves))

    def spend(self, seconds: float) -> None:
        """Adds the duration of a move."""
        self.used += seconds

    def restart(self) -> None:
        """Resets the clock for a new game."""
        self.used, self.moves, self.ply = 0.0, 0, None

    def copy(self) -> Self:
        """Returns an independent clock that continues from here."""
        return replace(self)


class ClockedPlayer:
    """Mixin of players with an optional game clock."""

    _clock: GameClock | None

    @property
    def match_seconds(self) -> float | None:
        """Seconds of the game clock; None without one."""
        return None if self._clock is None else self._clock.seconds

    @property
    def match_increment(self) -> float:
        """Seconds that each own move adds to the game clock."""
        return 0.0 if self._clock is None else self._clock.increment


def clock_of(game: pyspiel.Game, seconds: float | None, increment: float = 0.0) -> GameClock | None:
    """Returns a clock for a new game, or None if `seconds` is None; raises as `require_times`."""
    require_times(seconds, increment)
    return None if seconds is None else GameClock.of(game, seconds, increment)


def require_times(seconds: float | None, increment: float = 0.0) -> None:
    """Checks the seconds and the increment of a game clock.

    Raises:
        BudgetError: the seconds are not positive, the increment is negative or given alone, or one is too large.
    """
    if not (is_number(increment) and 0 <= increment <= LONGEST):
        raise BudgetError(
            f"the increment of a game clock must be from 0 to {LONGEST:,} seconds, got {shown(increment)}"
        )
    if seconds is None:
        if increment:
            raise BudgetError(f"an increment needs a game clock: add match_seconds to {shown(increment)}")
        return
    try:
        Budget(seconds=seconds)
    except BudgetError as error:
        raise BudgetError(str(error).replace("a budget's seconds", "the seconds of a game clock")) from None


def require_time(who: str, used: float, moves: int, seconds: float | None, increment: float = 0.0) -> None:
    """Raises `AgentError` if a player's moves took longer than its clock, its increments and the tolerance.

    Args:
        who: description of the player.
        used: seconds of all its moves.
        moves: number of its moves; the last one has not added its increment.
        seconds, increment: its clock; None without a clock.
    """
    if seconds is None or used <= seconds + increment * (moves - 1) + TOLERANCE:
        return
    had = f"{shown(seconds)} s" + (f" and {shown(increment)} s after each of {moves - 1} moves" if increment else "")
    raise AgentError(f"{who} lost on time: its moves took {used:.3f} s and its game clock has {had}")
