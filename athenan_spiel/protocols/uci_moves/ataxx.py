"""Ludii's Ataxx, `ludii(game=Ataxx)`, on the usual board of 7 x 7."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyspiel

from athenan_spiel.errors import AgentError, ProgramError, shown
from athenan_spiel.protocols.uci_moves.base import UciGame, square

SIZE = 7
_MOVE = re.compile(r"([A-G])([1-7])-([A-G])([1-7])( \(Copy\))?")
"""Ludii's notation of a move; a copy leaves the piece on its square."""


class Ataxx(UciGame):
    """Ataxx, UCI's `ataxx`. The first player starts in the lower left corner in Ludii, and in the upper left in UCI.

    Ranks are therefore reversed. Ludii's copies to a square from different pieces are equivalent, and one move in UCI.

    Raises:
        AgentError: the game is not Ludii's Ataxx, or has options.
    """

    variant = "ataxx"
    board = "P5p/7/7/7/7/7/p5P"

    def __init__(self, game: pyspiel.Game) -> None:
        given = {name: str(value) for name, value in game.get_parameters().items() if value != ""}
        if given.pop("game", "").casefold() != "ataxx" or given.get("options"):
            raise AgentError(f"UCI engines play only 'ludii(game=Ataxx)' of Ludii's games, got {str(game)!r}")

    def write(self, state: pyspiel.State, turn: Sequence[int]) -> str:
        """Returns `P@b6` for Ludii's `A1-B2 (Copy)`, `a7c6` for `A1-C2`, and the lowest piece's `a7a7` for a pass."""
        text = state.action_to_string(state.current_player(), turn[0])
        if text == "Pass":
            return self._lowest(state) * 2
        move = _MOVE.fullmatch(text)
        if move is None:
            raise ProgramError(f"expected a move of Ataxx, such as A1-B2 (Copy), got {shown(text)}")
        column, row, to_column, to_row, copy = move.groups()
        start, end = (_square("ABCDEFG".index(x), int(y)) for x, y in ((column, row), (to_column, to_row)))
        return f"P@{end}" if copy else start + end

    @staticmethod
    def _lowest(state: pyspiel.State) -> str:
        """Returns the square of the mover's lowest, then leftmost piece, with which Fairy-Stockfish writes a pass."""
        rows = [line.split() for line in str(state).splitlines()[:SIZE]]  # from the top, which is UCI's first rank
        mine = "Mm"[state.current_player()]
        return next(
            _square(column, SIZE - i) for i, row in enumerate(rows) for column in range(SIZE) if row[column] == mine
        )


def _square(column: int, row: int) -> str:
    """Returns UCI's name of a square in Ludii's coordinates: columns from 0, rows from 1 at the bottom."""
    return square(column, SIZE + 1 - row)
