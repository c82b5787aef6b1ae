"""m,n,k: a number of stones in a row on a board of any size."""

from __future__ import annotations

from athenan_spiel.games.facts.base import Facts, Parameters, never_cut
from athenan_spiel.games.facts.readers import CELLS, at_least, merged


def _fault(given: Parameters) -> str | None:
    # As Connect Four.
    return at_least(given, "k", 1)


FACTS = Facts(
    transposition=merged(CELLS),
    marks=("x", "o"),
    fault=_fault,
    cut=never_cut,
)
