"""The actors of a run on a Ray cluster, as the learner sees them.

1. An actor is asked to play on for a while, again and again. Two such calls are under way at each, so that none waits
   for the learner; their answers have the records of the matches that have ended.
2. A call brings seeds, new proofs, and the newest weights if there are newer ones: one object in Ray's store for all.
3. An actor whose process or node is lost, or that has not answered for `workers.patience_seconds`, is replaced by a
   new one: its unfinished matches are lost, and nothing else. One for which there is no room on the cluster yet waits
   for it, and the others play. An error of an actor, or too many losses, end the run.
4. The actors of a place are told how many matches they may have sent in all, so that no more than `Bounds.pending` of
   theirs, and those that end together, wait to be learned. The learner waits while a call is under way whose weights
   are `Bounds.slack` phases old. So no match is learned further than `max_staleness` phases from its last move.
5. Actors belong to this process: they end when it closes them, or is gone.
6. Where states are valued by one process on each node (`Desks`), an actor is told of that of its node before it plays,
   and its weights are those. With one that hangs that process ends as well, as it may be what hangs; with that process
   its actors are lost.
"""

from __future__ import annotations

import contextlib
import logging
import pickle
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from athenan_spiel.config import TrainingConfig
from athenan_spiel.errors import ConfigError
from athenan_spiel.outcomes import Kind, Outcome
from athenan_spiel.search.proven_states import ResolvedStates
from athenan_spiel.system.cluster import Site, Surroundings, last_line, on_node, ray
from athenan_spiel.system.machine import cores
from athenan_spiel.training.actor import PublishedWeights
from athenan_spiel.training.cluster.desks import GPU, Desks, NodeDesk, Stored
from athenan_spiel.training.cluster.playing import (
    Attached,
    Begun,
    Playing,
    PlayingTask,
    Stranded,
    Turn,
    end_process,
)
from athenan_spiel.training.cluster.valuing import ValuingTask
from athenan_spiel.training.cluster.worker import Arrival, Call, Worker
from athenan_spiel.training.fleet.actors import Bounds
from athenan_spiel.training.fleet.board import ActorState, total
from athenan_spiel.training.fleet.losses import Losses
from athenan_spiel.training.fleet.matches import Failed
from athenan_spiel.training.means import is_shared_on_nodes
from athenan_spiel.training.model import Weights

CALLS = 2
"""Under way at each actor."""
CALL_SECONDS = 0.2
"""Of a call, at least: it also takes as long as the learner was away of late, so that both together outlast it."""
MOST_CALL_SECONDS = 2.0
PUT_SECONDS = 0.05
"""Between two versions of the weights in Ray's store, unless the learner gets far ahead."""
NAP_SECONDS = 1.0
"""Where the learner has not listened for so long, answers may have waited for it since."""
ROOM_SECONDS = 30.0
"""After so long it is told, once, that actors have not begun."""
_log = logging.getLogger(__name__)


class Cluster:
    """The actors of a run, in the cluster that this process is in. `Actors` says what its methods promise.

    Args:
        game: its string.
        kind: what the outcome is made of, where it is code of one's own.
        site: the cluster.
        row: the shape of an encoded state, and how many numbers a network answers to one.

    Raises:
        ConfigError: the outcome cannot be sent to them.
    """

    def __init__(
        self,
        game: str,
        config: TrainingConfig,
        outcome: Outcome,
        kind: Kind | None,
        site: Site,
        row: tuple[tuple[int, ...], int],
    ) -> None:
        self._ray = ray()
        self._config = config
        self._bounds = Bounds.of(config)
        count = config.workers.count
        on_gpu = config.engine.name == "cuda"
        threads = config.engine.threads or (max(1, cores() // count) if site.is_own else 1)
        own = replace(config, engine=replace(config.engine, threads=threads))
        try:
            pickled = self._ray.cloudpickle.dumps(kind)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            problem = f"must be one that can be sent to a cluster, got {config.outcome!r}: {error}"
            raise ConfigError.at("outcome", problem) from None
        parameters = dict(outcome.parameters)
        asks, surroundings = is_shared_on_nodes(config), Surroundings.here(site)
        self._task = PlayingTask(game, own, parameters, pickled, surroundings, on_gpu and not asks, asks)
        valuing = ValuingTask(game, config, parameters, pickled, row, surroundings, on_gpu)
        self._desks = Desks(valuing, site) if asks else None
        gpus = GPU if asks else site.resource("GPU")
        self._class = self._ray.remote(Playing).options(
            num_cpus=0 if site.is_own else threads,  # what was started for these actors has room for them all
            num_gpus=min(1.0, int(10_000 * gpus / count) / 10_000) if on_gpu else 0,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
        )
        self._workers: list[Worker] = []
        self._received = [0] * count
        self._learned = [0] * count
        self._gone = [ActorState()] * count
        self._arrived: deque[Arrival] = deque()
        self._lost = Losses(count)
        self._seeds: Callable[[int], Sequence[int]] = lambda count: []
        self._proven: ResolvedStates | None = None
        self._published = PublishedWeights(0, {})
        self._progress = 0.0
        self._stored: Stored | None = None
        self._stored_at = 0.0
        self._started = self._listened = self._awake = time.monotonic()
        self._room_told = False
        self._seconds = CALL_SECONDS

    def start(self, seeds: Callable[[int], Sequence[int]], proven: ResolvedStates | None = None) -> None:
        """Begin the actors."""
        self._seeds, self._proven = seeds, proven
        self._started = time.monotonic()
        for number in range(self._config.workers.count):
            self._workers.append(self._begun(number))

    def publish(self, version: int, weights: Weights, progress: float) -> None:
        """Let all play with these weights from now on."""
        self._published, self._progress = PublishedWeights(version, weights), progress

    def adapt(self, config: TrainingConfig) -> None:
        """Let all play with other settings of the search, and with another number of games at once, from now on."""
        self._config = config
        self._task = replace(self._task, config=replace(config, engine=self._task.config.engine))
        for worker in self._workers:
            worker.actor.adapt.remote(config, self._progress)

    def tell_proofs(self, arrays: Mapping[str, NDArray[Any]] | None) -> None:
        """Let all know these proofs, or forget all that they know."""
        stored = None if arrays is None else self._ray.put(dict(arrays))
        for worker in self._workers:
            if worker.told is not None:  # one that begins is told all that is known then
                worker.proofs.append(stored)

    def next(self, seconds: float) -> Arrival | None:
        """The next match that has ended; None if there is none within so many seconds."""
        self.listen(0.0 if self._arrived else seconds)
        return self._arrived.popleft() if self._arrived else None

    def count_learned(self, arrival: Arrival) -> None:
        """This match is learned, or of no use."""
        self._learned[arrival.worker.number] += 1

    def lagging(self, version: int) -> bool:
        """Whether learning on would take the learner too far from weights that an actor plays with."""
        playing = [worker.calls[0] for worker in self._workers if worker.calls and worker.told is not None]
        return any(version - call.version >= self._bounds.slack for call in playing)

    def listen(self, seconds: float) -> None:
        """Take in what actors answer, waiting for it if need be; ask them to play on; replace those that are lost."""
        moment = time.monotonic()
        away = moment - self._listened
        if away > NAP_SECONDS:  # nobody can have been heard in that time
            self._awake = moment
        self._seconds = min(MOST_CALL_SECONDS, max(CALL_SECONDS, away, 0.9 * self._seconds))
        self._ask()
        asked: dict[Any, Worker | NodeDesk] = {} if self._desks is None else {**self._desks.asked()}
        asked |= {worker.calls[0].answer: worker for worker in self._workers if worker.calls}
        if not asked:
            time.sleep(seconds)
        elif self._ray.wait(list(asked), timeout=seconds)[0]:
            for answer in self._ray.wait(list(asked), num_returns=len(asked), timeout=0)[0]:
                self._take(asked[answer])
            self._ask()
        self._listened = time.monotonic()
        if self._listened - moment > seconds + NAP_SECONDS:  # this process was stopped meanwhile
            self._awake = self._listened
        self._replace_hung()
        self._tell_of_room()

    def states(self) -> list[ActorState]:
        """What the actors that have begun have told."""
        return [worker.state for worker in self._workers if worker.told is not None]

    def each(self) -> list[ActorState]:
        """For each place among the actors the sums of what it and those before it there have told."""
        return [total([gone, worker.state]) for gone, worker in zip(self._gone, self._workers, strict=True)]

    def inference(self) -> ActorState | None:
        """The same of the processes that value states for all of a node; None where each values its own."""
        return None if self._desks is None else self._desks.told()

    def processes(self) -> list[Begun]:
        """Where the actors are that have begun."""
        return [worker.told for worker in self._workers if worker.told is not None]

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
        """End all actors at once."""
        for worker in self._workers:
            self._end(worker)
        self._workers = []
        if self._desks is not None:
            self._desks.close()

    def _begun(self, number: int) -> Worker:
        actor = self._class.remote(self._task)
        worker = Worker(number, actor, self._received[number], time.monotonic())
        worker.calls.append(Call(actor.begin.remote(), 0))
        return worker

    def _ask(self) -> None:
        """Let each actor that has begun have its calls under way, and each desk the newest weights."""
        if self._desks is not None:
            self._desks.publish(self._newest(), self._progress)
        for worker in self._workers:
            while worker.told is not None and len(worker.calls) < CALLS and self._play(worker):
                pass

    def _play(self, worker: Worker) -> bool:
        """Ask an actor to play on, if there is something that it could play."""
        limit = self._learned[worker.number] + self._bounds.pending - worker.before
        if worker.is_full and limit == worker.limit:
            return False
        seeds = self._seeds(max(0, self._config.matches_at_once + self._bounds.pending - worker.owed))
        worker.owed += len(seeds)
        if not worker.owed:
            return False
        stored = self._newest()
        # Who asks a desk is sent weights once, to begin with; its states are valued by those that the desk has taken.
        new = stored.version != worker.version if worker.desk is None else not worker.version
        version = stored.version if worker.desk is None else worker.desk.version
        if not worker.calls:
            worker.heard = time.monotonic()
        answer = worker.actor.play.remote(
            stored.answer if new else None,
            version,
            self._progress,
            tuple(seeds),
            worker.proofs,
            limit,
            self._seconds,
        )
        worker.calls.append(Call(answer, version))
        worker.version, worker.limit, worker.proofs = stored.version, limit, []
        return True

    def _newest(self) -> Stored:
        """Weights in Ray's store: the newest, or those of a moment ago."""
        stored, moment = self._stored, time.monotonic()
        behind = 0 if stored is None else self._published.version - stored.version
        is_due = behind > 0 and moment - self._stored_at >= PUT_SECONDS
        if stored is None or is_due or behind > self._bounds.slack // 2:
            arrays = {name: tensor.detach().cpu().numpy() for name, tensor in self._published.weights.items()}
            stored = self._stored = Stored(self._ray.put(arrays), self._published.version)
            self._stored_at = moment
        return stored

    def _take(self, who: Worker | NodeDesk) -> None:
        if isinstance(who, Worker):
            self._hear(who)
        else:
            assert self._desks is not None, "it is one of them"
            self._desks.hear(who)

    def _hear(self, worker: Worker) -> None:
        call = worker.calls.popleft()
        try:
            report = self._ray.get(call.answer)
        except self._ray.exceptions.RayError as error:
            if worker.told is None:  # perhaps its desk is what was lost
                self._lose_desk(worker)
            failed = isinstance(error, self._ray.exceptions.RayTaskError) or getattr(error, "actor_init_failed", False)
            self._replace(worker, f"failed: {last_line(error)}" if failed else "was lost, with its process or its node")
            return
        worker.heard = time.monotonic()
        if isinstance(report, Failed):
            raise report.error
        if isinstance(report, Stranded):
            self._lose_desk(worker)
            self._replace(worker, "has lost the process that values its states")
            return
        if isinstance(report, Begun):
            worker.begun = report
            if self._desks is not None:
                worker.desk, worker.place = self._desks.place(report.node, self._newest(), self._progress)
                worker.calls.append(Call(worker.actor.attach.remote(worker.desk.plan, worker.place), 0))
                return
        if isinstance(report, Begun | Attached):
            worker.told = worker.begun
            if self._proven is not None:
                worker.proofs.append(self._ray.put(self._proven.to_arrays()))
            return
        assert isinstance(report, Turn)
        worker.state, worker.is_full = report.state, report.is_full
        for played in report.matches():
            worker.owed -= 1
            self._received[worker.number] += 1
            self._arrived.append(Arrival(worker, played))

    def _replace_hung(self) -> None:
        patience = self._config.workers.patience_seconds + self._seconds
        for worker in list(self._workers):
            silent = self._listened - max(worker.heard, self._awake)
            if worker.told is not None and worker.calls and silent > patience:
                self._end_by_node(worker.told)
                self._lose_desk(worker)
                self._replace(worker, f"has not answered for {silent:.0f} s")

    def _replace(self, worker: Worker, what: str) -> None:
        """Let another actor take the place of one that is lost, with seeds of its own."""
        self._end(worker)
        if worker.desk is not None:
            worker.desk.free.add(worker.place)
        where = "" if worker.told is None else f"on {worker.told.host} "
        self._lost.add(worker.number, f"{where}{what}", worker.owed)
        worker.owed = 0
        told = [self._gone[worker.number], replace(worker.state, alive=0.0, plies_in_play=0.0)]
        self._gone[worker.number] = total(told)
        self._workers[worker.number] = self._begun(worker.number)

    def _lose_desk(self, worker: Worker) -> None:
        if self._desks is not None and worker.desk is not None:
            self._desks.lose(worker.desk)

    def _tell_of_room(self) -> None:
        waiting = sum(worker.told is None for worker in self._workers)
        if waiting and not self._room_told and self._listened - self._started > ROOM_SECONDS:
            self._room_told = True
            _log.warning(
                "%d of %d workers have not begun: is there room for them on the cluster?", waiting, len(self._workers)
            )

    def _end_by_node(self, told: Begun) -> None:
        """Let a node end a process that perhaps hears Ray no more, so that its place is free."""
        self._ray.remote(end_process).options(**on_node(told.node)).remote(told.process)

    def _end(self, worker: Worker) -> None:
        with contextlib.suppress(Exception):  # whatever Ray says of an actor that is gone already
            self._ray.kill(worker.actor)
