"""How many pieces each player has: a function from a state to two counts, for each way in which OpenSpiel prints them.

Which game is read by which function, and what counts as a piece, stands in `measures.MEASURES`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pyspiel

from athenan_spiel.games.boards import numbered_rows

Pieces = tuple[int, int]
"""Of player 0 and of player 1."""

_IN_HAND = re.compile(r"(\d*)([A-Za-z])")
_MEN = re.compile(r"Num men: (\d+) (\d+)")


def on_numbered_rows(first: str, second: str) -> Callable[[pyspiel.State], Pieces]:
    """Each of the characters of `first` is a piece of player 0, of `second` one of player 1."""

    def count(state: pyspiel.State) -> Pieces:
        board = "".join(numbered_rows(str(state)))
        return sum(map(board.count, first)), sum(map(board.count, second))

    return count


def breakthrough(state: pyspiel.State) -> Pieces:
    """Every row begins with one character, whatever it is from the tenth on; the last line names the columns."""
    board = "".join(row[1:] for row in str(state).splitlines()[:-1])
    return board.count("b"), board.count("w")


def chess(state: pyspiel.State) -> Pieces:
    """By the first field of a FEN, pieces in hand in their brackets included; player 0 is Black, the lower case."""
    upper, lower = _cases(str(state).partition(" ")[0])
    return lower, upper


def shogi(state: pyspiel.State) -> Pieces:
    """By the board and the hands of an SFEN; player 0 is Black, who begins, the upper case."""
    board, _, hands, _ = str(state).split(" ")
    upper, lower = _cases(board)
    for number, piece in _IN_HAND.findall(hands):
        count = int(number or 1)
        upper, lower = (upper + count, lower) if piece.isupper() else (upper, lower + count)
    return upper, lower


def xiangqi(state: pyspiel.State) -> Pieces:
    """By the case of the letters on the board; player 0 is Red, who begins, the upper case."""
    return _cases(str(state))


def nine_mens_morris(state: pyspiel.State) -> Pieces:
    """The men on the board and those still to be placed."""
    found = _MEN.search(str(state))
    assert found is not None, "the text of a state of Nine Men's Morris gives the number of men"
    return int(found[1]), int(found[2])


def _cases(text: str) -> tuple[int, int]:
    """The number of upper and of lower case letters."""
    return sum(map(str.isupper, text)), sum(map(str.islower, text))
