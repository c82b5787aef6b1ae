"""Breakthrough."""

from __future__ import annotations

import pyspiel

from athenan_spiel.games.facts.base import Facts, Measure
from athenan_spiel.games.facts.readers import CELLS, Pieces, merged
from athenan_spiel.games.facts.views import from_below_squares, rows_below_numbers, stones, view_by_rows


def _pawns(state: pyspiel.State) -> Pieces:
    """Every row begins with one character, whatever it is from the tenth on; the last line names the columns."""
    board = "".join(row[1:] for row in str(state).splitlines()[:-1])
    return board.count("b"), board.count("w")


FACTS = Facts(
    transposition=merged(CELLS),
    pieces=Measure("pawns", _pawns),
    marks=("b", "w"),
    view=view_by_rows(rows_below_numbers, stones("b", "w", "pawn"), from_below_squares),
)
