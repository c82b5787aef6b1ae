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
    """Chess and Crazyhouse, in which OpenSpiel knows UCI's notation itself.

    Args:
        module: OpenSpiel's of the game.
    """

    board = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR"

    def __init__(self, game: pyspiel.Game, variant: str, module: Any) -> None:
        usual = {"chess960": False, "insanity": 1, "king_of_hill": False, "sticky_promotions": False}
        if any(value != usual[name] for name, value in game.get_parameters().items()):
            raise AgentError(f"UCI engines play {variant} by its usual rules here, got {str(game)!r}: leave them out")
        self.variant = variant
        self._module = module

    def write(self, state: pyspiel.State, turn: Sequence[int]) -> str:
        """`e2e4`, `e1g1` for castling, `e7e8q` for a promotion, `P@e4` for a drop."""
        text: str = self._module.action_to_move(turn[0], state.board()).to_lan()
        return text


class Antichess(UciGame):
    """Antichess, in which a move is what it changes on the board: there is no castling."""

    variant = "antichess"
    board = Chess.board

    def __init__(self, game: pyspiel.Game) -> None:
        if game.get_parameters().get("fen"):
            raise AgentError(f"UCI engines play antichess from its usual position, got {str(game)!r}: leave fen out")

    def write(self, state: pyspiel.State, turn: Sequence[int]) -> str:
        """`e2e4`, `e7e8k` for a promotion."""
        before, after = _pieces(str(state)), _pieces(str(state.child(turn[0])))
        white = str(state).split()[1] == "w"
        start = next(cell for cell, piece in before.items() if piece.isupper() == white and cell not in after)
        goal = next(cell for cell, piece in after.items() if piece.isupper() == white and before.get(cell) != piece)
        promoted = after[goal].lower() if after[goal] != before[start] else ""
        return f"{square(*start)}{square(*goal)}{promoted}"


def _pieces(fen: str) -> dict[tuple[int, int], str]:
    """What stands where, by column and rank."""
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
    """Xiangqi, in which OpenSpiel counts rows from above, from 0."""

    variant = "xiangqi"
    board = "rnbakabnr/9/1c5c1/p1p1p1p1p/9/9/P1P1P1P1P/1C5C1/9/RNBAKABNR"

    def write(self, state: pyspiel.State, turn: Sequence[int]) -> str:
        """`b3b10` for `C(7,1)-(0,1)`."""
        cells = _CELLS.findall(state.action_to_string(turn[0]))
        return "".join(square(int(column), 10 - int(row)) for row, column in cells)


class Shogi(UciGame):
    """Shogi, which OpenSpiel writes as USI does: files from the right, ranks by letters from above."""

    variant = "shogi"
    board = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL"

    def write(self, state: pyspiel.State, turn: Sequence[int]) -> str:
        """`c3c4` for `7g7f`, `h2b8+` for a promotion, `P@e5` for a drop."""
        text = state.action_to_string(turn[0])
        first, second, more = text[:2], text[2:4], text[4:]
        start = f"{first[0]}@" if first[1] == "*" else _western(first)
        return f"{start}{_western(second)}{more}"


def _western(name: str) -> str:
    """`c3` for `7g`."""
    return square(9 - int(name[0]), 9 - (ord(name[1]) - ord("a")))
