"""Othello."""

from __future__ import annotations

import pyspiel

from athenan_spiel.games.boards import numbered_rows
from athenan_spiel.games.facts.base import Facts, Measure, never_cut
from athenan_spiel.games.facts.readers import merged, on_numbered_rows


def discs(state: pyspiel.State) -> tuple[float, float]:
    """The discs of each."""
    board = "".join(numbered_rows(str(state)))
    return float(board.count("x")), float(board.count("o"))


FACTS = Facts(
    transposition=merged("The rules look at the board and the mover, and the text shows both. A pass leaves no trace."),
    score=Measure("discs", discs),
    pieces=Measure("discs", on_numbered_rows("x", "o")),
    marks=("x", "o"),
    any_position="Turning the board by 90° or flipping it exchanges the colours of the first four discs, so the "
    "initial position is not its own image. The rules look at the discs and the mover alone, wherever they came from.",
    cut=never_cut,
)
