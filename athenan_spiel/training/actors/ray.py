"""Actors on a Ray cluster: weights are objects in Ray's store, counters come with the results of remote calls.

1. The newest weights are sent to each actor with its next call. They are one object in Ray's store for all actors.
2. If each node has an inference server, a separate Ray worker on the node runs it (`serve_node`) and owns the shared
   memory of the node's actors, as in `processes`. It starts with the first actor of its node and has slots for all
   actors that the node has room for.
3. If a server is lost, its actors report it and are replaced. The next actor on the node starts another server.
"""

from __future__ import annotations

import contextlib
import functools
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
from athenan_spiel.system.transport import Lost, Ready, Receive
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
"""GPU fraction of an inference server.

Its actors together reserve the same amount, so that Ray starts them on nodes with GPUs."""
_log = logging.getLogger(__name__)


@dataclass(eq=False)
class _NodeServer:
    """Inference server of a node.

    Attributes:
        worker: Ray worker that runs it.
        host: host name of the node.
        free: free inference slots.
        plan: location of its slots; None: it has not started.
        waiting: actors that wait for the plan.
        slots: inference slot of each actor.
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
        game: OpenSpiel string of the game.
        kind: function or class of the outcome if it is custom code.
        cluster: the cluster.
        row: shape of an encoded state, and number of values in the network's output for one state.

    Raises:
        ConfigError: the outcome cannot be pickled.
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
        actor_config = replace(config, engine=replace(config.engine, threads=threads))
        self._task = replace(self._server_task, config=actor_config)
        self._row = row
        self._has_servers = is_shared_on_nodes(config)
        gpus = SERVER_GPU if self._has_servers else cluster.resource("GPU")
        self._workers = RayTransport(
            cluster,
            num_cpus=0 if cluster.is_own else threads,  # a cluster started for this run has room for all actors
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
        worker = self._workers.start(
            play_on_cluster, self._task, self._on_gpu and not self._has_servers, self._has_servers
        )
        self._versions[worker] = 0
        return worker

    def publish(self, version: int, weights: Weights, progress: float) -> None:
        """As `ActorPool.publish`."""
        self._published, self._progress = PublishedWeights(version, weights), progress

    def send(self, message: Any, *workers: RayWorker) -> None:
        """Sends a message to each of `workers`."""
        self._workers.send(message, *workers)

    def poll(self, seconds: float, receive: Receive[RayWorker]) -> None:
        """As `WorkerTransport.poll`, without the messages of inference servers."""
        self._send_weights()
        self._workers.poll(seconds, functools.partial(self._deliver, receive))

    def _deliver(self, receive: Receive[RayWorker], worker: RayWorker, message: Any) -> None:
        server = next((server for server in self._servers.values() if server.worker is worker), None)
        if server is not None:
            for actor, answer in self._receive(server, message):
                receive(actor, answer)
        elif worker in self._versions and (worker.ready is not message or not self._has_servers or self._place(worker)):
            receive(worker, message)

    def state(self, worker: RayWorker) -> ActorState:
        """Counters of an actor."""
        return ActorState() if worker.state is None else replace(worker.state, beat=worker.state_at)

    def version(self, worker: RayWorker) -> int:
        """Version of the oldest weights that an actor without games may use if it is sent seeds now."""
        if not self._has_servers:
            return self._newest()[0]
        for server in self._servers.values():
            if worker in server.slots:
                return 0 if server.worker.state is None else int(server.worker.state.version)
        return self._published.version  # its server is lost; the actor reports that after its next request

    def inference(self) -> ActorState | None:
        """Returns the summed counters of all inference servers; None if each actor evaluates states itself."""
        states = [server.worker.state for server in self._servers.values() if server.worker.state is not None]
        return total([self._gone, *states]) if self._has_servers else None

    def end_server(self, worker: RayWorker) -> None:
        """Ends the inference server of this actor, if there is one."""
        for node, server in list(self._servers.items()):
            if worker in server.slots:
                self._end_server(node)

    def kill(self, worker: RayWorker, *, hangs: bool = False) -> None:
        """Ends an actor at once."""
        for server in self._servers.values():
            if worker in server.slots:
                server.free.add(server.slots.pop(worker))
        del self._versions[worker]
        self._workers.kill(worker, hangs=hangs)

    def close(self) -> None:
        """Ends all actors at once, and waits for inference servers for at most `ray_transport.END_SECONDS`."""
        servers = [server.worker for server in self._servers.values()]
        for worker in list(self._versions):
            if worker not in servers:
                self.kill(worker, hangs=False)
        self._workers.end(*servers)

    def _send_weights(self) -> None:
        """Adds the newest weights to the next call of each worker that has older ones."""
        servers = [server.worker for server in self._servers.values()]
        for worker in self._workers.due():
            version, stored = self._newest()
            if version != self._versions[worker]:
                needs_arrays = worker in servers or not self._has_servers or not self._versions[worker]
                self._versions[worker] = version
                message = stored if needs_arrays else NewWeights(version, None, self._progress)
                self._workers.send(message, worker, first=True)

    def _newest(self) -> tuple[int, Stored]:
        """Returns the version and the weights in Ray's store.

        Unless they are the newest, they were stored less than `PUT_SECONDS` ago and are at most `_max_behind` phases
        behind.
        """
        published, moment = self._published, time.monotonic()
        behind = 0 if self._stored is None else published.version - self._stored[0]
        is_due = behind > 0 and moment - self._stored_at >= PUT_SECONDS
        if self._stored is None or is_due or behind > self._max_behind:
            arrays = {name: tensor.detach().cpu().numpy() for name, tensor in published.weights.items()}
            stored = self._workers.store(NewWeights(published.version, arrays, self._progress))
            self._stored, self._stored_at = (published.version, stored), moment
        return self._stored

    def _place(self, worker: RayWorker) -> bool:
        """Gives a new actor an inference slot of its node. Returns whether the server is ready, so that it can play."""
        assert worker.ready is not None
        node = worker.ready.node
        if node not in self._servers:
            self._servers[node] = self._new_server(worker.ready)
        server = self._servers[node]
        server.slots[worker] = min(server.free)
        server.free.remove(server.slots[worker])
        if server.plan is None:
            server.waiting.append(worker)
        else:
            self._workers.send((server.plan, server.slots[worker]), worker)
        return server.plan is not None

    def _new_server(self, place: Ready) -> _NodeServer:
        workers = self._server_task.config.workers
        count = workers.count if self._cluster.is_own else min(workers.count, self._cluster.cores_of(place.node))
        config = replace(self._server_task.config, workers=replace(workers, count=count))
        options = on_node(place.node) | {"num_gpus": SERVER_GPU if self._on_gpu else 0, "runtime_env": OUTLIVED}
        del options["max_retries"]  # it is only valid for tasks
        task = replace(self._server_task, config=config)
        worker = self._workers.start(serve_node, task, self._row, self._on_gpu, **options)
        self._versions[worker] = 0
        return _NodeServer(worker, place.host, set(range(count)))

    def _receive(self, server: _NodeServer, message: Any) -> list[tuple[RayWorker, Any]]:
        """Handles a message of a server. Returns the resulting messages of its actors."""
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
    """Connection of an actor on a cluster to the pool; see `playing.Link`."""

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
        self._newest = replace(new, arrays=None)  # so that Ray's store can free them
        return PublishedWeights(new.version, _tensors(new.arrays))

    def send(self, message: Loaded | GamePlayed | Failed | ServerLost) -> None:
        """Sends a message. Several games are sent together."""
        self._mailbox.send(message, urgent=not isinstance(message, GamePlayed))


def play_on_cluster(mailbox: RayMailbox, task: ActorTask, on_gpu: bool, uses_server: bool) -> None:
    """Plays in a process of a cluster.

    Args:
        on_gpu: whether it has a fraction of a GPU.
        uses_server: whether an inference server evaluates states; the first message is then the inference slot.
    """
    if not on_gpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    link = _RayLink(mailbox)
    slot: Any = None
    while uses_server and slot is None:
        slot = link.get(1.0)
    play_on(link, task, slot)


def serve_node(mailbox: RayMailbox, task: ActorTask, row: tuple[tuple[int, ...], int], on_gpu: bool) -> None:
    """Runs an `InferenceServer` for the actors of a node, until the mailbox is closed.

    If this process is killed, the server ends by itself. Ray then kills the whole process group, so a separate process
    (`dropped_without_us`) frees the shared memory.

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
                    mailbox.is_due.set()  # the trainer may send the next weights
        except (AthenanError, MemoryError) as error:
            mailbox.send(Failed.by(error))


def _tensors(arrays: Mapping[str, NDArray[np.generic]] | None) -> dict[str, torch.Tensor]:
    assert arrays is not None, "weights for a server have arrays"
    return {name: torch.tensor(array) for name, array in arrays.items()}
