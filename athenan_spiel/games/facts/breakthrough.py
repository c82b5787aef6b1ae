"""Breakthrough."""

from __future__ import annotations

import pyspiel

from athenan_spiel.games.boards import rows_behind_one_character
from athenan_spiel.games.facts.base import Facts, Measure, never_cut
from athenan_spiel.games.facts.readers import CELLS, Pieces, merged


def _pawns(state: pyspiel.State) -> Pieces:
    board = "".join(rows_behind_one_character(str(state)))
    return board.count("b"), board.count("w")


FACTS = Facts(
    transposition=merged(CELLS),
    pieces=Measure("pawns", _pawns),
    marks=("b", "w"),
    cut=never_cut,
)
