"""Parameters with which OpenSpiel 2.0.2 crashes, hangs, corrupts memory or plays another game than it says.

Each is a predicate with the reason in the game's file in `facts`, found by loading every supported game with extreme
values in a process of its own, and read up in the C++ source. What OpenSpiel itself refuses, or `load_game` sees in
the shapes, is not here.
"""

from __future__ import annotations

import math

import pyspiel

from athenan_spiel.games.facts import facts_of
from athenan_spiel.games.spec import Spec


def parameter_fault(spec: Spec) -> str | None:
    """Why the game must not even be loaded with these parameters, or None; games inside it are looked at too."""
    for value in spec.parameters.values():
        if isinstance(value, Spec) and (fault := parameter_fault(value)):
            return fault
    for name, value in spec.parameters.items():
        if isinstance(value, float) and not math.isfinite(value):
            return f"{name} must be finite, got {value}"
    check = facts_of(spec.name).fault
    return check(spec.parameters) if check else None


def process_fault(game: pyspiel.Game) -> str | None:
    """Why `game` cannot live beside the games already loaded in this process, or None."""
    check = facts_of(game.get_type().short_name).process_fault
    return check(game) if check else None
