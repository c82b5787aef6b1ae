"""What the pages of a server show, as the command line says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyspiel

from agents import AgentWord
from athenan_spiel.web.opponents import Opponents


@dataclass(frozen=True)
class Offer:
    """A match that a page begins.

    Attributes:
        start: the position that it begins from.
        words: the agents that the command line has named.
        seats: who sits where, from player 0.
        seconds: for a move.
    """

    start: pyspiel.State
    words: Sequence[AgentWord]
    seats: Sequence[str]
    seconds: float

    @property
    def opponents(self) -> Opponents:
        """Who may be chosen."""
        return Opponents(self.words)


@dataclass(frozen=True, kw_only=True)
class Site:
    """What the pages show.

    Attributes:
        offer: the match that `/` begins; None: `/` lists runs.
        runs: the folder whose runs are listed, None for none; or one run.
    """

    offer: Offer | None = None
    runs: Path | None = None
