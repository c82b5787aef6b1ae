"""GTP clock: the time left for each colour, and the time per move.

`time_settings` and KGS' extension define three kinds: absolute time for all moves; Canadian, N moves in each further
period; and byo-yomi, N further periods of one move each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from athenan_spiel.errors import shown
from athenan_spiel.protocols.gtp_position import GtpRefusal

MOVES_LEFT = 20
"""Divisor of the remaining absolute time that gives the time of a move."""
SHARE, MARGIN = 0.95, 0.05
"""Used fraction of a move's time, and seconds reserved for communication."""
LEAST = 0.01
"""Minimum time of a move, in seconds."""

LONGEST_TIME = 1e9
"""Maximum time of a clock, in seconds."""
_PERIODS = {"none": 0, "absolute": 1, "canadian": 3, "byoyomi": 3}
"""KGS' clocks, and the number of their arguments."""


def read_numbers(words: Sequence[str], count: int) -> list[float]:
    """Returns the numbers in arguments.

    Raises:
        GtpRefusal: there are not `count` finite numbers.
    """
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        numbers = []
    if len(numbers) != count or not all(abs(x) <= LONGEST_TIME for x in numbers):
        raise GtpRefusal(f"expected {count} number{'s' * (count > 1)}, got {shown(' '.join(words))}")
    return numbers


def _read_times(words: Sequence[str], count: int) -> list[float]:
    numbers = read_numbers(words, count)
    if min(numbers, default=0) < 0 or (count == 3 and numbers[2] != int(numbers[2])):
        raise GtpRefusal(f"expected times, got {shown(' '.join(words))}")
    return numbers


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

    def set_time(self, words: Sequence[str]) -> None:
        """Answers `time_settings`.

        Raises:
            GtpRefusal: the arguments are not three times.
        """
        main, period, moves = _read_times(words, 3)
        self.limit(main, period, int(moves))

    def set_kgs_time(self, words: Sequence[str]) -> None:
        """Answers `kgs-time_settings`.

        Raises:
            GtpRefusal: the clock is unknown, or its arguments are not times.
        """
        kind = words[0] if words else ""
        if kind not in _PERIODS:
            raise GtpRefusal(f"expected {', '.join(_PERIODS)}, got {shown(kind)}")
        numbers = _read_times(words[1:], _PERIODS[kind])
        if kind == "none":
            self.unlimited()
        elif kind == "absolute":
            self.limit(numbers[0], 0, 0)
        else:
            self.limit(numbers[0], numbers[1], int(numbers[2]) if kind == "canadian" else 1)

    def set_time_left(self, colour: str, words: Sequence[str]) -> None:
        """Answers `time_left` for a colour.

        Raises:
            GtpRefusal: the arguments are not a time and a number of moves.
        """
        seconds, moves = _read_times(words, 2)
        self.tell(colour, seconds, int(moves))

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
