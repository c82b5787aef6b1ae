"""Hive."""

from __future__ import annotations

from athenan_spiel.games.facts.base import Facts, Parameters, cut_if_undecided
from athenan_spiel.games.facts.readers import apart, at_most


def _fault(given: Parameters) -> str | None:
    # Beyond 14 the board stays as it is while the observation's declared shape grows.
    return at_most(given, "board_size", 14)


FACTS = Facts(
    transposition=apart(
        "The tile moved last may not be moved by a pillbug, and the printed state is the list of moves itself."
    ),
    marks=("White, w", "Black, b"),
    fault=_fault,
    cut=cut_if_undecided,
)
