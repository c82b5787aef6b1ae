"""Starts the inference server when it is needed, and again if it is lost."""

from __future__ import annotations

import contextlib
import secrets
import tempfile
from dataclasses import replace
from pathlib import Path

from athenan_spiel.errors import LearningError
from athenan_spiel.system.process_transport import ProcessTransport, ProcessWorker
from athenan_spiel.system.transport import Lost, Ready
from athenan_spiel.training.actors.inference import Slots, SlotsPlan, serve
from athenan_spiel.training.actors.messages import ActorState, ActorTask, total
from athenan_spiel.training.actors.shared_weights import SharedWeights

ATTEMPTS = 3
"""Maximum number of starts in a row that fail."""


class InferenceServer:
    """The process; `running` starts it.

    Attributes:
        plan: where the slots of the last process are.

    Args:
        weights: with counters for one more than `workers.count` actors.
        row: shape of an encoded state, and number of values in the network's answer to one.

    Raises:
        LearningError: there is no memory for what the processes share.
    """

    def __init__(self, task: ActorTask, weights: SharedWeights, row: tuple[tuple[int, ...], int]) -> None:
        shape, width = row
        self._actors = task.config.workers.count
        self._folder = tempfile.TemporaryDirectory(prefix="athenan-")  # of a socket that others cannot reach
        memory = Slots.memory(self._actors, shape, width)
        self.plan = SlotsPlan(memory.name, self._actors, shape, width, "", secrets.token_bytes(32))
        self._slots = Slots(self.plan, memory)
        self._task = task
        self._weights = weights
        self._gone = ActorState()
        self._started = 0
        self._transport = ProcessTransport(daemon=True, exits=True)
        self._worker: ProcessWorker | None = None

    def running(self) -> SlotsPlan:
        """Returns where the slots of a running process are; starts it if there is none.

        Raises:
            LearningError: it could not be started, or has ended as it started, `ATTEMPTS` times.
        """
        for _ in range(ATTEMPTS):
            if self._worker is not None and self._worker.process.is_alive():
                return self.plan
            self.end()
            if self._starts():
                return self.plan
        raise LearningError("the process that evaluates states for the workers ended as it started")

    def state(self) -> ActorState:
        """The sums of the counters of the process and those before it."""
        return total([self._gone, self._weights.state(self._actors)])

    def close(self) -> None:
        """Ends the process, and frees what it shares."""
        with contextlib.ExitStack() as rest:
            rest.callback(self._folder.cleanup)
            rest.callback(self._slots.close)
            self.end()

    def end(self) -> None:
        """Ends the process; the next `running` starts another one."""
        if self._worker is not None:
            self._transport.kill(self._worker)
            self._worker = None

    def _starts(self) -> bool:
        """Starts it; returns whether it listens."""
        self._started += 1
        self._gone = self.state()
        self._weights.forget(self._actors)
        self.plan = replace(self.plan, address=str(Path(self._folder.name) / f"slots-{self._started}"))
        try:
            self._worker = self._transport.start(serve, self._task, self._weights.plan, self.plan)
        except OSError as error:
            raise LearningError(f"the process that evaluates states could not be started: {error.strerror}") from None
        while True:
            for worker, message in self._transport.poll(1.0):
                if worker is self._worker and not isinstance(message, Ready):
                    return not isinstance(message, Lost)
