"""Nim."""

from __future__ import annotations

from athenan_spiel.games.facts.base import Facts, Measure, Parameters, never_cut
from athenan_spiel.games.facts.readers import merged


def _fault(given: Parameters) -> str | None:
    piles = [pile.strip() for pile in given.get("pile_sizes", "1").split(";")]
    return "a pile cannot be negative" if any(pile.startswith("-") for pile in piles) else None


FACTS = Facts(
    transposition=merged("The rules look at the piles and the mover, and the text shows both."),
    pieces=Measure("what lies in the piles belongs to no player"),
    fault=_fault,
    cut=never_cut,
)
