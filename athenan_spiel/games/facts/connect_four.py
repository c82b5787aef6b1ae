"""Connect Four."""

from __future__ import annotations

from athenan_spiel.games.facts.base import Facts, Parameters, never_cut
from athenan_spiel.games.facts.readers import CELLS, at_least, merged
from athenan_spiel.games.facts.views import numbered_squares, plain_rows, stones, view_by_rows


def _fault(given: Parameters) -> str | None:
    # It plays 0 as it plays 1: the first stone wins, though none was asked for.
    return at_least(given, "x_in_row", 1)


FACTS = Facts(
    transposition=merged(CELLS),
    marks=("x", "o"),
    fault=_fault,
    view=view_by_rows(plain_rows, stones("x", "o", "disc"), numbered_squares, colours=("red", "yellow")),
    cut=never_cut,
)
