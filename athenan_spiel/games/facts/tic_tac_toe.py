"""Tic-Tac-Toe."""

from __future__ import annotations

from athenan_spiel.games.facts.base import Facts, never_cut
from athenan_spiel.games.facts.readers import CELLS, merged
from athenan_spiel.games.facts.views import numbered_squares, plain_rows, stones, view_by_rows

FACTS = Facts(
    transposition=merged(CELLS),
    marks=("x", "o"),
    view=view_by_rows(plain_rows, stones("x", "o", "mark"), numbered_squares),
    cut=never_cut,
)
