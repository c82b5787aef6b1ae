"""Clobber."""

from __future__ import annotations

from athenan_spiel.games.facts.base import Facts, Measure, never_cut
from athenan_spiel.games.facts.readers import CELLS, merged, on_numbered_rows

FACTS = Facts(
    transposition=merged(CELLS),
    pieces=Measure("stones", on_numbered_rows("o", "x")),
    marks=("o", "x"),
    cut=never_cut,
)
