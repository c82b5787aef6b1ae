"""Ataxx, which is Ludii's here: `ludii(game=Ataxx)`, the usual board of 7 x 7."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyspiel

from athenan_spiel.errors import AgentError, ProgramError, shown
from athenan_spiel.protocols.uci_moves.base import UciGame, square

SIZE = 7
_MOVE = re.compile(r"([A-G])([1-7])-([A-G])([1-7])( \(Copy\))?")
"""How Ludii writes a move; a copy leaves the piece where it was."""


class Ataxx(UciGame):
    """Ataxx as `ataxx`. Ludii's first player begins from the left corner below, UCI's from above: ranks are turned.

    Ludii may have a copy to one square from several pieces; they come to the same, so UCI has one move for them.

    Raises:
        AgentError: it is another game of Ludii's, or has options.
    """

    variant = "ataxx"
    board = "P5p/7/7/7/7/7/p5P"

    def __init__(self, game: pyspiel.Game) -> None:
        given = {name: str(value) for name, value in game.get_parameters().items() if value != ""}
        if given.pop("game", "").casefold() != "ataxx" or given.get("options"):
            raise AgentError(f"of Ludii's games UCI engines play 'ludii(game=Ataxx)', got {str(game)!r}")

    def write(self, state: pyspiel.State, turn: Sequence[int]) -> str:
        """`P@b6` for Ludii's `A1-B2 (Copy)`, `a7c6` for `A1-C2`, and for a pass `a7a7`, of the lowest piece in UCI."""
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
        """The square of the mover's lowest piece, the leftmost of that rank: what Fairy-Stockfish passes by."""
        rows = [line.split() for line in str(state).splitlines()[:SIZE]]  # from above, so UCI's lowest comes first
        mine = "Mm"[state.current_player()]
        return next(
            _square(column, SIZE - i) for i, row in enumerate(rows) for column in range(SIZE) if row[column] == mine
        )


def _square(column: int, row: int) -> str:
    """UCI's name of a square, its column counted from 0 and its row from 1 below, as Ludii counts them."""
    return square(column, SIZE + 1 - row)
