"""Shogi."""

from __future__ import annotations

import re

import pyspiel

from athenan_spiel.games.facts.base import Facts, Measure
from athenan_spiel.games.facts.readers import Pieces, apart, by_case

_IN_HAND = re.compile(r"(\d*)([A-Za-z])")


def _pieces(state: pyspiel.State) -> Pieces:
    """By the board and the hands of an SFEN; player 0 is Black, who begins, the upper case."""
    board, _, hands, _ = str(state).split(" ")
    upper, lower = by_case(board)
    for number, piece in _IN_HAND.findall(hands):
        count = int(number or 1)
        upper, lower = (upper + count, lower) if piece.isupper() else (upper, lower + count)
    return upper, lower


FACTS = Facts(
    transposition=apart(
        "A position that occurs four times ends the match, lost for a player who kept giving check. Captured "
        "pieces are dropped again, so any earlier position may recur, and the state does not show them."
    ),
    pieces=Measure("pieces on the board and in hand", _pieces),
    marks=("Black, in capital letters", "White, in small letters"),
)
