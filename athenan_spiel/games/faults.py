"""Parameters with which OpenSpiel 2.0.2 crashes, hangs, corrupts memory or plays another game than it says.

Each is a predicate with the reason in the game's file in `facts`, found by loading every supported game with extreme
values in a process of its own, and read up in the C++ source. What OpenSpiel itself refuses, or `load_game` sees in
the shapes, is not here.
"""

from __future__ import annotations

import math
import re

import pyspiel

from athenan_spiel.errors import shown
from athenan_spiel.games.facts import facts_of
from athenan_spiel.games.spec import Spec

_ACTION = re.compile("[0-9]{1,9}")


def parameter_fault(spec: Spec) -> str | None:
    """Why the game must not even be loaded with these parameters, or None; games inside it are looked at too."""
    for inner in spec.inner:
        if fault := parameter_fault(inner):
            return fault
    for name, value in spec.parameters.items():
        if isinstance(value, float) and not math.isfinite(value):
            return f"{name} must be finite, got {value}"
    check = facts_of(spec.name).fault
    return check(spec.parameters) if check else None


def history_fault(spec: Spec, inner: pyspiel.Game) -> str | None:
    """Why `start_at` must not be loaded with its history, or None; OpenSpiel plays it without a look at the rules.

    Args:
        spec: any game string.
        inner: the first game inside it, loaded.
    """
    if spec.name != "start_at":
        return None
    state = inner.new_initial_state()
    for number, text in enumerate(filter(None, str(spec.parameters.get("history", "")).split(";")), 1):
        if not _ACTION.fullmatch(text) or int(text) not in state.legal_actions():
            return f"action {number} of its history, {shown(text)}, is not legal"
        state.apply_action(int(text))
    return None


def process_fault(game: pyspiel.Game) -> str | None:
    """Why `game` cannot live beside the games already loaded in this process, or None."""
    check = facts_of(game.get_type().short_name).process_fault
    return check(game) if check else None
