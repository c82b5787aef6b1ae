"""Chess, Crazyhouse, Antichess, Xiangqi and Shogi."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyspiel

from athenan_spiel.errors import AgentError
from athenan_spiel.protocols.uci_moves.base import UciGame, square

_CELLS = re.compile(r"\(([0-9]+),([0-9]+)\)")


class Chess(UciGame):
    """Chess and Crazyhouse, for which OpenSpiel has UCI notation.

    Args:
        variant: value of `UCI_Variant`.
        module: OpenSpiel's module of the game.
    """

    board = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR"

    def __init__(self, game: pyspiel.Game, variant: str, module: Any) -> None:
        usual = {"chess960": False, "insanity": 1, "king_of_hill": False, "sticky_promotions": False}
        if any(value != usual[name] for name, value in game.get_parameters().items()):
            raise AgentError(f"UCI engines play {variant} by its usual rules here, got {str(game)!r}: leave them out")
        self.variant = variant
        self._module = module

    def write(self, state: pyspiel.State, turn: Sequence[int]) -> str:
        """Returns, for example, `e2e4`, `e1g1` (castling), `e7e8q` (promotion) or `P@e4` (drop)."""
        text: str = self._module.action_to_move(turn[0], state.board()).to_lan()
        return text


class Antichess(UciGame):
    """Antichess. A move is found by comparing boards, which suffices without castling."""

    variant = "antichess"
    board = Chess.board

    def __init__(self, game: pyspiel.Game) -> None:
        if game.get_parameters().get("fen"):
            raise AgentError(f"UCI engines play antichess from its usual position, got {str(game)!r}: leave fen out")

    def write(self, state: pyspiel.State, turn: Sequence[int]) -> str:
        """Returns, for example, `e2e4`, or `e7e8k` for a promotion."""
        before, after = _pieces(str(state)), _pieces(str(state.child(turn[0])))
        white = str(state).split()[1] == "w"
        start = next(cell for cell, piece in before.items() if piece.isupper() == white and cell not in after)
        goal = next(cell for cell, piece in after.items() if piece.isupper() == white and before.get(cell) != piece)
        promoted = after[goal].lower() if after[goal] != before[start] else ""
        return f"{square(*start)}{square(*goal)}{promoted}"


def _pieces(fen: str) -> dict[tuple[int, int], str]:
    """Returns the pieces of a FEN by column (from 0) and rank (from 1)."""
    found = {}
    for i, row in enumerate(fen.split()[0].split("/")):
        column = 0
        for letter in row:
            if letter.isdigit():
                column += int(letter)
            else:
                found[column, 8 - i] = letter
                column += 1
    return found


class Xiangqi(UciGame):
    """Xiangqi. OpenSpiel counts rows from 0 at the top."""

    variant = "xiangqi"
    board = "rnbakabnr/9/1c5c1/p1p1p1p1p/9/9/P1P1P1P1P/1C5C1/9/RNBAKABNR"

    def write(self, state: pyspiel.State, turn: Sequence[int]) -> str:
        """Returns `b3b10` for OpenSpiel's `C(7,1)-(0,1)`."""
        cells = _CELLS.findall(state.action_to_string(turn[0]))
        return "".join(square(int(column), 10 - int(row)) for row, column in cells)


class Shogi(UciGame):
    """Shogi. OpenSpiel uses USI notation: files are numbers from the right, ranks are letters from the top."""

    variant = "shogi"
    board = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL"

    def write(self, state: pyspiel.State, turn: Sequence[int]) -> str:
        """Returns `c3c4` for OpenSpiel's `7g7f`; a promotion is `h2b8+`, a drop `P@e5`."""
        text = state.action_to_string(turn[0])
        first, second, more = text[:2], text[2:4], text[4:]
        start = f"{first[0]}@" if first[1] == "*" else _square_of_usi(first)
        return f"{start}{_square_of_usi(second)}{more}"


def _square_of_usi(name: str) -> str:
    """Returns `c3` for `7g`."""
    return square(9 - int(name[0]), 9 - (ord(name[1]) - ord("a")))
