"""Tic-Tac-Toe."""

from __future__ import annotations

from athenan_spiel.games.facts.base import Facts, never_cut
from athenan_spiel.games.facts.readers import CELLS, merged

FACTS = Facts(
    transposition=merged(CELLS),
    marks=("x", "o"),
    cut=never_cut,
)
