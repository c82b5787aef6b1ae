"""Memory limit of Java for games of Ludii."""

from __future__ import annotations

import pyspiel

_SHIFTS = {"k": 10, "m": 20, "g": 30}


def java_bytes(game: pyspiel.Game) -> int:
    """Return the maximum memory of Java's objects in a process that plays `game`, in bytes; 0 without Java."""
    if game.get_type().short_name != "ludii":
        return 0
    from ludii_bridge.installation import java_memory

    size = java_memory().lower()
    return int(size.rstrip("kmg")) << _SHIFTS.get(size[-1], 0)
