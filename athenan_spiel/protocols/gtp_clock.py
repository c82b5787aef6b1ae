"""GTP clock: the time left for each colour, and the time per move.

`time_settings` and KGS' extension define three kinds: absolute time for all moves; Canadian, N moves in each further
period; and byo-yomi, N further periods of one move each.
"""

from __future__ import annotations

from dataclasses import dataclass

MOVES_LEFT = 20
"""Divisor of the remaining absolute time that gives the time of a move."""
SHARE, MARGIN = 0.95, 0.05
"""Used fraction of a move's time, and seconds reserved for communication."""
LEAST = 0.01
"""Minimum time of a move, in seconds."""


@dataclass
class _Left:
    """Time left, in seconds, and the number of moves it is for; 0 means all remaining moves."""

    seconds: float
    moves: int


class GtpClock:
    """Clocks of both colours."""

    def __init__(self) -> None:
        self.unlimited()

    def unlimited(self) -> None:
        """Removes all limits."""
        self._main: float | None = None
        self._period, self._moves = 0.0, 0
        self._left: dict[str, _Left] = {}

    def begin(self) -> None:
        """Resets the clocks for a new game."""
        self._left = {}

    def limit(self, main: float, period: float, moves: int) -> None:
        """Sets the main time, the length of a further period, and its number of moves.

        By GTP a period without moves means no limit.
        """
        self.unlimited()
        if period == 0 or moves > 0:
            self._main, self._period, self._moves = main, period, moves if period > 0 else 0

    def tell(self, colour: str, seconds: float, moves: int) -> None:
        """Sets the time left of a colour, for all moves if `moves` is 0, else for that many moves."""
        self._left[colour] = _Left(seconds, moves)

    def spend(self, colour: str, seconds: float) -> None:
        """Subtracts the time of a move; the client's own count, set by `tell`, takes precedence."""
        left = self._of(colour)
        if left is None:
            return
        left.seconds -= seconds
        in_period = left.moves > 0
        left.moves -= in_period
        if left.seconds <= 0 or (in_period and left.moves == 0):
            left.seconds, left.moves = self._period, self._moves

    def seconds(self, colour: str) -> float | None:
        """Returns the time for a move of a colour, in seconds; None without a limit."""
        left = self._of(colour)
        if left is None:
            return None
        share = left.seconds / (left.moves or MOVES_LEFT)
        if left.moves == 0 and self._moves:  # the periods have not started
            share = max(share, min(self._period / self._moves, left.seconds))
        return max(LEAST, SHARE * share - MARGIN)

    def _of(self, colour: str) -> _Left | None:
        if colour not in self._left and self._main is not None:
            self._left[colour] = _Left(self._main, 0) if self._main > 0 else _Left(self._period, self._moves)
        return self._left.get(colour)
