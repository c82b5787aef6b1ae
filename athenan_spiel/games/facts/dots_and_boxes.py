"""Dots and Boxes."""

from __future__ import annotations

import pyspiel

from athenan_spiel.games.facts.base import Facts, Measure, never_cut
from athenan_spiel.games.facts.readers import merged_by_observation


def boxes(state: pyspiel.State) -> tuple[float, float]:
    """The boxes that each has closed."""
    text = str(state)
    return float(text.count("1")), float(text.count("2"))


def _longest(game: pyspiel.Game) -> int:
    """The lines of the board, which OpenSpiel 2.0.2 counts as if it were square."""
    given = game.get_parameters()
    rows, columns = given["num_rows"], given["num_cols"]
    return int(rows * (columns + 1) + columns * (rows + 1))


FACTS = Facts(
    transposition=merged_by_observation(
        "The rules look at the lines, the owners of the boxes and the mover. The printed board leaves out who drew "
        "a line, and the observation shows it: so the observation is the text."
    ),
    score=Measure("boxes closed", boxes),
    pieces=Measure("lines and boxes stay; boxes are the score"),
    longest=_longest,
    cut=never_cut,
)
