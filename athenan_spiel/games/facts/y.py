"""Y."""

from __future__ import annotations

import pyspiel

from athenan_spiel.games.facts.base import Facts, Parameters, never_cut
from athenan_spiel.games.facts.readers import at_most, merged_by_observation
from athenan_spiel.games.facts.views import cells_of, pieces_of, stones
from athenan_spiel.games.layout import from_above, hexagons
from athenan_spiel.games.view import View


def _fault(given: Parameters) -> str | None:
    # As Havannah: beyond 181 it crashes.
    return at_most(given, "board_size", 31)


_ROWS = cells_of(".O@")


def _view(game: pyspiel.Game) -> View:
    lengths = [len(row) for row in _ROWS(str(game.new_initial_state()))]
    layout = hexagons([row / 2 for row in range(len(lengths))], lengths, from_above)
    return View(layout=layout, pieces=pieces_of(_ROWS, stones("O", "@")))


FACTS = Facts(
    transposition=merged_by_observation(
        "The observation shows every stone; groups and edges follow. The last move, which the printed board "
        "marks, does not matter."
    ),
    marks=("O", "@"),
    fault=_fault,
    view=_view,
    cut=never_cut,
)
