"""Chess, and what Antichess and Crazyhouse have in common with it."""

from __future__ import annotations

from collections.abc import Hashable

import pyspiel

from athenan_spiel.games.facts.base import Facts, Measure, Text, Transposition
from athenan_spiel.games.facts.readers import Pieces, by_case, merged

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


FACTS = Facts(
    transposition=by_fen(
        "The FEN has all but the earlier positions, which matter when one recurs. Right after a capture or a "
        "pawn's move none of them can; at other plies histories stay apart."
    ),
    pieces=Measure("chessmen, the king included", chessmen),
    marks=CASES,
)
