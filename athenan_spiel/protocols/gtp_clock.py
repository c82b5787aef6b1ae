"""The clock of a match as GTP tells it: what each colour has left, and how much of it a move may take.

Three kinds, by `time_settings` or by KGS' extension: all of a match in one time; then so many moves in each further
period (Canadian); then so many further periods, of a move each (byo-yomi).
"""

from __future__ import annotations

from dataclasses import dataclass

MOVES_LEFT = 20
"""A move takes this part of what is left of a time for all moves, so it never runs out."""
SHARE, MARGIN = 0.95, 0.05
"""Of a move's time, the part that is used, and seconds that are kept for all else."""
LEAST = 0.01
"""Seconds that a move has at least."""


@dataclass
class _Left:
    """What a colour has: seconds, and in how many moves they are to be used; 0 moves: in all that come."""

    seconds: float
    moves: int


class GtpClock:
    """The times of both colours."""

    def __init__(self) -> None:
        self.unlimited()

    def unlimited(self) -> None:
        """Nothing is to be kept."""
        self._main: float | None = None
        self._period, self._moves = 0.0, 0
        self._left: dict[str, _Left] = {}

    def begin(self) -> None:
        """A match begins: all time is there."""
        self._left = {}

    def limit(self, main: float, period: float, moves: int) -> None:
        """The time of all moves, then the length of a further period and how many moves it is for.

        By GTP a period without moves is no limit at all.
        """
        self.unlimited()
        if period == 0 or moves > 0:
            self._main, self._period, self._moves = main, period, moves if period > 0 else 0

    def tell(self, colour: str, seconds: float, moves: int) -> None:
        """A colour has so much left: of the time of all moves where `moves` is 0, else for that many moves."""
        self._left[colour] = _Left(seconds, moves)

    def spend(self, colour: str, seconds: float) -> None:
        """A colour has used some time for a move; the front end's own count, by `tell`, comes before this one."""
        left = self._of(colour)
        if left is None:
            return
        left.seconds -= seconds
        in_period = left.moves > 0
        left.moves -= in_period
        if left.seconds <= 0 or (in_period and left.moves == 0):
            left.seconds, left.moves = self._period, self._moves

    def seconds(self, colour: str) -> float | None:
        """How long a move of that colour may take; None where there is no limit."""
        left = self._of(colour)
        if left is None:
            return None
        share = left.seconds / (left.moves or MOVES_LEFT)
        if left.moves == 0 and self._moves:  # the periods are still to come
            share = max(share, min(self._period / self._moves, left.seconds))
        return max(LEAST, SHARE * share - MARGIN)

    def _of(self, colour: str) -> _Left | None:
        if colour not in self._left and self._main is not None:
            self._left[colour] = _Left(self._main, 0) if self._main > 0 else _Left(self._period, self._moves)
        return self._left.get(colour)
