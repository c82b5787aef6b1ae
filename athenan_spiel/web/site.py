"""Content of the pages, as chosen on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyspiel

from agents import AgentSpec
from athenan_spiel.web.opponents import Opponents


@dataclass(frozen=True)
class Offer:
    """Game that a page starts.

    Attributes:
        start: first position.
        specs: agents named on the command line.
        seats: name or agent spec of each player, from player 0.
        seconds: time per move, in seconds.
        rolls: whether the program rolls by itself in a game with chance.
    """

    start: pyspiel.State
    specs: Sequence[AgentSpec]
    seats: Sequence[str]
    seconds: float
    rolls: bool = True

    @property
    def opponents(self) -> Opponents:
        """Agents to choose from."""
        return Opponents(self.specs, self.start.get_game())


@dataclass(frozen=True, kw_only=True)
class SiteContent:
    """Content of the pages.

    Attributes:
        offer: game that `/` starts; None: `/` lists runs.
        runs: folder of runs, or one run; None: no runs.
        waits: whether `runs` is one run that may not exist yet; `/` then waits for it.
    """

    offer: Offer | None = None
    runs: Path | None = None
    waits: bool = False
