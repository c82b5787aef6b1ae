"""Cliff Walking, for one player."""

from __future__ import annotations

import pyspiel

from athenan_spiel.games.facts.base import Facts
from athenan_spiel.games.facts.readers import PLIES, merged
from athenan_spiel.games.facts.views import Sign, checkered_squares, pieces_of, plain_rows
from athenan_spiel.games.view import View

_SIGNS = {"P": Sign(0, "walker"), "X": Sign(None, "cliff", form="block"), "G": Sign(None, "goal", "⚑", "figure")}


def _view(game: pyspiel.Game) -> View:
    parameters = game.get_parameters()
    return View(
        layout=checkered_squares(parameters["height"], parameters["width"]), pieces=pieces_of(plain_rows, _SIGNS)
    )


FACTS = Facts(
    transposition=merged(
        "The text shows where the player stands. A match that goes on has cost one point a ply. " + PLIES,
        counts_plies=True,
    ),
    score=None,
    pieces=None,
    note="its observation does not show how many steps are left",
    view=_view,
)
