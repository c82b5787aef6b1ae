"""What runs in the process of an actor: it plays match after match, side by side, until the learner is gone.

1. As soon as a match has ended, its record is sent and the next seed begun; there are no rounds.
2. Between two batches of states it takes the newest weights, if there are newer ones, `LOAD_SECONDS` after the last:
   an engine takes some milliseconds for them, and a large fleet makes new ones all the time.
3. It plays on while fewer than `ActorTask.pending` of its records wait to be learned; else it waits.
4. It ends when the learner says so or is gone, whatever it is doing then.
"""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from numpy.typing import NDArray

from athenan_spiel.config import TrainingConfig
from athenan_spiel.errors import AthenanError
from athenan_spiel.outcomes import Kind
from athenan_spiel.play.driver import without_garbage_collection
from athenan_spiel.system.machine import yield_to_others
from athenan_spiel.training.actor import MatchRecord, PublishedWeights
from athenan_spiel.training.fleet.board import Board, BoardPlan
from athenan_spiel.training.fleet.inference import DeskPlan, RemoteEngine, ServerGoneError
from athenan_spiel.training.fleet.matches import Failed, Matches, Played
from athenan_spiel.training.fleet.pipes import Receiver, Sender

WITHOUT_SERVER = 3
"""The exit code of an actor whose states nobody values any more."""
LOAD_SECONDS = 0.05
WAIT_SECONDS = 0.002
"""Between two looks of an actor that waits for the learner."""


@dataclass(frozen=True)
class ActorTask:
    """What an actor is told when it begins; may be sent to another process.

    Attributes:
        number: its place on the board.
        pending: the most of its records that wait to be learned while it plays on.
        outcome: the parameters of the run's outcome.
        kind: what the outcome is made of, where it is code of one's own.
        desk: where states are valued; None: here.
    """

    number: int
    game: str
    config: TrainingConfig
    outcome: Mapping[str, Any]
    kind: Kind | None
    board: BoardPlan
    desk: DeskPlan | None
    pending: int


@dataclass(frozen=True)
class Seeds:
    """Order: matches to begin, as soon as others have ended."""

    seeds: tuple[int, ...]


@dataclass(frozen=True)
class Proofs:
    """Order: states proven in matches that are learned, to be known from now on; None: forget all that are known."""

    arrays: Mapping[str, NDArray[Any]] | None


@dataclass(frozen=True)
class Settings:
    """Order: settings of the search, and a number of games at once, to play with from now on."""

    config: TrainingConfig


Order = Seeds | Proofs | Settings
Report = Played | Failed


def play_on(task: ActorTask, orders: Connection, reports: Connection) -> None:
    """Play until `orders` has ended; the process ends then."""
    yield_to_others()  # so that the learner, whom all wait for in the end, has a core whenever it wants one
    heard: queue.SimpleQueue[Order] = queue.SimpleQueue()

    def hear(order: Order | Exception) -> None:
        if isinstance(order, Exception):
            os._exit(0)  # the learner is gone, and with it whoever wanted what is under way
        heard.put(order)

    Receiver(orders, hear)
    sender = Sender(reports, Failed.by)
    try:
        board = Board(task.board)
    except FileNotFoundError:
        os._exit(0)  # the learner has ended before this process had begun, and dropped it
    try:
        with without_garbage_collection():
            _Playing(task, board, heard, sender).play()
    except ServerGoneError:
        os._exit(WITHOUT_SERVER)  # so another actor takes this one's place, and another server that one's
    except (AthenanError, MemoryError) as error:
        sender.send(Failed.by(error))
        sender.close()


class _Playing:
    """An actor at work."""

    def __init__(self, task: ActorTask, board: Board, heard: queue.SimpleQueue[Order], sender: Sender) -> None:
        self._task = task
        self._heard = heard
        self._sender = sender
        self._board = board
        self._remote = None if task.desk is None else RemoteEngine(task.desk, task.number, task.config.engine)
        self._matches = Matches(task.game, task.config, task.outcome, task.kind, self._remote)
        self._sent = 0
        self._version = 0
        self._loaded = 0.0
        self._waited = 0.0

    def play(self) -> None:
        """Play on for ever."""
        board, matches = self._board, self._matches
        while not board.version:
            time.sleep(WAIT_SECONDS)
        self._version, weights = board.read()
        matches.load(PublishedWeights(self._version, weights), board.progress)
        while True:
            self._obey()
            matches.begin(board.progress)
            self._load()
            if matches.alive and self._sent - board.learned(self._task.number) < self._task.pending:
                self._send(matches.advance())
            else:
                self._wait()
            board.tell(self._task.number, matches.state(self._version, self._waited))

    def _obey(self) -> None:
        while not self._heard.empty():
            order = self._heard.get()
            if isinstance(order, Seeds):
                self._matches.plan(order.seeds)
            elif isinstance(order, Settings):
                self._matches.adapt(order.config, self._board.progress)
            else:
                self._matches.know(order.arrays)

    def _load(self) -> None:
        board = self._board
        if self._remote is not None:  # whose weights are loaded elsewhere
            self._version = max(self._version, self._remote.version)
        elif board.version != self._version and time.monotonic() - self._loaded > LOAD_SECONDS:
            self._loaded = time.monotonic()
            self._version, weights = board.read()
            self._matches.load(PublishedWeights(self._version, weights), board.progress)

    def _send(self, records: Sequence[MatchRecord]) -> None:
        for record in records:
            self._sent += 1
            version = self._version if self._remote is None else self._remote.version
            self._sender.send(Played(record, version))

    def _wait(self) -> None:
        start = time.monotonic()
        time.sleep(WAIT_SECONDS)
        self._waited += time.monotonic() - start
