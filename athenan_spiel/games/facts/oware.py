"""Oware."""

from __future__ import annotations

import re

import pyspiel

from athenan_spiel.games.facts.base import Facts, Measure
from athenan_spiel.games.facts.readers import apart

_CAPTURED = re.compile(r"Player (\d) score = (\d+)")


def seeds(state: pyspiel.State) -> tuple[float, float]:
    """The seeds that each has captured."""
    captured = dict(_CAPTURED.findall(str(state)))
    return float(captured["0"]), float(captured["1"])


FACTS = Facts(
    transposition=apart(
        "A position that recurs ends the match. Those since the last capture count, and neither the state nor the "
        "actions show when that was."
    ),
    score=Measure("seeds captured", seeds),
    pieces=Measure("seeds belong to no player; they are the score"),
)
