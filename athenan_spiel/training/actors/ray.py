"""Actors on a Ray cluster: weights are objects in Ray's store, counters come with the answers of calls.

1. The newest weights go to each actor with its next call: one object in Ray's store for all.
2. Where one process on each node evaluates states, it has a worker of its own there (`serve_node`), which holds the
   shared memory that actors of one machine have (`processes`). It starts with the first actor of its node and has as
   many inference slots as actors may be there.
3. If that process is lost, its actors report it and are replaced; the next actor on its node starts another one.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from athenan_spiel.config import TrainingConfig
from athenan_spiel.engines import make_engine
from athenan_spiel.errors import AthenanError
from athenan_spiel.outcomes import Kind, Outcome
from athenan_spiel.system.cluster import Cluster, on_node, ray
from athenan_spiel.system.machine import cores
from athenan_spiel.system.ray_transport import OUTLIVED, TURN_SECONDS, RayMailbox, RayTransport, RayWorker, Stored
from athenan_spiel.system.transport import Lost, Ready
from athenan_spiel.training.actor import PublishedWeights
from athenan_spiel.training.actors.inference import SlotsPlan
from athenan_spiel.training.actors.messages import (
    ActorState,
    ActorTask,
    Failed,
    GamePlayed,
    Loaded,
    NewWeights,
    Order,
    ServerLost,
    total,
)
from athenan_spiel.training.actors.playing import play_on
from athenan_spiel.training.actors.server import InferenceServer
from athenan_spiel.training.actors.shared_memory import dropped_without_us
from athenan_spiel.training.actors.shared_weights import SharedWeights
from athenan_spiel.training.model import Weights
from athenan_spiel.training.preflight import is_shared_on_nodes

PUT_SECONDS = 0.05
"""Minimum time between two versions of the weights in Ray's store, in seconds."""
SERVER_GPU = 0.5
"""GPU fraction of an inference server; all actors together take as much of one, so as to be where there are any."""
_log = logging.getLogger(__name__)


@dataclass(eq=False)
class _NodeServer:
    """What evaluates states on a node.

    Attributes:
        host: name of the node's machine.
        free: inference slots that no actor has.
        plan: how actors reach it; None: it has not started.
        waiting: actors that wait for the plan.
        slots: actors that have slots.
    """

    worker: RayWorker
    host: str
    free: set[int]
    plan: SlotsPlan | None = None
    waiting: list[RayWorker] = field(default_factory=list)
    slots: dict[RayWorker, int] = field(default_factory=dict)


class RayActors:
    """Starts actors on the cluster that this process has joined; see `pool.ActorTransport`.

    Args:
        game: its string.
        kind: what makes the outcome if it is custom code.
        cluster: the cluster.
        row: shape of an encoded state, and number of values in the network's answer to one.

    Raises:
        ConfigError: the outcome cannot be sent to other processes.
    """

    spare: int | None = None
    latency = TURN_SECONDS

    def __init__(
        self,
        game: str,
        config: TrainingConfig,
        outcome: Outcome,
        kind: Kind | None,
        cluster: Cluster,
        row: tuple[tuple[int, ...], int],
    ) -> None:
        self._cluster = cluster
        count = config.workers.count
        self._on_gpu = config.engine.name == "cuda"
        threads = config.engine.threads or (max(1, cores() // count) if cluster.is_own else 1)
        self._server_task = ActorTask(game, config, dict(outcome.parameters), kind)
        self._server_task.require_sendable(ray().cloudpickle.dumps)
        own = replace(config, engine=replace(config.engine, threads=threads))
        self._task = replace(self._server_task, config=own)
        self._row = row
        self._asks = is_shared_on_nodes(config)
        gpus = SERVER_GPU if self._asks else cluster.resource("GPU")
        self._workers = RayTransport(
            cluster,
            num_cpus=0 if cluster.is_own else threads,  # a cluster started for these actors has room for them all
            num_gpus=min(1.0, int(10_000 * gpus / count) / 10_000) if self._on_gpu else 0,
            scheduling_strategy="SPREAD",
        )
        self._servers: dict[str, _NodeServer] = {}
        self._versions: dict[RayWorker, int] = {}
        self._gone = ActorState()
        self._published = PublishedWeights(0, {})
        self._progress = 0.0
        self._stored: tuple[int, Stored] | None = None
        self._max_behind = config.workers.staleness(config.matches_at_once) // 4
        self._stored_at = 0.0

    def start(self, number: int) -> RayWorker:
        """Starts an actor."""
        worker = self._workers.start(play_on_cluster, self._task, self._on_gpu and not self._asks, self._asks)
        self._versions[worker] = 0
        return worker

    def publish(self, version: int, weights: Weights, progress: float) -> None:
        """As `ActorPool.publish`."""
        self._published, self._progress = PublishedWeights(version, weights), progress

    def send(self, message: Any, *workers: RayWorker) -> None:
        """Sends a message to each of `workers`."""
        self._workers.send(message, *workers)

    def poll(self, seconds: float) -> list[tuple[RayWorker, Any]]:
        """Returns messages with their actors."""
        self._send_weights()
        found = []
        for worker, message in self._workers.poll(seconds):
            server = next((server for server in self._servers.values() if server.worker is worker), None)
            if server is not None:
                found += self._hear(server, message)
            elif worker in self._versions:
                is_placed = worker.ready is not message or not self._asks or self._place(worker)
                found += [(worker, message)] if is_placed else []
        return found

    def state(self, worker: RayWorker) -> ActorState:
        """Counters of an actor."""
        return ActorState() if worker.state is None else replace(worker.state, beat=worker.state_at)

    def version(self, worker: RayWorker) -> int:
        """Version of the oldest weights that an actor without games may use if it is sent seeds now."""
        if not self._asks:
            return self._newest()[0]
        for server in self._servers.values():
            if worker in server.slots:
                return 0 if server.worker.state is None else int(server.worker.state.version)
        return self._published.version  # its server is lost, which it finds out when it asks

    def inference(self) -> ActorState | None:
        """Counters of the processes that evaluate states for all actors of a node; None if each evaluates its own."""
        states = [server.worker.state for server in self._servers.values() if server.worker.state is not None]
        return total([self._gone, *states]) if self._asks else None

    def end_server(self, worker: RayWorker) -> None:
        """Ends the process that evaluates the states of this actor, if there is one."""
        for node, server in list(self._servers.items()):
            if worker in server.slots:
                self._end_server(node)

    def kill(self, worker: RayWorker, *, hangs: bool) -> None:
        """Ends an actor at once."""
        for server in self._servers.values():
            if worker in server.slots:
                server.free.add(server.slots.pop(worker))
        del self._versions[worker]
        self._workers.kill(worker, hangs=hangs)

    def close(self) -> None:
        """Ends all actors at once. Waits for inference servers for at most `ray_transport.END_SECONDS`."""
        servers = [server.worker for server in self._servers.values()]
        for worker in list(self._versions):
            if worker not in servers:
                self.kill(worker, hangs=False)
        self._workers.end(*servers)

    def _send_weights(self) -> None:
        """Lets the next call of each worker bring the newest weights."""
        servers = [server.worker for server in self._servers.values()]
        for worker in self._workers.due():
            version, stored = self._newest()
            if version != self._versions[worker]:
                needs = worker in servers or not self._asks or not self._versions[worker]
                self._versions[worker] = version
                message = stored if needs else NewWeights(version, None, self._progress)
                self._workers.send(message, worker, first=True)

    def _newest(self) -> tuple[int, Stored]:
        """Weights in Ray's store: the newest, or those of a moment ago."""
        published, moment = self._published, time.monotonic()
        behind = 0 if self._stored is None else published.version - self._stored[0]
        is_due = behind > 0 and moment - self._stored_at >= PUT_SECONDS
        if self._stored is None or is_due or behind > self._max_behind:
            arrays = {name: tensor.detach().cpu().numpy() for name, tensor in published.weights.items()}
            stored = self._workers.store(NewWeights(published.version, arrays, self._progress))
            self._stored, self._stored_at = (published.version, stored), moment
        return self._stored

    def _place(self, worker: RayWorker) -> bool:
        """Gives an actor that has started an inference slot of its node; returns whether it can play now."""
        assert worker.ready is not None
        node = worker.ready.node
        if node not in self._servers:
            self._servers[node] = self._server(worker.ready)
        server = self._servers[node]
        server.slots[worker] = min(server.free)
        server.free.remove(server.slots[worker])
        if server.plan is None:
            server.waiting.append(worker)
        else:
            self._workers.send((server.plan, server.slots[worker]), worker)
        return server.plan is not None

    def _server(self, where: Ready) -> _NodeServer:
        workers = self._server_task.config.workers
        count = workers.count if self._cluster.is_own else min(workers.count, self._cluster.cores_of(where.node))
        config = replace(self._server_task.config, workers=replace(workers, count=count))
        options = on_node(where.node) | {"num_gpus": SERVER_GPU if self._on_gpu else 0, "runtime_env": OUTLIVED}
        del options["max_retries"]  # an option of tasks
        task = replace(self._server_task, config=config)
        worker = self._workers.start(serve_node, task, self._row, self._on_gpu, **options)
        self._versions[worker] = 0
        return _NodeServer(worker, where.host, set(range(count)))

    def _hear(self, server: _NodeServer, message: Any) -> list[tuple[RayWorker, Any]]:
        """Takes a message of a server; returns those for its actors."""
        if isinstance(message, Failed):
            raise message.error
        if isinstance(message, SlotsPlan):
            server.plan = message
            waiting, server.waiting = [worker for worker in server.waiting if worker in server.slots], []
            for worker in waiting:
                self._workers.send((message, server.slots[worker]), worker)
            return [(worker, worker.ready) for worker in waiting]
        elif isinstance(message, Lost):
            _log.warning("the inference server on %s %s: its workers are replaced", server.host, message.reason)
            self._end_server(next(node for node, other in self._servers.items() if other is server))
            return [(worker, ServerLost()) for worker in server.waiting]
        return []

    def _end_server(self, node: str) -> None:
        server = self._servers.pop(node)
        if server.worker.state is not None:
            self._gone = total([self._gone, server.worker.state])
        del self._versions[server.worker]
        self._workers.end(server.worker)


class _RayLink:
    """See `playing.Link`."""

    def __init__(self, mailbox: RayMailbox) -> None:
        self._mailbox = mailbox
        self._newest: NewWeights | None = None
        self.tell = mailbox.tell

    @property
    def progress(self) -> float:
        """Fraction of the run completed."""
        return 0.0 if self._newest is None else self._newest.progress

    def get(self, seconds: float) -> Order | None:
        """Returns the next order."""
        while isinstance(order := self._mailbox.get(seconds), NewWeights):
            known, seconds = self._newest, 0.0
            self._newest = order if known is None or order.arrays else replace(known, progress=order.progress)
        return order

    def newest(self, version: int) -> PublishedWeights | None:
        """Returns the newest weights."""
        new = self._newest
        if new is None or new.arrays is None or new.version == version:
            return None
        self._newest = replace(new, arrays=None)  # so that they do not stay in Ray's store
        return PublishedWeights(new.version, _tensors(new.arrays))

    def send(self, message: Loaded | GamePlayed | Failed | ServerLost) -> None:
        """Sends a message; games are sent several together."""
        self._mailbox.send(message, urgent=not isinstance(message, GamePlayed))


def play_on_cluster(mailbox: RayMailbox, task: ActorTask, on_gpu: bool, asks: bool) -> None:
    """Plays in a process of a cluster.

    Args:
        on_gpu: it has a part of a GPU.
        asks: states are evaluated elsewhere; the first message is the inference slot.
    """
    if not on_gpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    link = _RayLink(mailbox)
    slot: Any = None
    while asks and slot is None:
        slot = link.get(1.0)
    play_on(link, task, slot)


def serve_node(mailbox: RayMailbox, task: ActorTask, row: tuple[tuple[int, ...], int], on_gpu: bool) -> None:
    """Evaluates states for the actors of a node by an `InferenceServer`, until the mailbox is closed.

    If this process is ended, the server ends by itself, and `dropped_without_us` frees the shared memory, as Ray ends
    all processes of this one's group.

    Args:
        task: `workers.count` is the number of inference slots.
        row: as for `RayActors`.
    """
    if not on_gpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    with contextlib.ExitStack() as last, contextlib.ExitStack() as first:
        try:
            make_engine(task.config.engine, row[0])  # raises if its device or its package is missing
            new: NewWeights | None = None
            while new is None:
                new = mailbox.get(1.0)
            shared = SharedWeights.new(task.config.workers.count + 1, _tensors(new.arrays))
            first.callback(shared.close)
            shared.publish(new.version, _tensors(new.arrays), new.progress)
            server = InferenceServer(task, shared, row)
            first.callback(server.close)
            plan = server.running()
            dropping = last.enter_context(dropped_without_us(shared.plan.name, plan.name))
            assert dropping.stdin is not None
            last.callback(dropping.stdin.close)
            mailbox.tell(replace(server.state(), version=shared.version))
            mailbox.send(plan)
            while True:
                if (new := mailbox.get(TURN_SECONDS)) is not None:
                    shared.publish(new.version, _tensors(new.arrays), new.progress)
                mailbox.tell(replace(server.state(), version=shared.version))
                if new is not None:
                    mailbox.is_due.set()  # the next ones may come
        except (AthenanError, MemoryError) as error:
            mailbox.send(Failed.by(error))


def _tensors(arrays: Mapping[str, NDArray[np.generic]] | None) -> dict[str, torch.Tensor]:
    assert arrays is not None, "a server is always sent weights"
    return {name: torch.tensor(array) for name, array in arrays.items()}
