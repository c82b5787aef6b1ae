"""Starts the inference server when it is needed, and restarts it if it is lost."""

from __future__ import annotations

import contextlib
import functools
import secrets
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from athenan_spiel.errors import LearningError
from athenan_spiel.system.process_transport import ProcessTransport, ProcessWorker
from athenan_spiel.system.transport import Lost, Ready
from athenan_spiel.training.actors.inference import Slots, SlotsPlan, serve
from athenan_spiel.training.actors.messages import ActorState, ActorTask, total
from athenan_spiel.training.actors.shared_weights import SharedWeights

ATTEMPTS = 3
"""Number of failed starts in a row after which an error is raised."""


class InferenceServer:
    """Process of the inference server. `running` starts it.

    Args:
        weights: shared weights with counters for `workers.count` + 1 actors; the last ones are the server's.
        row: shape of an encoded state, and number of values in the network's output for one state.

    Attributes:
        plan: location of the slots of the newest process.

    Raises:
        LearningError: there is not enough shared memory.
    """

    def __init__(self, task: ActorTask, weights: SharedWeights, row: tuple[tuple[int, ...], int]) -> None:
        shape, width = row
        self._actors = task.config.workers.count
        self._folder = tempfile.TemporaryDirectory(prefix="athenan-")  # the socket in it is private to this user
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
        """Returns the location of the slots of the running process, which is started if necessary.

        Raises:
            LearningError: the process could not be started, or ended during `ATTEMPTS` starts.
        """
        for _ in range(ATTEMPTS):
            if self._worker is not None and self._worker.process.is_alive():
                return self.plan
            self.end()
            if self._start():
                return self.plan
        raise LearningError("the inference server of the workers ended during its start")

    def state(self) -> ActorState:
        """Returns the summed counters of all processes so far."""
        return total([self._gone, self._weights.state(self._actors)])

    def close(self) -> None:
        """Ends the process and frees its shared memory."""
        with contextlib.ExitStack() as stack:
            stack.callback(self._folder.cleanup)
            stack.callback(self._slots.close)
            self.end()

    def end(self) -> None:
        """Ends the process; the next call of `running` starts another one."""
        if self._worker is not None:
            self._transport.kill(self._worker)
            self._worker = None

    def _start(self) -> bool:
        """Starts the process. Returns whether actors can connect to it."""
        self._started += 1
        self._gone = self.state()
        self._weights.forget(self._actors)
        self.plan = replace(self.plan, address=str(Path(self._folder.name) / f"slots-{self._started}"))
        try:
            self._worker = self._transport.start(serve, self._task, self._weights.plan, self.plan)
        except OSError as error:
            raise LearningError(f"the inference server could not be started: {error.strerror}") from None
        messages: list[Any] = []
        while not messages:
            self._transport.poll(1.0, functools.partial(self._receive, messages))
        return not isinstance(messages[0], Lost)

    def _receive(self, messages: list[Any], worker: ProcessWorker, message: Any) -> None:
        if worker is self._worker and not isinstance(message, Ready):
            messages.append(message)
