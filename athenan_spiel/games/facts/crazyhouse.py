"""Crazyhouse: Chess with pieces in hand."""

from __future__ import annotations

from athenan_spiel.games.facts.base import Facts, Measure, Parameters
from athenan_spiel.games.facts.chess import CASES, chessmen
from athenan_spiel.games.facts.readers import apart, at_most


def _fault(given: Parameters) -> str | None:
    # Captured pieces are put into the pocket one by one, `insanity` of them: a loop without end for large values.
    return at_most(given, "insanity", 1000)


FACTS = Facts(
    transposition=apart(
        "A position that occurs three times is a draw. Captured pieces are dropped again, so any earlier position "
        "may recur, and the state does not show them."
    ),
    pieces=Measure("chessmen on the board and in hand, the king included", chessmen),
    marks=CASES,
    fault=_fault,
)
