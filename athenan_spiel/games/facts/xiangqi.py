"""Xiangqi."""

from __future__ import annotations

import pyspiel

from athenan_spiel.games.facts.base import Facts, Measure, cut_if_undecided
from athenan_spiel.games.facts.readers import PLIES, Pieces, by_case, merged


def _pieces(state: pyspiel.State) -> Pieces:
    """By the case of the letters on the board; player 0 is Red, who begins, the upper case."""
    return by_case(str(state))


FACTS = Facts(
    transposition=merged(
        "OpenSpiel's rules look at the board and the mover, and at no repetition. " + PLIES, counts_plies=True
    ),
    pieces=Measure("pieces, the general included", _pieces),
    marks=("Red, in capital letters", "Black, in small letters"),
    cut=cut_if_undecided,
)
