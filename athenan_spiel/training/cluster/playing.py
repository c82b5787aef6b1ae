"""What runs in an actor on a Ray cluster: it plays on for a while each time that it is asked to.

1. Matches in play stay here between two calls, and die with the actor.
2. A call ends after its seconds, or as soon as so many matches have ended as may wait to be learned.
3. A call that brings weights plays with those from its beginning; proofs and seeds are known from then on, too.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from athenan_spiel.config import TrainingConfig
from athenan_spiel.errors import AthenanError
from athenan_spiel.system.cluster import Surroundings, ray
from athenan_spiel.system.machine import yield_to_others
from athenan_spiel.training.actor import PublishedWeights
from athenan_spiel.training.fleet.board import ActorState
from athenan_spiel.training.fleet.inference import DeskPlan, RemoteEngine, ServerGoneError
from athenan_spiel.training.fleet.matches import Failed, Matches, Played


@dataclass(frozen=True)
class PlayingTask:
    """What an actor is told when it begins; may be sent to another machine.

    Attributes:
        outcome: the parameters of the run's outcome.
        kind: what the outcome is made of, where it is code of one's own, else None; pickled, as it may have to be
            imported from where the learner does.
        surroundings: of the learner.
        on_gpu: it has a part of a graphics card; else it uses none.
        asks: its states are valued elsewhere, and `attach` comes after `begin`.
    """

    game: str
    config: TrainingConfig
    outcome: Mapping[str, Any]
    kind: bytes
    surroundings: Surroundings
    on_gpu: bool
    asks: bool = False


@dataclass(frozen=True)
class Begun:
    """Report: the actor may play.

    Attributes:
        host: the name of its machine.
        node: as Ray calls that.
        process: its number there.
    """

    host: str
    node: str
    process: int


@dataclass(frozen=True)
class Turn:
    """Report: what was played in a call.

    Attributes:
        played: the matches that have ended, pickled, so that nothing of Ray's store stays in use by them.
        state: of the actor.
        is_full: no more may be played before some of it is learned.
    """

    played: bytes
    state: ActorState
    is_full: bool

    def matches(self) -> list[Played]:
        """The matches that have ended, in that order."""
        found: list[Played] = pickle.loads(self.played)
        return found


@dataclass(frozen=True)
class Attached:
    """Report: the actor has its place at a desk."""


@dataclass(frozen=True)
class Stranded:
    """Report: the process that values states for this actor is gone."""


class Playing:
    """An actor; to be made a Ray actor. `begin` comes first."""

    def __init__(self, task: PlayingTask) -> None:
        self._task = task
        self._matches: Matches | None = None
        self._remote: RemoteEngine | None = None
        self._version = 0
        self._sent = 0
        self._waited = 0.0
        self._ended = time.monotonic()

    def begin(self) -> Begun | Failed:
        """Load what is needed to play, unless states are valued elsewhere."""
        yield_to_others()  # the learner may be on this node
        gc.disable()  # as `Matches` does it from time to time
        task = self._task
        if not task.on_gpu:
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
        task.surroundings.enter()
        begun = Begun(socket.gethostname(), ray().get_runtime_context().get_node_id(), os.getpid())
        return begun if task.asks else self._loaded() or begun

    def attach(self, desk: DeskPlan | Failed, place: int) -> Attached | Failed | Stranded:
        """Load what is needed to play, and let states be valued at a desk of this node.

        Args:
            desk: what `Valuing.begin` has answered.
            place: of this actor there.
        """
        if isinstance(desk, Failed):
            return desk
        try:
            self._remote = RemoteEngine(desk, place, self._task.config.engine)
        except ServerGoneError:
            return Stranded()
        return self._loaded() or Attached()

    def _loaded(self) -> Failed | None:
        task = self._task
        try:
            self._matches = Matches(task.game, task.config, task.outcome, pickle.loads(task.kind), self._remote)
        except (AthenanError, MemoryError) as error:
            return Failed.by(error)
        self._ended = time.monotonic()
        return None

    def adapt(self, config: TrainingConfig, progress: float) -> None:
        """Play with other settings of the search, and with another number of games at once, from now on."""
        self._task = replace(self._task, config=replace(config, engine=self._task.config.engine))
        if self._matches is not None:
            self._matches.adapt(config, progress)

    def play(
        self,
        weights: Mapping[str, NDArray[np.generic]] | None,
        version: int,
        progress: float,
        seeds: Sequence[int],
        proofs: Sequence[Any],
        limit: int,
        seconds: float,
    ) -> Turn | Failed | Stranded:
        """Play on for about so many seconds.

        Args:
            weights: to play with from now on, of this version; None: those that are here, which have it, or those by
                which states are valued elsewhere.
            progress: how much of the run lies behind, in [0, 1].
            seeds: of matches to begin, as soon as others have ended.
            proofs: where arrays lie, as for `Matches.know`, each in Ray's store; None: forget those that are known.
            limit: how many matches this actor may have sent in all.
        """
        start = time.monotonic()
        self._waited += start - self._ended
        assert self._matches is not None, "begin comes first"
        try:
            if weights is not None:
                self._version = version
                tensors = {name: torch.tensor(array) for name, array in weights.items()}
                self._matches.load(PublishedWeights(version, tensors), progress)
            for arrays in proofs:
                self._matches.know(None if arrays is None else ray().get(arrays))
            self._matches.plan(seeds)
            played = self._played(self._matches, progress, limit, start + seconds)
        except ServerGoneError:
            return Stranded()
        except (AthenanError, MemoryError) as error:
            return Failed.by(error)
        self._ended = time.monotonic()
        state = self._matches.state(self._version, self._waited)
        return Turn(pickle.dumps(played), state, is_full=self._sent >= limit)

    def _played(self, matches: Matches, progress: float, limit: int, until: float) -> list[Played]:
        played: list[Played] = []
        matches.begin(progress)
        while matches.alive and self._sent < limit and time.monotonic() < until:
            records = matches.advance()
            if self._remote is not None:
                self._version = max(self._version, self._remote.version)
            played += [Played(record, self._version) for record in records]
            self._sent += len(records)
            matches.begin(progress)
        return played


def end_process(number: int) -> None:
    """End a process of this machine, if it is still there."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(number, getattr(signal, "SIGKILL", signal.SIGTERM))
