"""An actor on a cluster as the learner sees it: its calls under way, and what it has told."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from athenan_spiel.training.cluster.desks import NodeDesk
from athenan_spiel.training.cluster.playing import Begun
from athenan_spiel.training.fleet.board import ActorState
from athenan_spiel.training.fleet.matches import Played


@dataclass(frozen=True)
class Call:
    """A call that is under way.

    Attributes:
        answer: where Ray puts it.
        version: of the weights that are played with, at least.
    """

    answer: Any
    version: int


@dataclass(eq=False)
class Worker:
    """An actor.

    Attributes:
        number: its place.
        actor: Ray's handle.
        before: matches that came from those before it in its place.
        heard: when it last answered, or was asked while nothing was under way, as `time.monotonic` says.
        told: who and where it is; None until it has begun.
        calls: under way, in their order; the first of all is that which lets it begin.
        owed: seeds given whose matches have not come back.
        version: of the newest weights that it was sent.
        limit: how many matches it was told that it may have sent in all.
        is_full: it had sent as many when it answered last.
        proofs: that it is to be sent.
        state: what it has told.
        begun: who and where it is, also before it is told of a desk.
        desk, place: where its states are valued, and its place there; None: it values them itself, or has not begun.
    """

    number: int
    actor: Any
    before: int
    heard: float
    told: Begun | None = None
    calls: deque[Call] = field(default_factory=deque)
    owed: int = 0
    version: int = 0
    limit: int = 0
    is_full: bool = False
    proofs: list[Any] = field(default_factory=list)
    state: ActorState = field(default_factory=ActorState)
    begun: Begun | None = None
    desk: NodeDesk | None = None
    place: int = 0


@dataclass(frozen=True)
class Arrival:
    """A match that has ended, and who played it."""

    worker: Worker
    played: Played
