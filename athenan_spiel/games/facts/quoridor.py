"""Quoridor."""

from __future__ import annotations

from athenan_spiel.games.facts.base import Facts, Measure, cut_if_undecided
from athenan_spiel.games.facts.readers import PLIES, merged

FACTS = Facts(
    transposition=merged("The text shows pawns, walls and walls in hand. " + PLIES, counts_plies=True),
    pieces=Measure("either player has one pawn to the end"),
    marks=("0", "@"),
    note="OpenSpiel warns of faults in its Quoridor; the observation of two players does not show the walls",
    cut=cut_if_undecided,
)
