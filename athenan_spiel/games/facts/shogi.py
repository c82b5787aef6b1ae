"""Shogi."""

from __future__ import annotations

import re

import pyspiel

from athenan_spiel.games.facts.base import Facts, Measure
from athenan_spiel.games.facts.readers import Pieces, apart, by_case
from athenan_spiel.games.facts.views import Sign, fen_rows, pieces_of, promoted
from athenan_spiel.games.layout import letters, squares
from athenan_spiel.games.view import View

_IN_HAND = re.compile(r"(\d*)([A-Za-z])")


def _pieces(state: pyspiel.State) -> Pieces:
    """By the board and the hands of an SFEN; player 0 is Black, who begins, the upper case."""
    board, _, hands, _ = str(state).split(" ")
    upper, lower = by_case(board)
    for number, piece in _IN_HAND.findall(hands):
        count = int(number or 1)
        upper, lower = (upper + count, lower) if piece.isupper() else (upper, lower + count)
    return upper, lower


_FIGURES = {
    "k": ("王", "king", "", ""),
    "r": ("飛", "rook", "龍", "dragon"),
    "b": ("角", "bishop", "馬", "horse"),
    "g": ("金", "gold", "", ""),
    "s": ("銀", "silver", "全", "promoted silver"),
    "n": ("桂", "knight", "圭", "promoted knight"),
    "l": ("香", "lance", "杏", "promoted lance"),
    "p": ("歩", "pawn", "と", "tokin"),
}


def _signs() -> dict[str, Sign]:
    signs = {}
    for letter, (sign, kind, promoted_sign, promoted_kind) in _FIGURES.items():
        for side, written in enumerate((letter.upper(), letter)):
            signs[written] = Sign(side, kind, sign)
            signs[promoted(written)] = Sign(side, promoted_kind, promoted_sign)
    return signs


def _view(game: pyspiel.Game) -> View:
    layout = squares(9, 9, lambda row, column: f"{9 - column}{letters(row)}")
    return View(
        layout=layout,
        pieces=pieces_of(fen_rows, _signs()),
        note=lambda state: f"in hand: {str(state).split(' ')[2]}",
        colours=("dark", "light"),
    )


FACTS = Facts(
    transposition=apart(
        "A position that occurs four times ends the match, lost for a player who kept giving check. Captured "
        "pieces are dropped again, so any earlier position may recur, and the state does not show them."
    ),
    pieces=Measure("pieces on the board and in hand", _pieces),
    marks=("Black, in capital letters", "White, in small letters"),
    view=_view,
)
