"""The actors of a run as the learner sees them: processes that it begins, feeds with seeds and weights, and replaces.

1. An actor that ends by itself, or is killed, is replaced by a new one; what it played and had not sent is lost, and
   nothing else. So is one that has not been at work for `workers.patience_seconds`, which is killed first, as is the
   process that values its states, if there is one: it may wait for that.
2. An actor that says why it cannot go on ends the run with that error. So do too many ends within too short a time.
3. An actor plays on while fewer than `pending` of its records are not learned, so with those that end together it has
   at most K - 1 more, and all actors together have at most half of `workers.max_staleness`. The learner waits while an
   actor that plays has weights older than the other half (`lagging`). So no match is learned further than
   `max_staleness` phases from the weights of its last move.
"""

from __future__ import annotations

import contextlib
import pickle
import queue
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing.context import SpawnProcess
from typing import Any

from numpy.typing import NDArray

from athenan_spiel.config import TrainingConfig
from athenan_spiel.errors import ConfigError, LearningError
from athenan_spiel.outcomes import Kind, Outcome
from athenan_spiel.search.proven_states import ResolvedStates
from athenan_spiel.system.machine import cores
from athenan_spiel.system.processes import begin, context
from athenan_spiel.system.stopping import SIGNALS
from athenan_spiel.training.fleet.actors import Bounds
from athenan_spiel.training.fleet.board import ActorState, Board, total
from athenan_spiel.training.fleet.losses import Losses
from athenan_spiel.training.fleet.matches import Failed, Played
from athenan_spiel.training.fleet.pipes import Receiver, Sender, taken
from athenan_spiel.training.fleet.playing import ActorTask, Proofs, Report, Seeds, Settings, play_on
from athenan_spiel.training.fleet.server import Server
from athenan_spiel.training.means import is_shared
from athenan_spiel.training.model import Weights

SPARE = 4
"""Seeds that an actor has beyond those in play, so that it need not wait for the learner."""
BEGINNING_SECONDS = 120.0
"""How long an actor may take to begin, as torch is imported and Java may have to be started."""
NAP_SECONDS = 1.0
"""Where the learner has not listened for so long, actors may have waited for it since."""


@dataclass(eq=False)
class Worker:
    """A process that plays.

    Attributes:
        number: its place on the board.
        begun: when, as `time.monotonic` says.
        owed: seeds given whose matches have not come back.
    """

    number: int
    process: SpawnProcess
    orders: Sender
    begun: float
    owed: int = 0


@dataclass(frozen=True)
class Arrival:
    """A match that has ended, and who played it."""

    worker: Worker
    played: Played


class Fleet:
    """The actors of a run. `start` begins them, `close` ends them.

    Args:
        game: its string.
        kind: what the outcome is made of, where it is code of one's own.
        weights: such as will be published.
        row: the shape of an encoded state, and how many numbers a network answers to one.

    Raises:
        LearningError: there is no memory for what the processes share.
    """

    def __init__(
        self,
        game: str,
        config: TrainingConfig,
        outcome: Outcome,
        kind: Kind | None,
        weights: Weights,
        row: tuple[tuple[int, ...], int],
    ) -> None:
        self._config = config
        workers = config.workers
        bounds = Bounds.of(config)
        self._slack = bounds.slack
        self._listened = self._awake = time.monotonic()
        self._board = Board.new(workers.count + 1, weights)  # the last place is the server's
        threads = config.engine.threads or max(1, cores() // workers.count)
        own = replace(config, engine=replace(config.engine, threads=threads))
        parameters = dict(outcome.parameters)
        self._server: Server | None = None
        if is_shared(config):
            try:
                self._server = Server(game, config, parameters, kind, self._board, row)
            except LearningError:
                self._board.close()
                raise
        self._task = ActorTask(0, game, own, parameters, kind, self._board.plan, None, bounds.pending)
        self._workers: list[Worker] = []
        self._gone = [ActorState()] * workers.count
        self._arrived: deque[Arrival] = deque()
        self._received: queue.SimpleQueue[tuple[Worker, Report | Exception]] = queue.SimpleQueue()
        self._lost = Losses(workers.count)
        self._seeds: Callable[[int], Sequence[int]] = lambda count: []
        self._proven: ResolvedStates | None = None

    def start(self, seeds: Callable[[int], Sequence[int]], proven: ResolvedStates | None = None) -> None:
        """Begin the actors.

        Args:
            seeds: asked for so many seeds of matches; fewer mean that no more are to be begun.
            proven: what who begins is told to be proven, whenever that is; none: such states are not kept.

        Raises:
            LearningError: a process could not be started.
        """
        self._seeds, self._proven = seeds, proven
        for number in range(self._config.workers.count):
            self._workers.append(self._begun(number))

    def publish(self, version: int, weights: Weights, progress: float) -> None:
        """Let all play with these weights from now on; `version` is the number of learning phases behind them."""
        self._board.publish(version, weights, progress)

    def adapt(self, config: TrainingConfig) -> None:
        """Let all play with other settings of the search, and with another number of games at once, from now on."""
        self._config = config
        self._task = replace(self._task, config=replace(config, engine=self._task.config.engine))
        for worker in self._workers:
            worker.orders.send(Settings(config))

    def tell_proofs(self, arrays: Mapping[str, NDArray[Any]] | None) -> None:
        """Let all know these proofs, or forget all that they know."""
        for worker in self._workers:
            worker.orders.send(Proofs(arrays))

    def next(self, seconds: float) -> Arrival | None:
        """The next match that has ended; None if there is none within so many seconds.

        Raises:
            AthenanError: an actor cannot go on, or too many are lost.
        """
        if not self._arrived:
            self.listen(seconds)
        return self._arrived.popleft() if self._arrived else None

    def count_learned(self, arrival: Arrival) -> None:
        """This match is learned, or of no use."""
        number = arrival.worker.number
        if self._workers[number] is arrival.worker:
            self._board.count_learned(number)

    def lagging(self, version: int) -> bool:
        """Whether learning on would take the learner too far from weights that an actor plays with.

        Args:
            version: of the learner's weights.
        """
        return any(state.alive and version - state.version >= self._slack for state in self.states())

    def states(self) -> list[ActorState]:
        """What the actors that have begun have told."""
        found = [self._board.state(worker.number) for worker in self._workers]
        return [state for state in found if state.beat]

    def each(self) -> list[ActorState]:
        """For each worker the sums of what it and those before it in its place have told."""
        return [total([gone, self._board.state(number)]) for number, gone in enumerate(self._gone)]

    def inference(self) -> ActorState | None:
        """The same of the process that values states for all; None where each values its own."""
        return None if self._server is None else self._server.told()

    @property
    def queued(self) -> int:
        """Matches that have come and are not learned."""
        return len(self._arrived)

    @property
    def outstanding(self) -> int:
        """Matches whose seeds are given and that are not learned, but for one that was taken by `next`."""
        return sum(worker.owed for worker in self._workers) + len(self._arrived)

    @property
    def losses(self) -> int:
        """Actors that were lost and replaced."""
        return self._lost.count

    def close(self) -> None:
        """End all processes at once, and drop what they share, all of it if a second Ctrl-C comes meanwhile."""
        with contextlib.ExitStack() as rest:
            rest.callback(self._board.close)
            if self._server is not None:
                rest.callback(self._server.close)
            for worker in self._workers:
                rest.callback(_end, worker)
            self._workers = []

    def _begun(self, number: int) -> Worker:
        self._board.forget(number)
        pipes = context()
        desk = None if self._server is None else self._server.running()
        task = replace(self._task, number=number, desk=desk)
        theirs, orders = pipes.Pipe(duplex=False)
        reports, sent = pipes.Pipe(duplex=False)
        try:
            process = begin(play_on, task, theirs, sent, daemon=True, deaf_to=SIGNALS)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ConfigError.at(
                "workers.count", f"must be 0 with outcome {self._config.outcome!r}, which cannot be sent: {error}"
            ) from None
        except OSError as error:
            raise LearningError(
                f"of {self._config.workers.count} workers {len(self._workers)} could be started ({error.strerror}): "
                "take fewer --workers"
            ) from None
        finally:
            theirs.close()
            sent.close()
        worker = Worker(number, process, Sender(orders), time.monotonic())
        Receiver(reports, lambda report: self._received.put((worker, report)))
        if self._proven is not None:
            worker.orders.send(Proofs(self._proven.to_arrays()))
        self._feed(worker, self._config.matches_at_once + SPARE)
        return worker

    def _feed(self, worker: Worker, count: int) -> None:
        seeds = tuple(self._seeds(count))
        worker.owed += len(seeds)
        if seeds:
            worker.orders.send(Seeds(seeds))

    def listen(self, seconds: float) -> None:
        """Take in what actors report, waiting for it if need be, and replace those that are lost."""
        moment = time.monotonic()
        if moment - self._listened > NAP_SECONDS:  # nobody can have reported in that time
            self._awake = moment
        for worker, report in taken(self._received, seconds):
            if self._workers[worker.number] is not worker:
                continue  # it is replaced, and so are its matches
            if isinstance(report, EOFError | OSError):
                self._replace(worker, f"ended with code {_code(worker.process)}")
                continue
            if isinstance(report, Failed):
                raise report.error
            if isinstance(report, Exception):
                raise report
            worker.owed -= 1
            self._arrived.append(Arrival(worker, report))
            self._feed(worker, 1)
        self._listened = time.monotonic()
        if self._listened - moment > seconds + NAP_SECONDS:  # this process was stopped, and perhaps all of them
            self._awake = self._listened
        self._replace_hung()

    def _replace_hung(self) -> None:
        patience = self._config.workers.patience_seconds
        for worker in list(self._workers):
            beat = self._board.state(worker.number).beat
            silent = self._listened - max(beat or worker.begun, self._awake)
            if silent > (patience if beat else max(patience, BEGINNING_SECONDS)):
                if self._server is not None:
                    self._server.end()
                self._replace(worker, f"has done nothing for {silent:.0f} s")

    def _replace(self, worker: Worker, what: str) -> None:
        """Let another process take the place of one that is lost, with seeds of its own."""
        _end(worker)
        self._lost.add(worker.number, what, worker.owed)
        worker.owed = 0
        told = replace(self._board.state(worker.number), alive=0.0, plies_in_play=0.0)
        self._gone[worker.number] = total([self._gone[worker.number], told])
        self._workers[worker.number] = self._begun(worker.number)


def _end(worker: Worker) -> None:
    worker.process.kill()
    worker.process.join()
    worker.orders.close()


def _code(process: SpawnProcess) -> int | None:
    process.join(1.0)
    return process.exitcode
