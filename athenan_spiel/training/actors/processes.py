"""Actors in processes of this machine: weights and counters are in shared memory, messages go through pipes."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from multiprocessing.reduction import ForkingPickler
from typing import Any

from athenan_spiel.config import TrainingConfig
from athenan_spiel.errors import LearningError
from athenan_spiel.outcomes import Kind, Outcome
from athenan_spiel.system.machine import cores
from athenan_spiel.system.process_transport import ProcessTransport, ProcessWorker
from athenan_spiel.system.transport import Mailbox, Receive
from athenan_spiel.training.actor import PublishedWeights
from athenan_spiel.training.actors.inference import SlotsPlan
from athenan_spiel.training.actors.messages import ActorState, ActorTask, Order
from athenan_spiel.training.actors.playing import play_on
from athenan_spiel.training.actors.server import InferenceServer
from athenan_spiel.training.actors.shared_weights import SharedWeights, WeightsPlan
from athenan_spiel.training.model import Weights
from athenan_spiel.training.preflight import is_shared


class ProcessActors:
    """Starts actors in processes of this machine; see `pool.ActorTransport`.

    Args:
        game: OpenSpiel string of the game.
        kind: function or class of the outcome if it is custom code.
        weights: weights of the network, which have the types and shapes of all later ones.
        row: shape of an encoded state, and number of values in the network's output for one state.

    Raises:
        ConfigError: the outcome cannot be pickled.
        LearningError: there is not enough shared memory.
    """

    spare: int | None = 4
    latency = 0.0

    def __init__(
        self,
        game: str,
        config: TrainingConfig,
        outcome: Outcome,
        kind: Kind | None,
        weights: Weights,
        row: tuple[tuple[int, ...], int],
    ) -> None:
        count = config.workers.count
        threads = config.engine.threads or max(1, cores() // count)
        task = ActorTask(game, config, dict(outcome.parameters), kind)
        task.require_sendable(ForkingPickler.dumps)
        self._task = replace(task, config=replace(config, engine=replace(config.engine, threads=threads)))
        self._shared = SharedWeights.new(count + 1, weights)  # the last counters are the server's
        self._server: InferenceServer | None = None
        if is_shared(config):
            try:
                self._server = InferenceServer(task, self._shared, row)
            except LearningError:
                self._shared.close()
                raise
        self._processes = ProcessTransport(daemon=True, exits=True)
        self._workers: list[ProcessWorker | None] = [None] * count
        self._numbers: dict[ProcessWorker, int] = {}
        self._slots: dict[ProcessWorker, SlotsPlan] = {}

    def start(self, number: int) -> ProcessWorker:
        """Starts the actor of this number."""
        if (lost := self._workers[number]) is not None:
            self._workers[number] = None
            del self._numbers[lost]
        self._shared.forget(number)
        plan = None if self._server is None else self._server.running()
        slot = None if plan is None else (plan, number)
        worker = self._processes.start(play_in_process, self._task, number, self._shared.plan, slot)
        if plan is not None:
            self._slots[worker] = plan
        self._workers[number], self._numbers[worker] = worker, number
        return worker

    def publish(self, version: int, weights: Weights, progress: float) -> None:
        """As `ActorPool.publish`."""
        self._shared.publish(version, weights, progress)

    def send(self, message: Any, *workers: ProcessWorker) -> None:
        """Sends a message to each of `workers`."""
        self._processes.send(message, *workers)

    def poll(self, seconds: float, receive: Receive[ProcessWorker]) -> None:
        """As `WorkerTransport.poll`."""
        self._processes.poll(seconds, receive)

    def state(self, worker: ProcessWorker) -> ActorState:
        """Counters of an actor."""
        return self._shared.state(self._numbers[worker])

    def version(self, worker: ProcessWorker) -> int:
        """Version of the oldest weights that an actor without games may use if it is sent seeds now."""
        return self._shared.version

    def inference(self) -> ActorState | None:
        """As `ActorPool.inference`."""
        return None if self._server is None else self._server.state()

    def end_server(self, worker: ProcessWorker) -> None:
        """Ends the inference server of this actor, unless another server has replaced it."""
        if self._server is not None and self._server.plan == self._slots[worker]:
            self._server.end()

    def kill(self, worker: ProcessWorker, *, hangs: bool = False) -> None:
        """Ends an actor at once."""
        self._slots.pop(worker, None)
        self._processes.kill(worker)

    def close(self) -> None:
        """Ends all processes at once and frees the shared memory, completely even if Ctrl-C interrupts it."""
        with contextlib.ExitStack() as rest:
            rest.callback(self._shared.close)
            if self._server is not None:
                rest.callback(self._server.close)
            for worker in self._workers:
                if worker is not None:
                    rest.callback(self._processes.kill, worker)
            self._workers = []


def play_in_process(
    mailbox: Mailbox, task: ActorTask, number: int, plan: WeightsPlan, slot: tuple[SlotsPlan, int] | None
) -> None:
    """Plays in a process of this machine.

    Args:
        number: number of the actor.
        plan: location of weights and counters.
        slot: as for `play_on`.
    """
    try:
        shared = SharedWeights(plan)
    except FileNotFoundError:
        os._exit(0)  # the trainer ended and freed the memory while this process was starting
    play_on(_ProcessLink(mailbox, shared, number), task, slot)


class _ProcessLink:
    """Connection of an actor in a process to the pool; see `playing.Link`."""

    def __init__(self, mailbox: Mailbox, shared: SharedWeights, number: int) -> None:
        self._mailbox = mailbox
        self._shared = shared
        self._number = number
        self.send = mailbox.send

    @property
    def progress(self) -> float:
        """Fraction of the run completed."""
        return self._shared.progress

    def get(self, seconds: float) -> Order | None:
        """Returns the next order."""
        return self._mailbox.get(seconds)

    def newest(self, version: int) -> PublishedWeights | None:
        """Returns the newest weights."""
        return None if self._shared.version in (0, version) else PublishedWeights(*self._shared.read())

    def tell(self, state: ActorState) -> None:
        """Reports the actor's counters."""
        self._shared.tell(self._number, state)
