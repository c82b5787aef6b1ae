"""Xiangqi."""

from __future__ import annotations

import pyspiel

from athenan_spiel.games.facts.base import Facts, Measure, cut_if_undecided
from athenan_spiel.games.facts.readers import PLIES, Pieces, by_case, merged
from athenan_spiel.games.facts.views import Sign, numbered_points, plain_rows, view_by_rows


def _pieces(state: pyspiel.State) -> Pieces:
    """By the case of the letters on the board; player 0 is Red, who begins, the upper case."""
    return by_case(str(state))


_FIGURES = {
    "r": ("車", "chariot"),
    "h": ("馬", "horse"),
    "e": ("象", "elephant"),
    "a": ("士", "advisor"),
    "g": ("將", "general"),
    "c": ("砲", "cannon"),
    "s": ("卒", "soldier"),
}
_RED = {"e": "相", "a": "仕", "g": "帥", "c": "炮", "s": "兵"}
_SIGNS = {letter: Sign(1, kind, sign) for letter, (sign, kind) in _FIGURES.items()} | {
    letter.upper(): Sign(0, kind, _RED.get(letter, sign)) for letter, (sign, kind) in _FIGURES.items()
}


FACTS = Facts(
    transposition=merged(
        "OpenSpiel's rules look at the board and the mover, and at no repetition. " + PLIES, counts_plies=True
    ),
    pieces=Measure("pieces, the general included", _pieces),
    marks=("Red, in capital letters", "Black, in small letters"),
    view=view_by_rows(plain_rows, _SIGNS, numbered_points, colours=("red", "dark")),
    cut=cut_if_undecided,
)
