"""Havannah."""

from __future__ import annotations

from athenan_spiel.games.facts.base import Facts, Parameters, never_cut
from athenan_spiel.games.facts.readers import at_most, merged_by_observation


def _fault(given: Parameters) -> str | None:
    # Its cells are numbered with 16 bits and its columns named by one character: beyond 90 it crashes.
    return at_most(given, "board_size", 16)


FACTS = Facts(
    transposition=merged_by_observation(
        "The observation shows every stone; groups, edges and corners follow. The last move, which the printed "
        "board marks, matters only to the swap, and is then the only stone."
    ),
    marks=("O", "@"),
    fault=_fault,
    cut=never_cut,
)
