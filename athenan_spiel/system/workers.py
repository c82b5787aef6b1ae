"""Processes that do tasks, such as an experiment's, one each at a time.

1. A task is told to stop when Ctrl-C, SIGTERM or SIGHUP comes, when another task fails, or when the process that gave
   it out is gone.
2. It then saves what it has and answers False; only a second Ctrl-C ends it at once. Where there is nothing to save,
   its process is ended.
3. With one process, tasks are done in this one.
4. What goes wrong in one, a full disk or no memory for one, is told by the error that comes out, and by nothing else.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
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


def do_tasks(
    tasks: Sequence[T],
    processes: int,
    on_report: Callable[[T, Any], None],
    on_finished: Callable[[T], None],
    wanted: Callable[[T], bool] = lambda task: True,
    *,
    site: Site | None = None,
) -> None:
    """Do all `tasks`, begun in their order.

    Args:
        on_report: called with a task and what it reports.
        on_finished: called with each task that is finished.
        wanted: asked before a task is begun; one that is wanted no more is left out.
        site: the cluster whose processes do them; none: this machine's.

    Raises:
        KeyboardInterrupt: Ctrl-C came; what was under way is saved, unless it came twice.
        ExperimentError: a process ended by itself or could not be started, or a task met a full disk or no memory.
        AthenanError: what a task raised.
    """
    if site is not None:
        do_on_cluster(tasks, processes, on_report, on_finished, wanted, site)
        return
    if min(processes, len(tasks)) > 1:
        _Crew(tasks, processes, on_report, on_finished, wanted).work()
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
    ) -> None:
        self._wanted = wanted
        self._waiting = deque(tasks)
        self._on_report = on_report
        self._on_finished = on_finished
        self._busy: dict[Connection, T] = {}
        self._error: AthenanError | None = None
        self._stopped = False
        self._begun: set[Connection] = set()
        children = context()
        self._stopping = children.Event()
        self._processes: dict[Connection, SpawnProcess] = {}
        count = min(processes, len(tasks))
        try:
            for _ in range(count):
                ours, theirs = children.Pipe()
                process = begin(_serve, theirs, self._stopping, os.getpid(), deaf_to=SIGNALS)
                theirs.close()
                self._processes[ours] = process
        except OSError as error:
            started = len(self._processes)
            self._end()
            raise ExperimentError(
                f"of {count} processes {started} could be started ({error.strerror}): "
                f"take fewer {tasks[0].processes_option}"
            ) from None

    def work(self) -> None:
        try:
            with StopRequests() as stops:
                for connection in self._processes:
                    self._give(connection)
                while self._busy:
                    if stops.requested and not self._stopped:
                        self._stop()
                    ready = wait(list(self._busy), LOOK_SECONDS)
                    for connection in [connection for connection in self._busy if connection in ready]:
                        self._hear(connection)
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
            connection.send(self._busy[connection])

    def _hear(self, connection: Connection) -> None:
        task = self._busy[connection]
        try:
            kind, content = connection.recv()
        except (EOFError, OSError):
            del self._busy[connection]
            process = self._processes[connection]
            process.join()
            self._fail(
                ExperimentError(
                    f"a process ended with code {process.exitcode!r} (out of memory, or killed): "
                    f"start again, perhaps with fewer {task.processes_option}"
                )
            )
            return
        if kind == "report":
            self._begun.add(connection)
            self._on_report(task, content)
            return
        del self._busy[connection]
        if kind == "failed":
            self._fail(content)
        elif content:
            self._on_finished(task)
            self._give(connection)

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

    def _end(self) -> None:
        """Let the idle ones go and end the busy ones, if an exception has left any."""
        for connection, process in self._processes.items():
            if connection in self._busy:
                process.kill()
            with contextlib.suppress(OSError):
                connection.send(None)
            connection.close()
            process.join()


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
