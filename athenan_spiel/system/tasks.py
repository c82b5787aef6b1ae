"""Runs tasks, such as the trainings of an experiment, in workers on this machine or on a Ray cluster.

1. A worker runs one task at a time. The task must stop after Ctrl-C, SIGTERM or SIGHUP, when another task fails, or
   when the process that started its worker has ended.
2. It then saves its results and returns False; only a second Ctrl-C ends it at once. If it has nothing to save, its
   worker is killed.
3. With one process, tasks run in this process, except with a `LossPolicy` or on a cluster.
4. A failure of a task, such as a full disk, is reported only by the error that is raised.
5. On this machine, a lost process ends all tasks. With a `LossPolicy`, another process replaces it, and the caller
   decides which tasks replace its task. A process that reports nothing for too long then also counts as lost.
6. On a cluster, a lost process is replaced. Its task is started again, if it has reported nothing or keeps its results.
   There are at most `MAX_ATTEMPTS` attempts.
7. On Linux, processes whose tasks keep no results are killed when this process ends for any reason.
"""

from __future__ import annotations

import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from athenan_spiel.errors import AthenanError, ExperimentError
from athenan_spiel.system.cluster import Cluster, last_line
from athenan_spiel.system.process_transport import ProcessTransport
from athenan_spiel.system.ray_transport import RayTransport
from athenan_spiel.system.stopping import StopRequests
from athenan_spiel.system.transport import Lost, Mailbox, MailboxClosedError, Ready, WorkerTransport

POLL_SECONDS = 0.2
"""Time between two checks for a stop request, in seconds."""
MAX_SILENCE_PER_POLL_SECONDS = 1.0
"""Maximum silence counted per poll, in seconds. A longer gap means that this process was suspended, as by Ctrl-Z."""
MAX_LOSSES_IN_A_ROW = 10
"""Number of processes lost without any report in between, after which all tasks end."""
MAX_ATTEMPTS = 3
"""Maximum number of attempts at a task on a cluster."""
_STOP = "stop"


class Task(Protocol):
    """A task, which can be pickled.

    Attributes:
        keeps_results: whether a stopped task keeps its results, once it has reported something.
        processes_option: option that limits the number of concurrent tasks.
    """

    keeps_results: ClassVar[bool]
    processes_option: ClassVar[str]

    def run(self, report: Callable[[Any], None], stop: Callable[[], bool]) -> bool:
        """Runs the task; returns whether it is finished.

        Args:
            report: call this with each report.
            stop: returns whether the task should save its results and return False.
        """


T = TypeVar("T", bound=Task)


@dataclass(frozen=True)
class LossPolicy(Generic[T]):
    """How `do_tasks` continues after the loss of a process.

    Attributes:
        on_lost: called with the task and a reason such as "its process ended by signal 11 (SIGSEGV)"; returns the tasks
            that replace it.
        silent_seconds: time without a report after which a process is killed and counts as lost. Time in which this
            process was suspended does not count.
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
    cluster: Cluster | None = None,
    losses: LossPolicy[T] | None = None,
) -> None:
    """Runs all `tasks`, which start in their order.

    Args:
        on_report: called with a task and its report.
        on_finished: called with each finished task.
        wanted: called before a task is started; if it returns False, the task is skipped.
        cluster: cluster whose processes run the tasks; None: processes of this machine.
        losses: policy for lost processes of this machine. With a policy, no task runs in this process. None: a loss
            ends all tasks.

    Raises:
        KeyboardInterrupt: a stop was requested; results are saved, unless Ctrl-C came twice.
        ExperimentError: a process was lost or could not be started, or the disk is full or memory ran out in a task.
            With `losses`: `MAX_LOSSES_IN_A_ROW` processes were lost in a row.
        AthenanError: raised by a task.
    """
    count = min(processes, len(tasks))
    if tasks and (cluster is not None or losses is not None or count > 1):
        with StopRequests(raises=True) as stops:
            _TaskPool(tasks, count, on_report, on_finished, wanted, cluster, losses).work(stops)
        return
    for task in filter(wanted, tasks):
        if not do_task(task, lambda message, task=task: on_report(task, message), lambda: False):  # type: ignore[misc]
            raise KeyboardInterrupt
        on_finished(task)


def do_task(task: Task, report: Callable[[Any], None], stop: Callable[[], bool]) -> bool:
    """Runs a task. `OSError` and `MemoryError` become an `ExperimentError`, which can be sent to other processes."""
    try:
        return task.run(report, stop)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise ExperimentError(
            f"{where}{error.strerror or error}; finished work is kept: run the command again to continue"
        ) from None
    except MemoryError:
        raise ExperimentError(
            f"memory ran out; finished work is kept: start again with fewer {task.processes_option}, "
            "or smaller networks"
        ) from None


@dataclass(eq=False)
class _Worker(Generic[T]):
    """State of a worker.

    Attributes:
        handle: the transport's object for it.
        is_ready: whether it may get tasks; on a cluster only once there is room for it.
        task: the current task, if any.
        has_reported: whether that task has reported something.
        silence: time without a message during that task, in seconds.
    """

    handle: Any
    is_ready: bool = False
    task: T | None = None
    has_reported: bool = False
    silence: float = 0.0


@dataclass(eq=False)
class _TaskPool(Generic[T]):
    """Workers of one call of `do_tasks`; the first attributes are its arguments."""

    tasks: InitVar[Sequence[T]]
    count: int
    on_report: Callable[[T, Any], None]
    on_finished: Callable[[T], None]
    wanted: Callable[[T], bool]
    cluster: Cluster | None
    losses: LossPolicy[T] | None
    workers: list[_Worker[T]] = field(default_factory=list)
    lost_in_a_row: int = 0
    attempts: Counter[int | None] = field(default_factory=Counter)
    error: AthenanError | None = None
    is_stopped: bool = False

    def __post_init__(self, tasks: Sequence[T]) -> None:
        self.option = tasks[0].processes_option
        self.waiting = deque(tasks)
        self.transport: WorkerTransport[Any]
        if self.cluster is None:
            self.transport = ProcessTransport(killed_with_parent=not any(task.keeps_results for task in tasks))
        else:
            self.transport = RayTransport(self.cluster, num_cpus=self.cluster.cores_each, scheduling_strategy="SPREAD")

    def work(self, stops: StopRequests) -> None:
        """Runs all tasks."""
        try:
            self._start_all()
            polled_at = time.monotonic()
            while self._is_busy():
                if stops.requested and not self.is_stopped:
                    self._stop()
                self._listen(POLL_SECONDS)
                polled_at, before = time.monotonic(), polled_at
                self._kill_silent(min(polled_at - before, MAX_SILENCE_PER_POLL_SECONDS))
        finally:
            self._end()
        if self.error is not None:
            raise self.error
        if self.is_stopped:
            raise KeyboardInterrupt

    def _is_busy(self) -> bool:
        """Whether a task is in progress, or waits for a worker to start."""
        return any(worker.task is not None or (self.waiting and not worker.is_ready) for worker in self.workers)

    def _start_all(self) -> None:
        try:
            for _ in range(self.count):
                self._start()
        except OSError as error:
            raise ExperimentError(
                f"of {self.count} processes {len(self.workers)} could be started ({error.strerror}): "
                f"use fewer {self.option}"
            ) from None

    def _start(self) -> None:
        check = None if self.cluster is None else self.cluster.check
        worker: _Worker[T] = _Worker(self.transport.start(serve, check, self.cluster is not None))
        self.workers.append(worker)
        if self.cluster is None:
            worker.is_ready = True
            self._assign(worker)

    def _listen(self, seconds: float) -> None:
        for handle, message in self.transport.poll(seconds):
            worker = next((worker for worker in self.workers if worker.handle is handle), None)
            if worker is not None:
                self._receive(worker, message)

    def _receive(self, worker: _Worker[T], message: Any) -> None:
        worker.silence = 0.0
        if isinstance(message, Lost):
            self._lose(worker, message.reason)
        elif not isinstance(message, Ready):
            self._handle(worker, *message)

    def _handle(self, worker: _Worker[T], kind: str, content: Any) -> None:
        task = worker.task
        if kind == "report":
            assert task is not None, "only tasks report"
            worker.has_reported = True
            self.lost_in_a_row = 0
            self.on_report(task, content)
            return
        worker.task = None
        if kind == "started":
            worker.is_ready = True
            self._assign(worker)
        elif kind == "failed":
            self._fail(content)
        elif content:
            assert task is not None, "it had a task"
            self.on_finished(task)
            self._assign(worker)

    def _assign(self, worker: _Worker[T]) -> None:
        while self.waiting and not self.wanted(self.waiting[0]):
            self.waiting.popleft()
        if self.waiting:
            worker.task, worker.has_reported, worker.silence = self.waiting.popleft(), False, 0.0
            self.transport.send(worker.task, worker.handle)

    def _kill_silent(self, seconds: float) -> None:
        """Adds `seconds` to the silence of all workers, and kills those that were silent for too long."""
        if self.losses is None or self.cluster is not None:
            return
        limit = self.losses.silent_seconds
        for worker in [worker for worker in self.workers if worker.task is not None]:
            worker.silence += seconds
            if worker.silence > limit:
                self._lose(worker, f"made no progress for {limit:g} s and was killed")

    def _lose(self, worker: _Worker[T], reason: str) -> None:
        """Removes a lost worker, and replaces it if there are tasks."""
        self._drop(worker)
        try:
            replacements = self._on_cluster(worker) if self.cluster is not None else self._on_machine(worker, reason)
        except ExperimentError as error:
            self._fail(error)
            return
        if self.error is not None or self.is_stopped:
            return
        self.waiting.extendleft(reversed(replacements))
        if self.waiting:
            try:
                self._start()
            except OSError as error:
                self._fail(ExperimentError(f"a process could not be started again: {error.strerror}"))
            for idle in [worker for worker in self.workers if worker.is_ready and worker.task is None]:
                self._assign(idle)

    def _on_machine(self, worker: _Worker[T], reason: str) -> Sequence[T]:
        """Returns the tasks that replace the task of a lost worker.

        Raises:
            ExperimentError: all tasks end.
        """
        if worker.task is None:
            return ()
        if self.losses is None:
            advice = f"out of memory, or killed): start again, perhaps with fewer {self.option}"
            raise ExperimentError(f"a task failed, as its process {reason} ({advice}")
        replacements = self.losses.on_lost(worker.task, f"its process {reason}")
        self.lost_in_a_row += 1
        if self.lost_in_a_row >= MAX_LOSSES_IN_A_ROW:
            raise ExperimentError(
                f"{self.lost_in_a_row} processes were lost in a row, the last as its process {reason}: check the "
                f"agents and the game, or use fewer {self.option} if memory ran out"
            )
        return replacements

    def _on_cluster(self, worker: _Worker[T]) -> Sequence[T]:
        """As `_on_machine`, on a cluster."""
        task = worker.task
        key = None if task is None else id(task)
        self.attempts[key] += 1
        most = MAX_ATTEMPTS * (self.count if task is None else 1)
        if self.attempts[key] >= most or (task is not None and worker.has_reported and not task.keeps_results):
            raise ExperimentError(
                "a process of the cluster was lost (out of memory, or with its node): "
                "finished work is kept: run the command again to continue"
            )
        return () if task is None else (task,)

    def _fail(self, error: AthenanError) -> None:
        self.error = self.error or error
        self._request_stops()

    def _stop(self) -> None:
        """Asks tasks with results to save them, and kills the workers of the others."""
        self.is_stopped = True
        self.waiting.clear()
        self._listen(0.0)
        for worker in list(self.workers):
            if worker.task is not None and not (worker.task.keeps_results and worker.has_reported):
                self._drop(worker)
        self._request_stops()

    def _request_stops(self) -> None:
        self.waiting.clear()
        busy = [worker.handle for worker in self.workers if worker.task is not None]
        if busy:
            self.transport.send(_STOP, *busy)

    def _drop(self, worker: _Worker[T]) -> None:
        self.workers.remove(worker)
        self.transport.kill(worker.handle)

    def _end(self) -> None:
        """Ends the workers: kills busy ones, which only exist after an exception, and closes idle ones."""
        for worker in [worker for worker in self.workers if worker.task is not None or not worker.is_ready]:
            self._drop(worker)
        self.transport.end(*(worker.handle for worker in self.workers))


def serve(mailbox: Mailbox, check: Callable[[], str | None] | None, on_cluster: bool) -> None:
    """Runs the tasks that a worker receives, until its mailbox is closed.

    Args:
        check: called first; returns the problem of this machine, or None if there is none. None: no check.
        on_cluster: whether unexpected errors are sent. Otherwise the worker's process prints them and ends.
    """
    if check is not None and (problem := check()) is not None:
        mailbox.send(("failed", ExperimentError(f"node {socket.gethostname()} of the cluster: {problem}")))
        return
    if on_cluster:
        mailbox.send(("started", None))
    while True:
        task: Any = mailbox.get(None)
        if task == _STOP:  # it arrived after the end of the task
            continue
        try:
            mailbox.send(("done", do_task(task, lambda message: mailbox.send(("report", message)), _Stop(mailbox))))
        except AthenanError as error:
            mailbox.send(("failed", error))
        except BaseException as error:
            if not on_cluster:
                raise
            problem = f"a task failed on {socket.gethostname()}: {type(error).__name__}: {last_line(error)}"
            mailbox.send(("failed", ExperimentError(problem)))


class _Stop:
    """Function that returns whether the current task should stop: any message means so, as tasks come one by one."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self._came = False

    def __call__(self) -> bool:
        try:
            self._came = self._came or self._mailbox.get() is not None
        except MailboxClosedError:
            self._came = True
        return self._came
