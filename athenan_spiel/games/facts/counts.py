"""Functions that count scores and pieces in a state, for player 0 and for player 1, mostly from its text."""

from __future__ import annotations

import re
from collections.abc import Callable

import pyspiel

from athenan_spiel.games.boards import cells, numbered_rows, reached, rows_behind_one_character
from athenan_spiel.games.facts.keys import banqi_history

Pieces = tuple[int, int]
Scores = tuple[float, float]

_SHOGI_HAND = re.compile(r"(\d*)([A-Za-z])")
_MEN = re.compile(r"Num men: (\d+) (\d+)")
_PIG = re.compile(r"Scores: (\d+) (\d+),")
_YACHT = re.compile(r"\(total: (\d+)\)")
_CAPTURED = re.compile(r"Player (\d) score = (\d+)")


def territory(state: pyspiel.State) -> Scores:
    """Amazons: squares that the amazons of each player can reach in any number of moves (Remark 22)."""
    rows = str(state).split("\n")
    free = cells(rows, ".")
    first, second = (
        reached(cells(rows, amazon), free, len(rows[0]), diagonally=True).bit_count() for amazon in ("X", "O")
    )
    return float(first), float(second)


def area(state: pyspiel.State) -> Scores:
    """Go: stones and surrounded points (Tromp-Taylor); White's with komi, and with a handicap of two stones or more."""
    rows = numbered_rows(str(state))
    width, empty = len(rows[0]), cells(rows, "+")
    black, white = cells(rows, "X"), cells(rows, "O")
    by_black, by_white = (reached(stones, empty, width, diagonally=False) for stones in (black, white))
    parameters = state.get_game().get_parameters()
    handicap = parameters["handicap"]
    return (
        float((black | by_black & ~by_white).bit_count()),
        (white | by_white & ~by_black).bit_count() + parameters["komi"] + (handicap if handicap >= 2 else 0),
    )


def boxes(state: pyspiel.State) -> Scores:
    """Dots and Boxes: boxes closed."""
    text = str(state)
    return float(text.count("1")), float(text.count("2"))


def discs(state: pyspiel.State) -> Scores:
    """Othello: discs."""
    board = "".join(numbered_rows(str(state)))
    return float(board.count("x")), float(board.count("o"))


def mancala_seeds(state: pyspiel.State) -> Scores:
    """Mancala: seeds in the store and in the pits, as those left in the pits count for their owner."""
    upper, stores, lower = str(state).split("\n")[:3]
    second, first = (int(store) for store in stores.split("-") if store)
    above, below = (sum(int(pit) for pit in pits.split("-") if pit) for pits in (upper, lower))
    return float(first + below), float(second + above)


def oware_seeds(state: pyspiel.State) -> Scores:
    """Oware: seeds captured."""
    captured = dict(_CAPTURED.findall(str(state)))
    return float(captured["0"]), float(captured["1"])


def pig_points(state: pyspiel.State) -> Scores:
    """Pig: points banked, without the turn total."""
    found = _PIG.match(str(state))
    assert found is not None, "the text of a state of Pig starts with the scores of two players"
    return float(found[1]), float(found[2])


def yacht_points(state: pyspiel.State) -> Scores:
    """Yacht: points in all categories."""
    first, second = _YACHT.findall(str(state))
    return float(first), float(second)


def on_all(first: str, second: str) -> Callable[[pyspiel.State], Pieces]:
    """Returns a function that counts a character for player 0 and one for player 1 in the whole text."""
    return lambda state: (str(state).count(first), str(state).count(second))


def banqi_pieces(state: pyspiel.State) -> Pieces:
    """Banqi: pieces of each player, face down ones included. The first piece turned decides player 0's colour."""
    history = state.history()
    board = "".join(str(state).split("\n")[:4])
    red, black = _by_case(board)
    hidden = banqi_history(history).face_down
    red, black = red + sum(hidden[:7]), black + sum(hidden[7:])
    return (black, red) if len(history) > 1 and history[1] >= 7 else (red, black)


def on_numbered_rows(first: str, second: str) -> Callable[[pyspiel.State], Pieces]:
    """Returns a function that counts the characters of `first` for player 0 and those of `second` for player 1."""

    def count(state: pyspiel.State) -> Pieces:
        board = "".join(numbered_rows(str(state)))
        return sum(map(board.count, first)), sum(map(board.count, second))

    return count


def pawns(state: pyspiel.State) -> Pieces:
    """Breakthrough: pawns."""
    board = "".join(rows_behind_one_character(str(state)))
    return board.count("b"), board.count("w")


def chessmen(state: pyspiel.State) -> Pieces:
    """Chess: letters of a FEN's first field, pieces in hand in brackets included. Player 0 is Black, in lower case."""
    upper, lower = _by_case(str(state).partition(" ")[0])
    return lower, upper


def shogi_pieces(state: pyspiel.State) -> Pieces:
    """Shogi: letters of the board and the hands of an SFEN. Player 0 is Black, in upper case."""
    board, _, hands, _ = str(state).split(" ")
    upper, lower = _by_case(board)
    for number, piece in _SHOGI_HAND.findall(hands):
        count = int(number or 1)
        upper, lower = (upper + count, lower) if piece.isupper() else (upper, lower + count)
    return upper, lower


def xiangqi_pieces(state: pyspiel.State) -> Pieces:
    """Xiangqi: letters on the board. Player 0 is Red, in upper case."""
    return _by_case(str(state))


def men(state: pyspiel.State) -> Pieces:
    """Nine Men's Morris: men on the board and still to be placed."""
    found = _MEN.search(str(state))
    assert found is not None, "the text of a state of Nine Men's Morris gives the number of men"
    return int(found[1]), int(found[2])


def _by_case(text: str) -> Pieces:
    """Numbers of upper and of lower case letters."""
    return sum(map(str.isupper, text)), sum(map(str.islower, text))
