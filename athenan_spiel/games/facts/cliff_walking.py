"""Cliff Walking, for one player."""

from __future__ import annotations

from athenan_spiel.games.facts.base import Facts
from athenan_spiel.games.facts.readers import PLIES, merged

FACTS = Facts(
    transposition=merged(
        "The text shows where the player stands. A match that goes on has cost one point a ply. " + PLIES,
        counts_plies=True,
    ),
    score=None,
    pieces=None,
    note="its observation does not show how many steps are left",
)
