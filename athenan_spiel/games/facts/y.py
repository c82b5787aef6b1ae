"""Y."""

from __future__ import annotations

from athenan_spiel.games.facts.base import Facts, Parameters, never_cut
from athenan_spiel.games.facts.readers import at_most, merged_by_observation


def _fault(given: Parameters) -> str | None:
    # As Havannah: beyond 181 it crashes.
    return at_most(given, "board_size", 31)


FACTS = Facts(
    transposition=merged_by_observation(
        "The observation shows every stone; groups and edges follow. The last move, which the printed board "
        "marks, does not matter."
    ),
    marks=("O", "@"),
    fault=_fault,
    cut=never_cut,
)
