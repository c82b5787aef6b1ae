"""What Java takes of memory where a game is one of Ludii's."""

from __future__ import annotations

import pyspiel

_SHIFTS = {"k": 10, "m": 20, "g": 30}


def java_bytes(game: pyspiel.Game) -> int:
    """The most that Java's objects take in a process that plays `game`; 0 where it needs no Java."""
    if game.get_type().short_name != "ludii":
        return 0
    from ludii_bridge.installation import java_memory

    size = java_memory().lower()
    return int(size.rstrip("kmg")) << _SHIFTS.get(size[-1], 0)
