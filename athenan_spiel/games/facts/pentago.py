"""Pentago."""

from __future__ import annotations

import dataclasses
import re

import pyspiel

from athenan_spiel.games.facts.base import Facts, never_cut
from athenan_spiel.games.facts.readers import merged
from athenan_spiel.games.facts.views import pieces_of, stones
from athenan_spiel.games.layout import Line, from_above, squares
from athenan_spiel.games.view import View


def _rows(text: str) -> list[str]:
    """The cells behind the numbers of the rows; beside them stand the names of rotations."""
    found = (re.match(r"\s*\S?\s+\d ((?:[.O@] ){6})", line) for line in text.splitlines())
    return [row[1].replace(" ", "") for row in found if row is not None]


def _view(game: pyspiel.Game) -> View:
    layout = squares(6, 6, from_above)
    middle = (Line((2.5, -0.5), (2.5, 5.5), width=0.1), Line((-0.5, 2.5), (5.5, 2.5), width=0.1))

    def sites(state: pyspiel.State, action: int) -> tuple[int, ...]:
        name = state.action_to_string(action)  # the site of the stone and the letter of the rotation
        return (6 * (int(name[1]) - 1) + ord(name[0]) - ord("a"),)

    return View(
        layout=dataclasses.replace(layout, lines=middle), pieces=pieces_of(_rows, stones("O", "@")), sites=sites
    )


FACTS = Facts(
    transposition=merged("The rules look at the board and the mover only. Stone and rotation are one action."),
    marks=("O", "@"),
    view=_view,
    cut=never_cut,
)
