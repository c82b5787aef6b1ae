"""Chess, and what Antichess and Crazyhouse have in common with it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Hashable

import pyspiel

from athenan_spiel.games.facts.base import Facts, Measure, Text, Transposition
from athenan_spiel.games.facts.readers import Pieces, by_case, merged
from athenan_spiel.games.facts.views import Sign, fen_rows, from_below_squares, pieces_of
from athenan_spiel.games.view import View

CASES = ("Black, in small letters", "White, in capital letters")


def _text(game: pyspiel.Game) -> Text:
    def text(state: pyspiel.State) -> Hashable | None:
        fen = str(state)
        return fen if fen.split(" ")[4] == "0" else None

    return text


def by_fen(reason: str) -> Transposition:
    """Histories are one state right after a capture or a pawn's move, when no earlier position can recur."""
    return merged(
        reason, "str(state), a FEN with its counters, right after a capture or a pawn's move; else the history", _text
    )


def chessmen(state: pyspiel.State) -> Pieces:
    """By the first field of a FEN, pieces in hand in their brackets included; player 0 is Black, the lower case."""
    upper, lower = by_case(str(state).partition(" ")[0])
    return lower, upper


_FIGURES = {
    "k": ("♚", "king"),
    "q": ("♛", "queen"),
    "r": ("♜", "rook"),
    "b": ("♝", "bishop"),
    "n": ("♞", "knight"),
    "p": ("♟", "pawn"),
    # Crazyhouse tells promoted pawns apart.
    "e": ("♛", "promoted queen"),
    "c": ("♜", "promoted rook"),
    "a": ("♝", "promoted bishop"),
    "h": ("♞", "promoted knight"),
}
_SIGNS = {letter: Sign(0, kind, sign, "figure") for letter, (sign, kind) in _FIGURES.items()} | {
    letter.upper(): Sign(1, kind, sign, "figure") for letter, (sign, kind) in _FIGURES.items()
}


def chess_view(game: pyspiel.Game) -> View:
    """The board of a FEN, and what is in hand where the rules have that."""
    pieces = pieces_of(fen_rows, _SIGNS)

    def note(state: pyspiel.State) -> str:
        hand = re.search(r"\[(\w+)\]", str(state))
        return "" if hand is None else f"in hand: {' '.join(_SIGNS[letter].sign for letter in hand[1])}"

    def sites(state: pyspiel.State, action: int) -> tuple[int, ...]:
        touched = view.touched(state, action)
        if not state.action_to_string(action).startswith("O-O"):
            return touched
        kings = [
            next(x.site for x in pieces(s) if x.kind == "king" and x.side == state.current_player())
            for s in (state, state.child(action))
        ]
        return (kings[0], kings[1])

    view = View(layout=from_below_squares(8, 8), pieces=pieces, colours=("dark", "light"), note=note)
    return dataclasses.replace(view, sites=sites)


FACTS = Facts(
    transposition=by_fen(
        "The FEN has all but the earlier positions, which matter when one recurs. Right after a capture or a "
        "pawn's move none of them can; at other plies histories stay apart."
    ),
    pieces=Measure("chessmen, the king included", chessmen),
    marks=CASES,
    view=chess_view,
)
