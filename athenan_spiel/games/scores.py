"""How OpenSpiel's scoring games count: for each a function from a state to the score of either player.

They say what the rules would count if the match ended there, and read it from the text of the state. What is counted
stands beside them in `measures.MEASURES`. Each agrees with the returns of finished matches, which is tested.
"""

from __future__ import annotations

import re

import pyspiel

from athenan_spiel.games.boards import cells, numbered_rows, reached

Scores = tuple[float, float]
"""Of player 0 and of player 1."""

_OWARE = re.compile(r"Player (\d) score = (\d+)")


def amazons_territory(state: pyspiel.State) -> Scores:
    """The squares that the amazons of each can reach, in any number of moves (Remark 22)."""
    rows = str(state).split("\n")
    free = cells(rows, ".")
    first, second = (
        reached(cells(rows, amazon), free, len(rows[0]), diagonally=True).bit_count() for amazon in ("X", "O")
    )
    return float(first), float(second)


def go_area(state: pyspiel.State) -> Scores:
    """Stones and surrounded points (Tromp-Taylor); White's with komi, and with a handicap of two stones or more."""
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
    """The boxes that each has closed."""
    text = str(state)
    return float(text.count("1")), float(text.count("2"))


def mancala_seeds(state: pyspiel.State) -> Scores:
    """The seeds in the store and in the pits of each, as those left in the pits count for their owner."""
    upper, stores, lower = str(state).split("\n")[:3]
    second, first = (int(store) for store in stores.split("-") if store)
    return float(first + _sum(lower)), float(second + _sum(upper))


def oware_seeds(state: pyspiel.State) -> Scores:
    """The seeds that each has captured."""
    captured = dict(_OWARE.findall(str(state)))
    return float(captured["0"]), float(captured["1"])


def othello_discs(state: pyspiel.State) -> Scores:
    """The discs of each."""
    board = "".join(numbered_rows(str(state)))
    return float(board.count("x")), float(board.count("o"))


def _sum(pits: str) -> int:
    return sum(int(pit) for pit in pits.split("-") if pit)
