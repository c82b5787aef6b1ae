"""Exact solver for Connect Four: alpha-beta over two bitboards, without a library.

A board is an int. The cell of column x and row y, counted from the bottom, is bit x (rows + 1) + y; the highest bit of
each column stays empty, so that no line runs from one column into the next. A position is the stones of the player to
move and all stones. With best play, its value is 1 if the mover wins, 0 for a draw, and -1 for a loss.

Wins in one move, forced replies and moves under a winning cell of the opponent are found by a few shifts. Moves with
the most threats are tried first. Solved positions are stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence


class ConnectFourSolver:
    """Solves positions of one board size, and stores their values.

    Args:
        columns, rows: size of the board.

    Raises:
        ValueError: a size is less than 1.
    """

    def __init__(self, columns: int = 7, rows: int = 6) -> None:
        if columns < 1 or rows < 1:
            raise ValueError(f"expected a board of 1 x 1 at least, got {columns} x {rows}: give more columns and rows")
        self.columns, self.rows = columns, rows
        self._height = rows + 1
        self._bottom = sum(1 << x * self._height for x in range(columns))
        self._board = self._bottom * ((1 << rows) - 1)
        self._columns = [((1 << rows) - 1) << x * self._height for x in range(columns)]
        self._from_centre = sorted(range(columns), key=lambda x: abs(2 * x - columns + 1))
        self._bounds: dict[int, tuple[int, int]] = {}

    def position(self, moves: Sequence[int]) -> tuple[int, int]:
        """Returns the mover's stones after `moves` (columns from 0), and all stones.

        Raises:
            ValueError: a column doesn't exist or is full, or the game was over before the last move.
        """
        mover, stones = 0, 0
        for ply, column in enumerate(moves):
            if not 0 <= column < self.columns or not self._cell(stones, column):
                raise ValueError(f"expected a column with room as move {ply + 1}, got {column!r}")
            if self._has_line(mover ^ stones):
                raise ValueError(f"expected a game that is not over after {ply} moves, got a won one")
            mover, stones = mover ^ stones, stones | self._cell(stones, column)
        return mover, stones

    def is_over(self, mover: int, stones: int) -> bool:
        """Returns whether the last move won, or the board is full."""
        return stones == self._board or self._has_line(mover ^ stones)

    def wins_at_once(self, mover: int, stones: int) -> bool:
        """Returns whether either player would have four in a row with the next stone."""
        cells = self._winning(mover, stones) | self._winning(mover ^ stones, stones)
        return bool(cells & self._possible(stones))

    def value(self, mover: int, stones: int) -> int:
        """Returns the value of the position for the mover: 1, 0 or -1."""
        if self._has_line(mover ^ stones):
            return -1
        if self._winning(mover, stones) & self._possible(stones):
            return 1
        return self._search(mover, stones, -1, 1)

    def move_values(self, mover: int, stones: int) -> dict[int, int]:
        """Returns the value of each column with room for the mover, in order of the columns."""
        return {
            column: -self.value(mover ^ stones, stones | cell)
            for column in range(self.columns)
            if (cell := self._cell(stones, column))
        }

    def _cell(self, stones: int, column: int) -> int:
        """Returns the cell where a stone in `column` lands; 0 if the column is full."""
        return self._possible(stones) & self._columns[column]

    def _possible(self, stones: int) -> int:
        return (stones + self._bottom) & self._board

    def _has_line(self, own: int) -> bool:
        """Returns whether `own` has four in a row."""
        for step in (1, self._height - 1, self._height, self._height + 1):
            pairs = own & own >> step
            if pairs & pairs >> 2 * step:
                return True
        return False

    def _winning(self, own: int, stones: int) -> int:
        """Returns the empty cells that complete four in a row for `own`, reachable now or not."""
        found = own << 1 & own << 2 & own << 3
        for step in (self._height - 1, self._height, self._height + 1):
            above, below = own << step, own >> step
            two_above, two_below = above & own << 2 * step, below & own >> 2 * step
            found |= two_above & (below | own << 3 * step) | two_below & (above | own >> 3 * step)
        return found & (self._board ^ stones)

    def _search(self, mover: int, stones: int, alpha: int, beta: int) -> int:
        """Returns the value, exact within (alpha, beta), otherwise a bound; the mover has no immediate win."""
        if stones == self._board:
            return 0
        other = mover ^ stones
        possible = self._possible(stones)
        answered = self._winning(other, stones)
        if forced := answered & possible:
            if forced & forced - 1:
                return -1
            possible = forced
        possible &= ~(answered >> 1)
        if not possible:
            return -1
        key = mover + stones + self._bottom  # highest bit of a column: height; below: mover's stones
        low, high = self._bounds.get(key, (-1, 1))
        if low >= beta or low == high:
            return low
        if high <= alpha:
            return high
        alpha, beta = max(alpha, low), min(beta, high)
        best, first = -1, alpha
        for cell in self._ordered(mover, stones, possible):
            best = max(best, -self._search(other, stones | cell, -beta, -alpha))
            alpha = max(alpha, best)
            if alpha >= beta:
                break
        self._bounds[key] = (best if best > first else low, best if best < beta else high)
        return best

    def _ordered(self, mover: int, stones: int, possible: int) -> Iterator[int]:
        """Returns the cells of `possible`, by number of threats, then by distance from the centre."""
        cells = [cell for x in self._from_centre if (cell := possible & self._columns[x])]
        if len(cells) > 1:
            cells.sort(key=lambda cell: -self._winning(mover | cell, stones | cell).bit_count())
        return iter(cells)
