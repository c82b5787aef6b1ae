"""Nine Men's Morris."""

from __future__ import annotations

import re

import pyspiel

from athenan_spiel.games.facts.base import Facts, Measure
from athenan_spiel.games.facts.readers import Pieces, merged
from athenan_spiel.games.layout import Layout, Line, Piece, Site
from athenan_spiel.games.view import View

_TURN = re.compile(r"Turn number: (\d+)")
MAX_TURNS = 200
"""The number of turns after which OpenSpiel ends the game as a draw; the removal of a man is none."""
_MEN = re.compile(r"Num men: (\d+) (\d+)")


def _men(state: pyspiel.State) -> Pieces:
    """The men on the board and those still to be placed."""
    found = _MEN.search(str(state))
    assert found is not None, "the text of a state of Nine Men's Morris gives the number of men"
    return int(found[1]), int(found[2])


def _cut(state: pyspiel.State) -> bool:
    found = _TURN.search(str(state))
    assert found is not None, "the text of a state of Nine Men's Morris gives the number of the turn"
    return int(found[1]) >= MAX_TURNS


def _view(game: pyspiel.Game) -> View:
    """The points as they are printed: every second character of every second line."""
    lines = str(game.new_initial_state()).splitlines()[:13]
    places = [(row, column) for row, line in enumerate(lines) for column, x in enumerate(line) if x == "."]
    columns = sorted({column for _, column in places})
    centres = [(float(columns.index(column)), row / 2) for row, column in places]
    sites = tuple(Site(str(i), *centre) for i, centre in enumerate(centres))

    def pieces(state: pyspiel.State) -> list[Piece]:
        text = str(state).splitlines()
        marks = [text[row][column] for row, column in places]
        return [Piece(i, "WB".index(mark), "man") for i, mark in enumerate(marks) if mark in "WB"]

    joined = [Line(centres[a], centres[b]) for a, b in _joined(lines, places)]
    return View(
        layout=Layout(sites, tuple(joined)),
        pieces=pieces,
        colours=("light", "dark"),
        note=lambda state: next(line for line in str(state).splitlines() if "deploy" in line),
    )


def _joined(lines: list[str], places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pairs of points that a printed line runs between."""
    pairs = []
    for i, (row, column) in enumerate(places):
        right = next((j for j, other in enumerate(places) if other[0] == row and other[1] > column), None)
        if right is not None and set(lines[row][column + 1 : places[right][1]]) == {"-"}:
            pairs.append((i, right))
        below = next((j for j, other in enumerate(places) if other[1] == column and other[0] > row), None)
        if below is not None and {line[column] for line in lines[row + 1 : places[below][0]]} == {"|"}:
            pairs.append((i, below))
    return pairs


FACTS = Facts(
    transposition=merged(
        "The text shows the points, the mover, the men to be placed, the number of the turn (200 make a draw) and "
        "whether a capture is due. There is no rule of repetition."
    ),
    pieces=Measure("men on the board and still to be placed", _men),
    marks=("W", "B"),
    view=_view,
    cut=_cut,
)
