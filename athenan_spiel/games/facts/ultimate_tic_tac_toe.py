"""Ultimate Tic-Tac-Toe."""

from __future__ import annotations

import re

import pyspiel

from athenan_spiel.games.facts.base import Facts, never_cut
from athenan_spiel.games.facts.readers import merged
from athenan_spiel.games.facts.views import pieces_of, stones
from athenan_spiel.games.layout import Layout, Line, Site, square
from athenan_spiel.games.view import View

_FORCED = re.compile(r"Forced board: (\d)")


def _rows(text: str) -> list[str]:
    """The nine rows of nine cells."""
    return [
        line.replace(" ", "") for line in text.splitlines() if re.fullmatch(r"[.xo]{3}( [.xo]{3}){2}", line.strip())
    ]


def _view(game: pyspiel.Game) -> View:
    """The 81 cells, then the nine boards, which the first action chooses among."""
    cells = [Site(f"{row},{column}", column, row, square()) for row in range(9) for column in range(9)]
    lines = [Line((2.5 + 3 * i, -0.5), (2.5 + 3 * i, 8.5), width=0.1) for i in range(2)]
    lines += [Line((-0.5, 2.5 + 3 * i), (8.5, 2.5 + 3 * i), width=0.1) for i in range(2)]

    def note(state: pyspiel.State) -> str:
        forced = _FORCED.search(str(state))
        return "" if forced is None or int(forced[1]) > 8 else f"to be played in board {forced[1]}, counted from 0"

    return View(layout=Layout(tuple(cells), tuple(lines)), pieces=pieces_of(_rows, stones("x", "o", "mark")), note=note)


FACTS = Facts(
    transposition=merged("The text shows the nine boards, the mover and the board to be played in."),
    marks=("x", "o"),
    view=_view,
    cut=never_cut,
)
