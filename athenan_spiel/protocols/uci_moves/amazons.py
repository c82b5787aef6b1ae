"""Amazons: a turn is three actions in OpenSpiel, and one move in UCI."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyspiel

from athenan_spiel.errors import AgentError, ProgramError, shown
from athenan_spiel.protocols.uci_moves.base import Turn, UciGame, square

_MOVE = re.compile(r"([a-z])([0-9]{1,2})([a-z])([0-9]{1,2}),([a-z])([0-9]{1,2})([a-z])([0-9]{1,2})")


class Amazons(UciGame):
    """Amazons on 10 x 10. The actions are cells, row by row from the top: the amazon, its goal, and the arrow."""

    variant = "amazons"
    board = "3q2q3/10/10/q8q/10/10/Q8Q/10/10/3Q2Q3"
    turn_length = 3

    def __init__(self, game: pyspiel.Game) -> None:
        self._size = game.get_parameters()["board_size"]
        if self._size != 10:
            raise AgentError(f"UCI engines play Amazons on a board of 10 x 10, got {str(game)!r}: use board_size=10")

    def write(self, state: pyspiel.State, turn: Sequence[int]) -> str:
        """Returns, for example, `d1d4,d4a4`: an amazon moves from d1 to d4 and shoots at a4."""
        start, goal, arrow = (square(cell % self._size, self._size - cell // self._size) for cell in turn)
        return f"{start}{goal},{goal}{arrow}"

    def read(self, state: pyspiel.State, text: str) -> Turn:
        """Returns the three actions of a move."""
        if (match := _MOVE.fullmatch(text)) is not None:
            squares = [(ord(match[i]) - ord("a"), int(match[i + 1])) for i in (1, 3, 5, 7)]
            cells = [(self._size - rank) * self._size + column for column, rank in squares]
            turn = (cells[0], cells[1], cells[3])
            if cells[1] == cells[2] and all(0 <= column < self._size for column, _ in squares) and _legal(state, turn):
                return turn
        raise ProgramError(f"expected a legal move in UCI's notation, such as d1d4,d4a4; got {shown(text)}")


def _legal(state: pyspiel.State, turn: Turn) -> bool:
    after = state.clone()
    for action in turn:
        if action not in after.legal_actions():
            return False
        after.apply_action(action)
    return True
