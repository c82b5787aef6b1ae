"""Processes that do tasks, such as an experiment's, one each at a time.

1. A task is told to stop when Ctrl-C, SIGTERM or SIGHUP comes, when another task fails, or when the process that gave
   it out is gone.
2. It then saves what it has and answers False; only a second Ctrl-C ends it at once. Where there is nothing to save,
   its process is ended.
3. With one process, tasks are done in this one, unless losses are to be heard of.
4. What goes wrong in one, a full disk or no memory for one, is told by the error that comes out, and by nothing else.
5. A process that ends by itself, in native code for one, or that reports nothing for too long, ends all tasks; with
   `Losses` another process takes its place, and the caller decides what becomes of its task.
6. On Linux processes of tasks that keep nothing are killed with this one, however it ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from multiprocessing.reduction import ForkingPickler
from multiprocessing.synchronize import Event
from typing import Any, Generic

from athenan_spiel.errors import AthenanError, ExperimentError
from athenan_spiel.system.cluster import Site
from athenan_spiel.system.cluster_tasks import do_on_cluster
from athenan_spiel.system.portable import is_orphan
from athenan_spiel.system.processes import begin, context
from athenan_spiel.system.stopping import SIGNALS, StopRequests
from athenan_spiel.system.tasks import T, done

LOOK_SECONDS = 0.2
"""Time between two looks at whether Ctrl-C has come."""
MAX_SILENCE_PER_LOOK_SECONDS = 1.0
"""Silence that one look can add; more means that this process was stopped itself, by Ctrl-Z for example."""
END_SECONDS = 30.0
"""Time in which idle processes have to end before they are killed."""
MAX_LOSSES_IN_A_ROW = 10
"""Number of processes that may be lost without a report between them; then something is wrong with all tasks."""


@dataclass(frozen=True)
class Losses(Generic[T]):
    """How `do_tasks` continues when it loses a process.

    Attributes:
        on_lost: called with the task and the reason, such as "its process ended by signal 11 (SIGSEGV)"; returns the
            tasks that take its place.
        silent_seconds: time without a report after which a process that does a task is killed and counts as lost. Time
            in which this process was stopped is not counted.
    """

    on_lost: Callable[[T, str], Sequence[T]]
    silent_seconds: float


def do_tasks(
    tasks: Sequence[T],
    processes: int,
    on_report: Callable[[T, Any], None],
    on_finished: Callable[[T], None],
    wanted: Callable[[T], bool] = lambda task: True,
    *,
    site: Site | None = None,
    losses: Losses[T] | None = None,
) -> None:
    """Do all `tasks`, begun in their order.

    Args:
        on_report: called with a task and what it reports.
        on_finished: called with each task that is finished.
        wanted: asked before a task is begun; one that is wanted no more is left out.
        site: the cluster whose processes do them; none: this machine's.
        losses: what to do if a process of this machine is lost, and that all tasks are done in processes; None: a loss
            ends all.

    Raises:
        KeyboardInterrupt: Ctrl-C came; what was under way is saved, unless it came twice.
        ExperimentError: a process ended by itself or could not be started, or a task met a full disk or no memory; with
            `losses`: `MAX_LOSSES_IN_A_ROW` processes were lost in a row.
        AthenanError: what a task raised.
    """
    if site is not None:
        do_on_cluster(tasks, processes, on_report, on_finished, wanted, site)
        return
    if min(processes, len(tasks)) > 1 or (losses is not None and tasks):
        with StopRequests(raises=True) as stops:
            _Crew(tasks, processes, on_report, on_finished, wanted, losses).work(stops)
        return
    for task in filter(wanted, tasks):
        if not done(task, lambda message, task=task: on_report(task, message), lambda: False):  # type: ignore[misc]
            raise KeyboardInterrupt
        on_finished(task)


class _Crew(Generic[T]):
    """The processes of one `do_tasks`."""

    def __init__(
        self,
        tasks: Sequence[T],
        processes: int,
        on_report: Callable[[T, Any], None],
        on_finished: Callable[[T], None],
        wanted: Callable[[T], bool],
        losses: Losses[T] | None,
    ) -> None:
        self._wanted = wanted
        self._losses = losses
        self._lost_in_a_row = 0
        self._silence: dict[Connection, float] = {}
        self._senders: dict[Connection, threading.Thread] = {}
        self._bound = not any(task.keeps for task in tasks)
        self._waiting = deque(tasks)
        self._on_report = on_report
        self._on_finished = on_finished
        self._busy: dict[Connection, T] = {}
        self._error: AthenanError | None = None
        self._stopped = False
        self._begun: set[Connection] = set()
        self._stopping = context().Event()
        self._processes: dict[Connection, SpawnProcess] = {}
        count = min(processes, len(tasks))
        try:
            for _ in range(count):
                self._begin()
        except OSError as error:
            started = len(self._processes)
            self._end()
            raise ExperimentError(
                f"of {count} processes {started} could be started ({error.strerror}): "
                f"take fewer {tasks[0].processes_option}"
            ) from None

    def _begin(self) -> None:
        """Begin a process.

        Raises:
            OSError: it could not be started.
        """
        ours, theirs = context().Pipe()
        with theirs:
            arguments = theirs, self._stopping, os.getpid()
            self._processes[ours] = begin(_serve, *arguments, deaf_to=SIGNALS, bound=self._bound)

    def work(self, stops: StopRequests) -> None:
        try:
            for connection in self._processes:
                self._give(connection)
            looked_at = time.monotonic()
            while self._busy:
                if stops.requested and not self._stopped:
                    self._stop()
                ready = wait(list(self._busy), LOOK_SECONDS)
                for connection in [connection for connection in self._busy if connection in ready]:
                    self._hear(connection)
                looked_at, before = time.monotonic(), looked_at
                self._kill_silent(min(looked_at - before, MAX_SILENCE_PER_LOOK_SECONDS))
        finally:
            self._end()
        if self._error is not None:
            raise self._error
        if self._stopped:
            raise KeyboardInterrupt

    def _give(self, connection: Connection) -> None:
        while self._waiting and not self._wanted(self._waiting[0]):
            self._waiting.popleft()
        if self._waiting and not self._stopped and not self._stopping.is_set():
            self._begun.discard(connection)
            self._busy[connection] = self._waiting.popleft()
            self._silence[connection] = 0.0
            # A thread waits until a large task is read, as a process that has stopped never reads it.
            arguments = connection, bytes(ForkingPickler.dumps(self._busy[connection]))
            self._senders[connection] = threading.Thread(target=_send, args=arguments, daemon=True)
            self._senders[connection].start()

    def _hear(self, connection: Connection) -> None:
        task = self._busy[connection]
        try:
            kind, content = connection.recv()
        except (EOFError, OSError):
            self._processes[connection].join()
            self._lose(connection, _ending(self._processes[connection].exitcode))
            return
        self._silence[connection] = 0.0
        if kind == "report":
            self._begun.add(connection)
            self._lost_in_a_row = 0
            self._on_report(task, content)
            return
        del self._busy[connection]
        if kind == "failed":
            self._fail(content)
        elif content:
            self._on_finished(task)
            self._give(connection)

    def _kill_silent(self, seconds: float) -> None:
        """Kill the processes that have reported nothing for too long, after `seconds` more."""
        if self._losses is None:
            return
        limit = self._losses.silent_seconds
        for connection in self._busy:
            self._silence[connection] += seconds
        for connection in [x for x in self._busy if self._silence[x] > limit]:
            self._processes[connection].kill()
            self._processes[connection].join()
            self._lose(connection, f"its process made no progress for {limit:g} s and was killed")

    def _lose(self, connection: Connection, reason: str) -> None:
        """Go on without a process that has ended while it did a task."""
        task = self._busy.pop(connection)
        if self._losses is None:
            advice = f"out of memory, or killed): start again, perhaps with fewer {task.processes_option}"
            self._fail(ExperimentError(f"a task failed, as {reason} ({advice}"))
            return
        self._waiting.extendleft(reversed(self._losses.on_lost(task, reason)))
        self._lost_in_a_row += 1
        if self._lost_in_a_row >= MAX_LOSSES_IN_A_ROW:
            self._fail(
                ExperimentError(
                    f"{self._lost_in_a_row} processes were lost in a row, the last as {reason}: look at the agents and "
                    f"the game, or take fewer {task.processes_option} if memory runs out"
                )
            )
        del self._processes[connection]
        self._close(connection)
        if self._waiting and not (self._stopped or self._stopping.is_set()):
            try:
                self._begin()
            except OSError as error:
                self._fail(ExperimentError(f"a process could not be started again: {error.strerror}"))
            for idle in [x for x, process in self._processes.items() if x not in self._busy and process.is_alive()]:
                self._give(idle)

    def _fail(self, error: AthenanError) -> None:
        self._error = self._error or error
        self._stopping.set()

    def _stop(self) -> None:
        """Let what can be kept be saved, and wait for nothing else."""
        self._stopped = True
        self._stopping.set()
        for connection, task in list(self._busy.items()):
            while connection in self._busy and connection.poll():
                self._hear(connection)
            if self._busy.get(connection) is task and not (task.keeps and connection in self._begun):
                self._processes[connection].kill()
                del self._busy[connection]

    def _close(self, connection: Connection) -> None:
        """Close the connection to a process that has ended, or that has read its task."""
        if sender := self._senders.pop(connection, None):
            sender.join()
        connection.close()

    def _end(self) -> None:
        """Let the idle ones go, and end the busy ones, if an exception has left any, and those that do not go."""
        for connection, process in self._processes.items():
            if connection in self._busy:
                process.kill()
                process.join()
            with contextlib.suppress(OSError):
                connection.send(None)
            self._close(connection)
        until = time.monotonic() + END_SECONDS
        for process in self._processes.values():
            process.join(max(0.0, until - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()


def _send(connection: Connection, task: bytes) -> None:
    """Send a pickled task; one to a process that has ended is dropped, as that is heard of."""
    with contextlib.suppress(OSError):
        connection.send_bytes(task)


def _ending(code: int | None) -> str:
    """How a process has ended."""
    if code is None or code >= 0:
        return f"its process ended with code {code}"
    with contextlib.suppress(ValueError):
        return f"its process ended by signal {-code} ({signal.Signals(-code).name})"
    return f"its process ended by signal {-code}"


def _serve(connection: Connection, stopping: Event, parent: int) -> None:
    """Do the tasks that come through `connection` until None comes, or the other end is gone.

    What asks the experiment to stop is its first process's to hear, which tells this one by `stopping`.
    """

    def stop() -> bool:
        return stopping.is_set() or is_orphan(parent)

    def report(message: Any) -> None:
        with contextlib.suppress(OSError):  # then `stop` says so
            connection.send(("report", message))

    with contextlib.suppress(EOFError, OSError, KeyboardInterrupt):
        while (task := connection.recv()) is not None:
            try:
                answer: tuple[str, bool | AthenanError] = ("done", done(task, report, stop))
            except AthenanError as error:
                answer = ("failed", error)
            connection.send(answer)
