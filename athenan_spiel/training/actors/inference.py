"""Inference server: a process that merges the requests of all actors into batches for one device.

1. An actor has inference slots in shared memory, one for each pending request. It writes the rows of a request to a
   slot and sends the number of the slot through a socket. The reply comes in the same way.
2. All pending requests are evaluated in one batch, the oldest first, up to about `MAX_BATCH_ROWS` rows.
3. Before each batch the newest shared weights are loaded. A reply contains their version.
4. An actor that replaces another one uses its slots. When the server ends, the actors that use it end, too.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Client, Connection, Listener, wait
from multiprocessing.shared_memory import SharedMemory
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.config import EngineConfig
from athenan_spiel.engines.base import Answers, Deferred, Pending, check_rows
from athenan_spiel.errors import EvaluatorError
from athenan_spiel.games import load_game
from athenan_spiel.outcomes import outcome_from_parameters
from athenan_spiel.system.transport import Mailbox
from athenan_spiel.training.actors.messages import ActorState, ActorTask
from athenan_spiel.training.actors.shared_memory import attached, release, shared_memory
from athenan_spiel.training.actors.shared_weights import SharedWeights, WeightsPlan
from athenan_spiel.training.model import load_weights, make_model
from athenan_spiel.training.preflight import ROWS, SLOTS, slot_bytes

if TYPE_CHECKING:
    from athenan_spiel.networks import ValueNetwork

MAX_BATCH_ROWS = 8192
"""Number of rows at which a batch gets no further requests."""
POLL_SECONDS = 0.05
"""Time between two checks for new connections, in seconds."""
FAMILY = "AF_UNIX"


@dataclass(frozen=True)
class SlotsPlan:
    """Location of the inference slots. Can be pickled for another process.

    Attributes:
        name: name of the shared memory.
        actors: number of actors with slots.
        shape: shape of an encoded state.
        width: number of values in the reply for one state.
        address, key: address of the socket, and its authentication key.
    """

    name: str
    actors: int
    shape: tuple[int, ...]
    width: int
    address: str
    key: bytes


class Slots:
    """Inference slots of all actors.

    Attributes:
        rows: float32 [actors, SLOTS, ROWS, *shape].
        answers: float32 [actors, SLOTS, ROWS, width].
        marks: int64 [actors, SLOTS, 2], the number of rows and the version of the weights of the reply.
    """

    def __init__(self, plan: SlotsPlan, memory: SharedMemory | None = None) -> None:
        self._is_own = memory is not None
        self._memory = attached(plan.name) if memory is None else memory
        size, count = int(np.prod(plan.shape)), plan.actors * SLOTS
        buffer, end = self._memory.buf, 4 * count * ROWS * size
        self.rows = np.ndarray((plan.actors, SLOTS, ROWS, *plan.shape), np.float32, buffer, 0)
        self.answers = np.ndarray((plan.actors, SLOTS, ROWS, plan.width), np.float32, buffer, end)
        marks = end + 4 * count * ROWS * plan.width
        self.marks = np.ndarray((plan.actors, SLOTS, 2), np.int64, buffer, marks)

    @staticmethod
    def memory(actors: int, shape: Sequence[int], width: int) -> SharedMemory:
        """Allocates memory for the slots of `actors` actors.

        Raises:
            LearningError: there is not enough memory.
        """
        return shared_memory(slot_bytes(actors, shape, width))

    def close(self) -> None:
        """Closes the memory; the process that allocated it also frees it.

        May be called again, for example after an interruption by Ctrl-C.
        """
        for view in ("rows", "answers", "marks"):
            self.__dict__.pop(view, None)
        release(self._memory, drop=self._is_own)


class ServerGoneError(EvaluatorError):
    """The inference server is lost."""

    def __init__(self) -> None:
        super().__init__("the inference server of the workers has ended")


@dataclass(eq=False)
class _Request:
    """A request. `answers` is None until the reply was copied, which frees the slot."""

    slot: int
    answers: Answers | None = None


class RemoteEngine:
    """Engine that sends its requests to the inference server; see `Engine` for its guarantees.

    It uses the shared weights, so `load` has no effect. Guarantee 1 of `Engine` is weaker: only up to `ROWS` rows are
    evaluated with one version of the weights.

    Args:
        actor: number of the actor whose slots it uses.
        config: settings of the server's engine.

    Attributes:
        version: version of the weights of the last reply.

    Raises:
        ServerGoneError: the server has ended. `infer`, `start` and results of `start` raise it, too.
    """

    def __init__(self, plan: SlotsPlan, actor: int, config: EngineConfig) -> None:
        self.config = config
        self.version = 0
        self._shape = plan.shape
        try:
            self._slots = Slots(plan)
        except OSError as error:
            raise ServerGoneError from error
        self._actor = actor
        self._free = deque(range(SLOTS))
        self._pending: list[_Request] = []  # the oldest first
        self._answered: set[int] = set()
        try:
            self._socket = Client(plan.address, FAMILY, authkey=plan.key)
            self._socket.send(actor)
        except (OSError, EOFError) as error:
            raise ServerGoneError from error

    @property
    def name(self) -> str:
        """Description of the engine."""
        return "an inference server for all workers"

    def load(self, network: ValueNetwork) -> None:
        """Does nothing, as the server loads the shared weights."""

    def infer(self, batch: NDArray[np.float32]) -> Answers:
        """As `Engine.infer`."""
        return self.start(batch).result()

    def start(self, batch: NDArray[np.float32]) -> Pending[Answers]:
        """As `Engine.start`."""
        check_rows(self.name, self._shape, batch)
        if not len(batch) or not self._free:
            return Deferred(lambda: self._in_parts(batch))
        first = self._send(batch[:ROWS])
        return Deferred(lambda: self._finished(first, batch))

    def _finished(self, first: _Request, batch: NDArray[np.float32]) -> Answers:
        answers = self._received(first)
        if len(batch) <= ROWS:
            return answers
        return np.concatenate([answers, self._in_parts(batch[ROWS:])])

    def _in_parts(self, batch: NDArray[np.float32]) -> Answers:
        """Returns the answers to a batch that is sent in parts, one after the other."""
        parts = [batch[start : start + ROWS] for start in range(0, len(batch), ROWS)]
        found = [self._received(self._send(part)) for part in parts]
        return (
            np.concatenate(found) if found else self._shaped(np.empty((0, self._slots.answers.shape[-1]), np.float32))
        )

    def _send(self, rows: NDArray[np.float32]) -> _Request:
        """Sends a request in a free slot. If there is none, it waits for the answers to the oldest request."""
        if not self._free:
            self._received(self._pending[0])
        request = _Request(self._free.popleft())
        self._slots.rows[self._actor, request.slot, : len(rows)] = rows
        self._slots.marks[self._actor, request.slot, 0] = len(rows)
        try:
            self._socket.send_bytes(bytes([request.slot]))
        except OSError as error:
            raise ServerGoneError from error
        self._pending.append(request)
        return request

    def _received(self, request: _Request) -> Answers:
        """Waits for the answers to a request, frees its slot and returns the answers."""
        if request.answers is not None:
            return request.answers
        slot = request.slot
        try:
            while slot not in self._answered:
                self._answered.add(self._socket.recv_bytes()[0])
        except (OSError, EOFError) as error:
            raise ServerGoneError from error
        self._answered.remove(slot)
        count, self.version = self._slots.marks[self._actor, slot].tolist()
        request.answers = self._shaped(self._slots.answers[self._actor, slot, :count].copy())
        self._pending.remove(request)
        self._free.append(slot)
        return request.answers

    def _shaped(self, answers: NDArray[np.float32]) -> Answers:
        return answers[:, 0] if answers.shape[1] == 1 else answers


def serve(mailbox: Mailbox, task: ActorTask, weights: WeightsPlan, slots: SlotsPlan) -> None:
    """Answers requests until the process is killed; sends a message as soon as actors can connect."""
    listener = Listener(slots.address, FAMILY, backlog=max(16, slots.actors), authkey=slots.key)
    mailbox.send("listening")
    _Server(task, weights, slots, listener).serve()


class _Server:
    """Answers the requests of all slots."""

    def __init__(self, task: ActorTask, weights: WeightsPlan, slots: SlotsPlan, listener: Listener) -> None:
        outcome = outcome_from_parameters(task.config.outcome, task.outcome, task.kind)
        self._model = make_model(load_game(task.game), task.config, outcome)
        self._weights = SharedWeights(weights)
        self._slots = Slots(slots)
        self._number = slots.actors  # its counters are stored after those of the actors
        self._version = self._evaluations = self._calls = 0
        self._actors: dict[Connection, int] = {}
        self._connected: deque[tuple[Connection, int]] = deque()
        threading.Thread(target=self._accept, args=(listener,), name="actors", daemon=True).start()

    def serve(self) -> None:
        waiting: deque[tuple[int, int]] = deque()
        while True:
            while self._connected:
                socket, actor = self._connected.popleft()
                self._actors[socket] = actor
            for ready in wait([*self._actors], 0.0 if waiting else POLL_SECONDS):
                waiting.extend(self._requests(ready))  # type: ignore[arg-type]
            if waiting:
                self._answer(waiting)

    def _accept(self, listener: Listener) -> None:
        while True:
            with contextlib.suppress(OSError, EOFError):
                socket = listener.accept()
                self._connected.append((socket, int(socket.recv())))

    def _requests(self, socket: Connection) -> list[tuple[int, int]]:
        """Returns the requests that have arrived from an actor, as (actor, slot)."""
        actor, slots = self._actors[socket], []
        try:
            while socket.poll():
                slots.append((actor, socket.recv_bytes()[0]))
        except (OSError, EOFError):
            del self._actors[socket]
        return slots

    def _answer(self, waiting: deque[tuple[int, int]]) -> None:
        """Answers the oldest requests in one batch."""
        self._load()
        chosen, count = [], 0
        while waiting and count < MAX_BATCH_ROWS:
            slot = waiting.popleft()
            chosen.append(slot)
            count += int(self._slots.marks[slot][0])
        requests = [self._slots.rows[slot][: self._slots.marks[slot][0]] for slot in chosen]
        batch = requests[0] if len(requests) == 1 else np.concatenate(requests)
        answers = self._model.evaluator.engine.infer(batch).reshape(len(batch), -1)
        self._evaluations += len(batch)
        self._calls += 1
        self._report()
        sockets = {actor: socket for socket, actor in self._actors.items()}
        start = 0
        for (actor, number), rows in zip(chosen, requests, strict=True):
            end = start + len(rows)
            self._slots.answers[actor, number, : len(rows)] = answers[start:end]
            self._slots.marks[actor, number, 1] = self._version
            start = end
            with contextlib.suppress(OSError, KeyError):
                sockets[actor].send_bytes(bytes([number]))

    def _report(self) -> None:
        state = ActorState(
            beat=time.monotonic(),
            version=self._version,
            evaluations=self._evaluations,
            calls=self._calls,
            busy=time.process_time(),
        )
        self._weights.tell(self._number, state)

    def _load(self) -> None:
        if self._weights.version != self._version:
            self._version, weights = self._weights.read()
            load_weights(self._model.network, weights)
            self._model.evaluator.load(self._model.network)
