"""Clobber."""

from __future__ import annotations

from athenan_spiel.games.facts.base import Facts, Measure, never_cut
from athenan_spiel.games.facts.readers import CELLS, merged, on_numbered_rows
from athenan_spiel.games.facts.views import from_below_squares, rows_below_numbers, stones, view_by_rows

FACTS = Facts(
    transposition=merged(CELLS),
    pieces=Measure("stones", on_numbered_rows("o", "x")),
    marks=("o", "x"),
    view=view_by_rows(rows_below_numbers, stones("o", "x"), from_below_squares, colours=("light", "dark")),
    cut=never_cut,
)
