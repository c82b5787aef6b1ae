"""Game of the Amazons."""

from __future__ import annotations

from collections.abc import Hashable

import pyspiel

from athenan_spiel.games.boards import cells, reached
from athenan_spiel.games.facts.base import Facts, Measure, Text, never_cut
from athenan_spiel.games.facts.readers import merged


def _text(game: pyspiel.Game) -> Text:
    def text(state: pyspiel.State) -> Hashable:
        phase = state.move_number() % 3
        return str(state), phase, state.history()[-1] if phase else None

    return text


def territory(state: pyspiel.State) -> tuple[float, float]:
    """The squares that the amazons of each can reach, in any number of moves (Remark 22)."""
    rows = str(state).split("\n")
    free = cells(rows, ".")
    first, second = (
        reached(cells(rows, amazon), free, len(rows[0]), diagonally=True).bit_count() for amazon in ("X", "O")
    )
    return float(first), float(second)


FACTS = Facts(
    transposition=merged(
        "Between turns the board is all there is. Within a turn of three actions an amazon has left the board, or "
        "has arrived and is yet to shoot; the phase and the last action say from where.",
        "str(state), the phase of the turn, and within a turn the last action",
        _text,
    ),
    score=Measure("squares that the amazons reach in any number of moves (Remark 22)", territory),
    pieces=Measure("either player has four amazons to the end"),
    marks=("X", "O"),
    cut=never_cut,
)
