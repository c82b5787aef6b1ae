"""Pentago."""

from __future__ import annotations

from athenan_spiel.games.facts.base import Facts, never_cut
from athenan_spiel.games.facts.readers import merged

FACTS = Facts(
    transposition=merged("The rules look at the board and the mover only. Stone and rotation are one action."),
    marks=("O", "@"),
    cut=never_cut,
)
