"""Mancala."""

from __future__ import annotations

import pyspiel

from athenan_spiel.games.facts.base import Facts, Measure
from athenan_spiel.games.facts.readers import PLIES, merged


def seeds(state: pyspiel.State) -> tuple[float, float]:
    """The seeds in the store and in the pits of each, as those left in the pits count for their owner."""
    upper, stores, lower = str(state).split("\n")[:3]
    second, first = (int(store) for store in stores.split("-") if store)
    return float(first + _sum(lower)), float(second + _sum(upper))


def _sum(pits: str) -> int:
    return sum(int(pit) for pit in pits.split("-") if pit)


FACTS = Facts(
    transposition=merged("The text shows every pit, the mover and the number of the move. " + PLIES, counts_plies=True),
    score=Measure("seeds in the store and in the pits of one's side", seeds),
    pieces=Measure("seeds belong to no player; they are the score"),
)
