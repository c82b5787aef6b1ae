"""One process that values states for all actors: what they ask is merged into batches for one device.

1. An actor has places in shared memory, one for each question that it may have under way. It writes the rows of a
   question into one and names it through a socket; the answer comes the same way. So only names are sent.
2. Whatever questions are there are answered together, those that have waited longest first, up to `MOST_ROWS` rows.
3. Before each batch the newest weights are taken from the board; an answer says of which version it is.
4. An actor that ends leaves its places to the one that comes after it. When this process ends, the actors do.
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

from athenan_spiel.config import EngineConfig, TrainingConfig
from athenan_spiel.engines.base import Answers, Deferred, Pending, check_rows
from athenan_spiel.errors import EvaluatorError
from athenan_spiel.games import load_game
from athenan_spiel.outcomes import Kind, Outcome, outcome_from_parameters
from athenan_spiel.training.fleet.board import ActorState, Board, BoardPlan
from athenan_spiel.training.fleet.shared import attached, let_go, shared_memory
from athenan_spiel.training.means import PLACES, ROWS, desk_bytes
from athenan_spiel.training.model import load_weights, make_model

if TYPE_CHECKING:
    from athenan_spiel.networks import ValueNetwork

MOST_ROWS = 8192
"""Of a batch."""
LOOK_SECONDS = 0.05
"""Between two looks at whether an actor has come."""
FAMILY = "AF_UNIX"


@dataclass(frozen=True)
class DeskPlan:
    """Where the places are; may be sent to another process.

    Attributes:
        name: of the shared memory.
        actors: how many have places.
        shape: of an encoded state.
        width: numbers in the answer to one.
        address, key: of the socket, and what who connects must know.
    """

    name: str
    actors: int
    shape: tuple[int, ...]
    width: int
    address: str
    key: bytes


class Desk:
    """The places of all actors: `rows`, `answers` and `marks` of each, by actor and place.

    Attributes:
        questions: float32 [actors, PLACES, ROWS, *shape].
        answers: float32 [actors, PLACES, ROWS, width].
        marks: int64 [actors, PLACES, 2], the number of rows and the version of the answer's weights.
    """

    def __init__(self, plan: DeskPlan, memory: SharedMemory | None = None) -> None:
        self._is_own = memory is not None
        self._memory = attached(plan.name) if memory is None else memory
        size, count = int(np.prod(plan.shape)), plan.actors * PLACES
        buffer, end = self._memory.buf, 4 * count * ROWS * size
        self.questions = np.ndarray((plan.actors, PLACES, ROWS, *plan.shape), np.float32, buffer, 0)
        self.answers = np.ndarray((plan.actors, PLACES, ROWS, plan.width), np.float32, buffer, end)
        marks = end + 4 * count * ROWS * plan.width
        self.marks = np.ndarray((plan.actors, PLACES, 2), np.int64, buffer, marks)

    @staticmethod
    def memory(actors: int, shape: Sequence[int], width: int) -> SharedMemory:
        """Memory for the places of so many actors.

        Raises:
            LearningError: there is not enough.
        """
        return shared_memory(desk_bytes(actors, shape, width))

    def close(self) -> None:
        """Let go of the memory; who made it drops it for all.

        It may be called again, as where a Ctrl-C broke it off.
        """
        for view in ("questions", "answers", "marks"):
            self.__dict__.pop(view, None)
        let_go(self._memory, drop=self._is_own)


class ServerGoneError(EvaluatorError):
    """The process that values states is gone."""

    def __init__(self) -> None:
        super().__init__("the process that values states for the workers is gone")


@dataclass(eq=False)
class _Question:
    """One that was asked from a place, and its answer once it has left that."""

    place: int
    answers: Answers | None = None


class RemoteEngine:
    """An engine whose network is in the process that serves a desk; `Engine` numbers what it promises.

    Its weights are those of the board, so `load` changes nothing. Of promise 1 there remains that a batch of no more
    than `ROWS` is answered by weights of one version, which `version` tells.

    Args:
        actor: whose places it uses.
        config: of the engine that answers.

    Attributes:
        version: of the weights of the last answer.

    Raises:
        ServerGoneError: there is nobody to answer; so do its methods.
    """

    def __init__(self, plan: DeskPlan, actor: int, config: EngineConfig) -> None:
        self.config = config
        self.version = 0
        self._shape = plan.shape
        try:
            self._desk = Desk(plan)
        except OSError as error:
            raise ServerGoneError from error
        self._actor = actor
        self._free = deque(range(PLACES))
        self._asked: list[_Question] = []
        self._answered: set[int] = set()
        try:
            self._socket = Client(plan.address, FAMILY, authkey=plan.key)
            self._socket.send(actor)
        except (OSError, EOFError) as error:
            raise ServerGoneError from error

    @property
    def name(self) -> str:
        """What it is."""
        return "a process for all workers"

    def load(self, network: ValueNetwork) -> None:
        """Nothing: the board has the weights."""

    def infer(self, batch: NDArray[np.float32]) -> Answers:
        """As `Engine.infer`."""
        return self.start(batch).result()

    def start(self, batch: NDArray[np.float32]) -> Pending[Answers]:
        """As `Engine.start`."""
        check_rows(self.name, self._shape, batch)
        if not len(batch) or not self._free:
            return Deferred(lambda: self._in_parts(batch))
        first = self._ask(batch[:ROWS])
        return Deferred(lambda: self._finished(first, batch))

    def _finished(self, first: _Question, batch: NDArray[np.float32]) -> Answers:
        answers = self._taken(first)
        if len(batch) <= ROWS:
            return answers
        return np.concatenate([answers, self._in_parts(batch[ROWS:])])

    def _in_parts(self, batch: NDArray[np.float32]) -> Answers:
        """The answers to parts of a batch, one after the other."""
        parts = [batch[start : start + ROWS] for start in range(0, len(batch), ROWS)]
        found = [self._taken(self._ask(part)) for part in parts]
        return np.concatenate(found) if found else self._shaped(np.empty((0, self._desk.answers.shape[-1]), np.float32))

    def _ask(self, rows: NDArray[np.float32]) -> _Question:
        """Ask from a place that is free; if none is, the question that was asked first leaves its own."""
        if not self._free:
            self._taken(self._asked[0])
        question = _Question(self._free.popleft())
        self._desk.questions[self._actor, question.place, : len(rows)] = rows
        self._desk.marks[self._actor, question.place, 0] = len(rows)
        try:
            self._socket.send_bytes(bytes([question.place]))
        except OSError as error:
            raise ServerGoneError from error
        self._asked.append(question)
        return question

    def _taken(self, question: _Question) -> Answers:
        """The answer to a question, waited for; its place is free then."""
        if question.answers is not None:
            return question.answers
        place = question.place
        try:
            while place not in self._answered:
                self._answered.add(self._socket.recv_bytes()[0])
        except (OSError, EOFError) as error:
            raise ServerGoneError from error
        self._answered.remove(place)
        count, self.version = self._desk.marks[self._actor, place].tolist()
        question.answers = self._shaped(self._desk.answers[self._actor, place, :count].copy())
        self._asked.remove(question)
        self._free.append(place)
        return question.answers

    def _shaped(self, answers: NDArray[np.float32]) -> Answers:
        return answers[:, 0] if answers.shape[1] == 1 else answers


@dataclass(frozen=True)
class ServerTask:
    """What the process is told when it begins; may be sent there.

    Attributes:
        outcome: the run's, as its parameters.
        kind: what it is made of, where it is code of one's own.
    """

    game: str
    config: TrainingConfig
    outcome: dict[str, object]
    kind: Kind | None
    board: BoardPlan
    desk: DeskPlan


def serve(task: ServerTask, listening: Connection) -> None:
    """Answer until the process is ended; `listening` is told once actors may come, and ends with who began it."""
    listener = Listener(task.desk.address, FAMILY, backlog=max(16, task.desk.actors), authkey=task.desk.key)
    listening.send(True)
    outcome: Outcome = outcome_from_parameters(task.config.outcome, task.outcome, task.kind)  # type: ignore[arg-type]
    _Server(task, outcome, listener, listening).serve()


class _Server:
    """Answers the questions at a desk."""

    def __init__(self, task: ServerTask, outcome: Outcome, listener: Listener, parent: Connection) -> None:
        self._model = make_model(load_game(task.game), task.config, outcome)
        self._board = Board(task.board)
        self._desk = Desk(task.desk)
        self._version = 0
        self._place = task.config.workers.count
        self._evaluations = self._calls = 0
        self._parent = parent
        self._actors: dict[Connection, int] = {}
        self._come: deque[tuple[Connection, int]] = deque()
        threading.Thread(target=self._welcome, args=(listener,), name="actors", daemon=True).start()

    def serve(self) -> None:
        """Answer for ever, until who began this process is gone."""
        waiting: deque[tuple[int, int]] = deque()
        while True:
            while self._come:
                socket, actor = self._come.popleft()
                self._actors[socket] = actor
            for ready in wait([self._parent, *self._actors], 0.0 if waiting else LOOK_SECONDS):
                if ready is self._parent:
                    return
                waiting.extend(self._heard(ready))  # type: ignore[arg-type]
            if waiting:
                self._answer(waiting)

    def _welcome(self, listener: Listener) -> None:
        while True:
            with contextlib.suppress(OSError, EOFError):
                socket = listener.accept()
                self._come.append((socket, int(socket.recv())))

    def _heard(self, socket: Connection) -> list[tuple[int, int]]:
        """What an actor asks now, as (actor, place)."""
        actor, places = self._actors[socket], []
        try:
            while socket.poll():
                places.append((actor, socket.recv_bytes()[0]))
        except (OSError, EOFError):
            del self._actors[socket]
        return places

    def _answer(self, waiting: deque[tuple[int, int]]) -> None:
        """Answer those that have waited longest, as many as make a batch."""
        self._load()
        asked, rows = [], 0
        while waiting and rows < MOST_ROWS:
            place = waiting.popleft()
            asked.append(place)
            rows += int(self._desk.marks[place][0])
        questions = [self._desk.questions[place][: self._desk.marks[place][0]] for place in asked]
        batch = questions[0] if len(questions) == 1 else np.concatenate(questions)
        answers = self._model.evaluator.engine.infer(batch).reshape(len(batch), -1)
        self._evaluations += len(batch)
        self._calls += 1
        self._tell()
        sockets = {actor: socket for socket, actor in self._actors.items()}
        start = 0
        for (actor, number), question in zip(asked, questions, strict=True):
            end = start + len(question)
            self._desk.answers[actor, number, : len(question)] = answers[start:end]
            self._desk.marks[actor, number, 1] = self._version
            start = end
            with contextlib.suppress(OSError, KeyError):
                sockets[actor].send_bytes(bytes([number]))

    def _tell(self) -> None:
        state = ActorState(
            beat=time.monotonic(),
            version=self._version,
            evaluations=self._evaluations,
            calls=self._calls,
            busy=time.process_time(),
        )
        self._board.tell(self._place, state)

    def _load(self) -> None:
        if self._board.version != self._version:
            self._version, weights = self._board.read()
            load_weights(self._model.network, weights)
            self._model.evaluator.load(self._model.network)
