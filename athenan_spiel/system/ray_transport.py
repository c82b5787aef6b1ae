"""Workers on a Ray cluster: each is a thread of a Ray actor.

1. At most one call per worker is in flight. It delivers messages and returns those of the worker, after `TURN_SECONDS`
   or as soon as one is urgent. The worker's thread never waits for a call. A worker that waits for a message is called
   when there is one, or else `TURN_SECONDS` after its last call.
2. A message for several workers is one object in Ray's store.
3. A worker without room on the cluster is `Ready` as soon as there is room; the others work meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from athenan_spiel.system.cluster import Cluster, DriverEnvironment, last_line, on_node, ray
from athenan_spiel.system.transport import Lost, Mailbox, MailboxClosedError, Ready, Receive

TURN_SECONDS = 0.2
"""Maximum duration of a call, in seconds."""
END_SECONDS = 2.0
"""Time for a worker to end by itself, in seconds."""
OUTLIVED = {"env_vars": {"RAY_kill_child_processes_on_worker_exit": "0"}}
"""Ray's runtime environment for a worker whose child processes may outlive it."""


@dataclass(frozen=True)
class Stored:
    """A message that is an object in Ray's store.

    Attributes:
        answer: Ray's reference to it.
    """

    answer: Any


@dataclass(eq=False)
class RayWorker:
    """State of a worker.

    Attributes:
        actor: Ray's handle of the worker.
        answer: Ray's reference to the result of the call in flight, if any.
        ready: message that it has started, with its node; None: it has not started.
        state: newest state that it passed to `RayMailbox.tell`.
        state_at: time of that call, by `time.monotonic`; 0: never.
        answered: time at which its last call ended, by `time.monotonic`.
        waits: whether it waited for a message at that time.
        unsent: messages for the next call.
    """

    actor: Any
    answer: Any
    ready: Ready | None = None
    state: Any = None
    state_at: float = 0.0
    answered: float = 0.0
    waits: bool = False
    unsent: list[Any] = field(default_factory=list)


class RayTransport:
    """Starts workers on the cluster that this process has joined; see `transport.WorkerTransport`.

    Args:
        options: options of Ray for all workers.
    """

    def __init__(self, cluster: Cluster, **options: Any) -> None:
        self._ray = ray()
        self._environment = DriverEnvironment.here(cluster)
        self._options = {"max_restarts": 0, "max_task_retries": 0, **options}
        self._workers: list[RayWorker] = []

    def start(self, target: Callable[..., None], *arguments: Any, **options: Any) -> RayWorker:
        """As `WorkerTransport.start`.

        Args:
            options: options of Ray for this worker.
        """
        call = self._ray.cloudpickle.dumps((target, arguments))
        actor = self._ray.remote(Host).options(**(self._options | options)).remote()
        worker = RayWorker(actor, actor.begin.remote(self._environment, call))
        self._workers.append(worker)
        return worker

    def store(self, message: Any) -> Stored:
        """Puts a message into Ray's store."""
        return Stored(self._ray.put(message))

    def send(self, message: Any, *workers: RayWorker, first: bool = False) -> None:
        """As `WorkerTransport.send`; with `first` before the unsent messages."""
        if len(workers) > 1:
            message = self.store(message)
        for worker in workers:
            worker.unsent.insert(0 if first else len(worker.unsent), message)

    def due(self) -> list[RayWorker]:
        """Returns the workers that the next `poll` will call."""
        old = time.monotonic() - TURN_SECONDS
        idle = [worker for worker in self._workers if worker.answer is None]
        return [worker for worker in idle if worker.unsent or not worker.waits or worker.answered < old]

    def poll(self, seconds: float, receive: Receive[RayWorker]) -> None:
        """As `WorkerTransport.poll`. It waits for the end of a call, which may return no message."""
        for worker in self.due():
            worker.answer = worker.actor.exchange.remote(worker.unsent, TURN_SECONDS)
            worker.unsent = []
        calls = {worker.answer: worker for worker in self._workers if worker.answer is not None}
        if not calls:
            time.sleep(seconds)
        elif self._ray.wait(list(calls), timeout=seconds)[0]:
            for answer in self._ray.wait(list(calls), num_returns=len(calls), timeout=0)[0]:
                for message in self._messages(calls[answer]):
                    receive(calls[answer], message)

    def kill(self, worker: RayWorker, *, hangs: bool = False) -> None:
        """As `WorkerTransport.kill`; a worker that hangs may not respond to Ray, so a task kills its process."""
        if worker in self._workers:
            self._workers.remove(worker)
            if hangs and worker.ready is not None:
                options = on_node(worker.ready.node)
                self._ray.remote(end_process).options(**options).remote(worker.ready.process)
            with contextlib.suppress(Exception):  # Ray raises several types for a lost worker
                self._ray.kill(worker.actor)

    def end(self, *workers: RayWorker) -> None:
        """As `WorkerTransport.end`, within `END_SECONDS`."""
        with contextlib.suppress(Exception):
            ending = [worker.actor.end.remote(END_SECONDS) for worker in workers if worker in self._workers]
            self._ray.wait(ending, num_returns=len(ending), timeout=END_SECONDS)
        for worker in workers:
            self.kill(worker)

    def _messages(self, worker: RayWorker) -> Sequence[Any]:
        try:
            answer = self._ray.get(worker.answer)
        except self._ray.exceptions.RayError as error:
            self.kill(worker)
            failed = isinstance(error, self._ray.exceptions.RayTaskError) or getattr(error, "actor_init_failed", False)
            return [Lost(f"failed: {last_line(error)}" if failed else "was lost, with its process or its node")]
        worker.answer = None
        if isinstance(answer, Ready):
            worker.ready = answer
            return [answer]
        messages, state, age, worker.waits = pickle.loads(answer)
        worker.answered = time.monotonic()
        if age is not None:
            worker.state, worker.state_at = state, time.monotonic() - age
        return [pickle.loads(message) for message in messages]


class RayMailbox(Mailbox):
    """The mailbox of a worker on a Ray cluster."""

    def __init__(self) -> None:
        self.is_due = threading.Event()
        self._unsent: list[bytes] = []
        self._state: tuple[Any, float] | None = None
        self._waits = False
        super().__init__(lambda message: self._unsent.append(pickle.dumps(message)))

    def send(self, message: Any, *, urgent: bool = True) -> None:
        """Sends a message at the end of the call in flight, which ends at once if one message is urgent."""
        super().send(message)
        if urgent:
            self.is_due.set()

    def get(self, seconds: float | None = 0.0) -> Any | None:
        """As `Mailbox.get`. Before it waits, all unsent messages of the worker become urgent."""
        if seconds != 0.0:
            self._waits = self._received.empty()
            if self._unsent:
                self.is_due.set()
        return super().get(seconds)

    def put(self, message: Any) -> None:
        """As `Mailbox.put`."""
        self._waits = False
        super().put(message)

    def tell(self, state: Any) -> None:
        """Reports the worker's newest state."""
        self._state = state, time.monotonic()

    def taken(self) -> bytes:
        """Returns the messages, the newest state with its age in seconds, and whether the worker waits for a message.

        All are pickled, so that they don't stay in Ray's store.
        """
        count = len(self._unsent)
        messages = self._unsent[:count]
        del self._unsent[:count]
        state, moment = self._state or (None, None)
        age = None if moment is None else time.monotonic() - moment
        return pickle.dumps((messages, state, age, self._waits))


class Host:
    """Class of the Ray actor that runs a worker. Call `begin` first."""

    def __init__(self) -> None:
        self._mailbox = RayMailbox()
        self._thread: threading.Thread | None = None

    def begin(self, environment: DriverEnvironment, call: bytes) -> Ready:
        """Starts the worker's thread."""
        environment.enter()
        target, arguments = pickle.loads(call)  # two threads must not import modules at once
        self._thread = threading.Thread(target=self._run, args=(target, arguments), name="worker", daemon=True)
        self._thread.start()
        return Ready(socket.gethostname(), ray().get_runtime_context().get_node_id(), os.getpid())

    def exchange(self, messages: Sequence[Any], seconds: float) -> bytes:
        """Delivers messages, and returns `RayMailbox.taken` after at most `seconds`."""
        for message in messages:
            self._mailbox.put(ray().get(message.answer) if isinstance(message, Stored) else message)
        self._mailbox.is_due.wait(seconds)
        self._mailbox.is_due.clear()
        return self._mailbox.taken()

    def end(self, seconds: float) -> None:
        """Closes the mailbox and waits for the worker's end."""
        self._mailbox.close()
        if self._thread is not None:
            self._thread.join(seconds)

    def _run(self, target: Callable[..., None], arguments: Sequence[Any]) -> None:
        reason = "ended"
        try:
            target(self._mailbox, *arguments)
        except MailboxClosedError:
            pass
        except BaseException as error:
            reason = f"failed: {type(error).__name__}: {last_line(error)}"
        self._mailbox.send(Lost(reason))


def end_process(number: int) -> None:
    """Kills a process of this machine, if it still runs."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(number, getattr(signal, "SIGKILL", signal.SIGTERM))
