"""Processes that play the matches of a training beside the one that learns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from athenan_spiel.config.settings import Settings

InferenceName = Literal["auto", "own", "shared"]

MOST_WORKERS = 1_000
"""Processes on one machine."""


@dataclass(frozen=True, kw_only=True)
class WorkersConfig(Settings):
    """Processes that play the matches of a training beside the one that learns."""

    table: ClassVar[str] = "workers."

    count: int = 0
    """N: so many processes play, each `matches_at_once` matches at once, while this one learns; such a run is never the
    same twice. 0: this process plays and learns in turn, and a run is reproducible to the bit."""
    max_staleness: int | None = None
    """Learning phases that may lie between the weights with which the last move of a match was searched and the phase
    in which it is learned, at least 2 · count · `matches_at_once`; none: twice that. Who would be further apart waits
    for the other."""
    inference: InferenceName = "auto"
    """`own`: each process values its states itself; `shared`: they ask one process, which merges their questions into
    batches for one device; `auto`: that where the device is CUDA."""
    patience_seconds: float = 120.0
    """A process that has shown no life for so long is ended, and another one takes its place; its matches are lost."""

    def check(self) -> None:
        """Numbers are bounded."""
        self.require_some(0, "count", most=MOST_WORKERS)
        self.require_some(1, "max_staleness")
        self.require_time("patience_seconds")

    def staleness(self, matches_at_once: int) -> int:
        """The bound, where so many matches are played at once by each process."""
        return 4 * self.count * matches_at_once if self.max_staleness is None else self.max_staleness
