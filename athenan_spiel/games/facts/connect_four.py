"""Connect Four."""

from __future__ import annotations

from athenan_spiel.games.facts.base import Facts, Parameters, never_cut
from athenan_spiel.games.facts.readers import CELLS, at_least, merged


def _fault(given: Parameters) -> str | None:
    # It plays 0 as it plays 1: the first stone wins, though none was asked for.
    return at_least(given, "x_in_row", 1)


FACTS = Facts(
    transposition=merged(CELLS),
    marks=("x", "o"),
    fault=_fault,
    cut=never_cut,
)
