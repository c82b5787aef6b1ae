"""Go."""

from __future__ import annotations

import pyspiel

from athenan_spiel.games.boards import cells, numbered_rows, reached
from athenan_spiel.games.facts.base import Facts, Measure, Parameters
from athenan_spiel.games.facts.readers import apart, on_numbered_rows


def area(state: pyspiel.State) -> tuple[float, float]:
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


def _fault(given: Parameters) -> str | None:
    handicap, size = given.get("handicap", 0), given.get("board_size", 19)
    if 2 <= handicap <= 9 and size < _SMALLEST_WITH_HANDICAP:  # 10 or more place no stones
        return (
            f"handicap {handicap} needs a board_size of at least {_SMALLEST_WITH_HANDICAP}, got {size}: "
            "OpenSpiel places the stones on the star points of 19 x 19"
        )
    return None


def _longest(game: pyspiel.Game) -> int:
    """At least two plies: OpenSpiel 2.0.2 does not end a match after the first one, whatever its limit."""
    return max(2, int(game.max_game_length()))


_SMALLEST_WITH_HANDICAP = 16


FACTS = Facts(
    transposition=apart(
        "A pass that answers a pass ends the match, ko forbids a move, and a position that recurs (superko) makes "
        "a draw. The state shows none of this, and points whose stones were captured may be played again."
    ),
    score=Measure("area by Tromp-Taylor, White's with komi", area),
    pieces=Measure("stones on the board", on_numbered_rows("X", "O")),
    marks=("X", "O"),
    fault=_fault,
    longest=_longest,
)
