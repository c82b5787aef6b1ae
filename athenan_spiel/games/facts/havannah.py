"""Havannah."""

from __future__ import annotations

import pyspiel

from athenan_spiel.games.facts.base import Facts, Parameters, never_cut
from athenan_spiel.games.facts.readers import at_most, merged_by_observation
from athenan_spiel.games.facts.views import cells_of, pieces_of, stones
from athenan_spiel.games.layout import from_above, hexagons
from athenan_spiel.games.view import View


def _fault(given: Parameters) -> str | None:
    # Its cells are numbered with 16 bits and its columns named by one character: beyond 90 it crashes.
    return at_most(given, "board_size", 16)


_ROWS = cells_of(".O@")


def _view(game: pyspiel.Game) -> View:
    """Columns run down to the right: below the middle row a row begins with the second column, the third and so on."""
    size = game.get_parameters()["board_size"]
    lengths = [len(row) for row in _ROWS(str(game.new_initial_state()))]
    layout = hexagons(
        [(max(lengths) - length) / 2 for length in lengths],
        lengths,
        lambda row, column: from_above(row, column + max(0, row - size + 1)),
    )
    return View(layout=layout, pieces=pieces_of(_ROWS, stones("O", "@")))


FACTS = Facts(
    transposition=merged_by_observation(
        "The observation shows every stone; groups, edges and corners follow. The last move, which the printed "
        "board marks, matters only to the swap, and is then the only stone."
    ),
    marks=("O", "@"),
    fault=_fault,
    view=_view,
    cut=never_cut,
)
