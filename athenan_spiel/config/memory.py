"""How much memory a training may take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from athenan_spiel.config.learning import MOST_MEGABYTES
from athenan_spiel.config.settings import Settings

MOST_BYTES = MOST_MEGABYTES * 1_000_000


@dataclass(frozen=True, kw_only=True)
class MemoryConfig(Settings):
    """How much memory a training may take.

    What follows from `bytes` is computed when a run begins (docs/scaling.md) and stands in its `config.toml` from then
    on, so that a run that is resumed is the same; where it is none there, it is computed anew.
    """

    table: ClassVar[str] = "memory."

    bytes: int | None = None
    """Of all processes of the run together; none: there is no bound but those of single settings. The command line has
    it as --memory 8g."""
    tree_states: int | None = None
    """States that the tree of a match holds at most, then it grows no more; none: as `bytes` says, or no bound."""
    replay_bytes: int | None = None
    """What the replay takes at most, where that is less than `replay.megabytes`; none: likewise."""
    proven_states: int | None = None
    """Proven states that are kept at most (`search.resolved_hours`); none: likewise, but no more than 4,000,000."""

    def check(self) -> None:
        """All are at least 1, and bounded."""
        self.require_some(1, "tree_states", "proven_states")
        self.require_some(1, "bytes", "replay_bytes", most=MOST_BYTES)
