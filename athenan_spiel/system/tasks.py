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

import contextlib
import socket
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from athenan_spiel.errors import AthenanError, ExperimentError
from athenan_spiel.system.cluster import Cluster, last_line
from athenan_spiel.system.inline_transport import InlineTransport
from athenan_spiel.system.process_transport import ProcessTransport
from athenan_spiel.system.ray_transport import RayTransport
from athenan_spiel.system.stopping import StopRequests
from athenan_spiel.system.transport import Mailbox, MailboxClosedError, Ready, WorkerTransport
from athenan_spiel.system.worker_pool import PoolWorker, WorkerPool

POLL_SECONDS = 0.2
"""Time between two checks for a stop request, in seconds."""
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
    reuses_processes: bool = True,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Runs all `tasks`, which start in their order.

    Args:
        on_report: called with a task and its report.
        on_finished: called with each finished task.
        wanted: called before a task is started; if it returns False, the task is skipped.
        cluster: cluster whose processes run the tasks; None: processes of this machine.
        losses: policy for lost processes; on a cluster, for tasks whose last attempt was lost. With a policy, no task
            runs in this process. None: a loss ends all tasks.
        reuses_processes: whether a process runs several tasks.
        stop: called regularly while processes run tasks; returns whether to stop, as a signal does.

    Raises:
        KeyboardInterrupt: a stop was requested; results are saved, unless Ctrl-C came twice.
        ExperimentError: a process was lost or could not be started, or the disk is full or memory ran out in a task.
            With `losses`: `MAX_LOSSES_IN_A_ROW` processes were lost in a row.
        AthenanError: raised by a task.
    """
    if not tasks:
        return
    count, stops = min(processes, len(tasks)), StopRequests(stop, raises=True)
    transport: WorkerTransport[Any]
    with contextlib.ExitStack() as stack:
        if cluster is not None:
            transport = RayTransport(cluster, num_cpus=cluster.cores_each, scheduling_strategy="SPREAD")
            stack.enter_context(stops)
        elif losses is not None or count > 1:
            transport = ProcessTransport(killed_with_parent=not any(task.keeps_results for task in tasks))
            stack.enter_context(stops)
        else:  # a task in this process handles Ctrl-C itself
            transport = InlineTransport()
        option = tasks[0].processes_option
        pool = TaskPool(
            count,
            option,
            on_report,
            on_finished,
            wanted,
            transport=transport,
            cluster=cluster,
            losses=losses,
            reuses_processes=reuses_processes,
        )
        pool.add(tasks)
        pool.work(stops)


def _do_task(task: Task, report: Callable[[Any], None], stop: Callable[[], bool]) -> bool:
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
class _TaskWorker(PoolWorker, Generic[T]):
    """State of a worker.

    Attributes:
        may_work: whether it may get tasks; on a cluster only once there is room for it and its machine is checked.
        task: the current task, if any.
        has_reported: whether that task has reported something.
    """

    may_work: bool = False
    task: T | None = None
    has_reported: bool = False


class TaskPool(WorkerPool[_TaskWorker[T]]):
    """Workers that run tasks. `start` starts them, `add` gives them tasks, and `listen` receives their reports.

    Args:
        count: number of workers.
        option: option that limits the number of workers.
        on_report, on_finished, wanted, cluster, losses, reuses_processes: as for `do_tasks`.
        transport: transport of the workers.

    Attributes:
        error: error that has ended all tasks; None if there was none.
        is_stopped: whether the tasks were stopped.
    """

    _transport: WorkerTransport[Any]

    def __init__(
        self,
        count: int,
        option: str,
        on_report: Callable[[T, Any], None],
        on_finished: Callable[[T], None],
        wanted: Callable[[T], bool] = lambda task: True,
        *,
        transport: WorkerTransport[Any],
        cluster: Cluster | None = None,
        losses: LossPolicy[T] | None = None,
        reuses_processes: bool = True,
    ) -> None:
        super().__init__(transport)
        self._count = count
        self._option = option
        self._on_report = on_report
        self._on_finished = on_finished
        self._wanted = wanted
        self._cluster = cluster
        self._losses = losses
        self._reuses_processes = reuses_processes
        self._waiting: deque[T] = deque()
        self._lost_in_a_row = 0
        self._attempts: Counter[int | None] = Counter()
        self.error: AthenanError | None = None
        self.is_stopped = False

    @property
    def is_busy(self) -> bool:
        """Whether a task is in progress, or waits for a worker to start."""
        return any(worker.task is not None or (self._waiting and not worker.may_work) for worker in self._all())

    def start(self) -> None:
        """Starts the workers.

        Raises:
            ExperimentError: a process could not be started.
        """
        try:
            for _ in range(self._count):
                self._start()
        except OSError as error:
            raise ExperimentError(
                f"only {len(self._by_handle)} of {self._count} processes could be started ({error.strerror}): "
                f"use fewer {self._option}"
            ) from None

    def add(self, tasks: Iterable[T]) -> None:
        """Adds tasks, which start in their order."""
        self._waiting.extend(tasks)
        self._assign_all()

    def work(self, stops: StopRequests) -> None:
        """Runs all tasks, and ends the workers.

        Raises:
            KeyboardInterrupt, AthenanError: as `do_tasks`.
        """
        try:
            self.start()
            while self.is_busy:
                if not self.is_stopped and stops.requested:
                    self._stop()
                self.listen(POLL_SECONDS)
        finally:
            self.close()
        if self.error is not None:
            raise self.error
        if self.is_stopped:
            raise KeyboardInterrupt

    def close(self) -> None:
        """Ends the workers: kills those that have tasks, and closes the mailboxes of the others."""
        for worker in self._all():
            if worker.task is not None or not worker.may_work:
                self._remove(worker)
        self._transport.end(*self._by_handle)
        self._by_handle.clear()

    def _all(self) -> list[_TaskWorker[T]]:
        return list(self._by_handle.values())

    def _start(self) -> None:
        check = None if self._cluster is None else self._cluster.check
        on_cluster = self._cluster is not None
        worker = _TaskWorker[T](self._transport.start(serve, check, on_cluster), may_work=not on_cluster)
        self._register(worker)
        self._assign(worker)

    def _receive(self, worker: _TaskWorker[T], message: Any) -> None:
        if isinstance(message, Ready):
            return
        kind, content = message
        task = worker.task
        if kind == "report":
            assert task is not None, "only tasks report"
            worker.has_reported = True
            self._lost_in_a_row = 0
            self._on_report(task, content)
            return
        worker.task = None
        if kind == "started":
            worker.may_work = True
            self._assign(worker)
        elif kind == "failed":
            self._fail(content)
        elif content:
            assert task is not None, "it had a task"
            self._on_finished(task)
            if self._reuses_processes:
                self._assign(worker)
            else:
                self._remove(worker)
                self._replace()
        else:
            self.is_stopped = True
            self._waiting.clear()

    def _assign_all(self) -> None:
        for worker in self._all():
            self._assign(worker)

    def _assign(self, worker: _TaskWorker[T]) -> None:
        """Gives a worker the next task, if it has none."""
        if worker.task is not None or not worker.may_work:
            return
        while self._waiting and not self._wanted(self._waiting[0]):
            self._waiting.popleft()
        if self._waiting:
            worker.task, worker.has_reported, worker.silence = self._waiting.popleft(), False, 0.0
            self._transport.send(worker.task, worker.handle)

    def _patience(self, worker: _TaskWorker[T]) -> float | None:
        if self._losses is None or worker.task is None:
            return None
        return self._losses.silent_seconds

    def _on_silent(self, worker: _TaskWorker[T], limit: float) -> None:
        self._on_lost(worker, f"made no progress for {limit:g} s and was killed")

    def _on_lost(self, worker: _TaskWorker[T], reason: str) -> None:
        """Removes a lost worker, and replaces it if there are tasks."""
        self._remove(worker)
        try:
            replacements = (
                self._on_cluster(worker, reason) if self._cluster is not None else self._on_machine(worker, reason)
            )
        except ExperimentError as error:
            self._fail(error)
            return
        if self.error is not None or self.is_stopped:
            return
        self._waiting.extendleft(reversed(replacements))
        self._replace()
        self._assign_all()

    def _replace(self) -> None:
        """Starts a worker for one that was removed, if there are tasks."""
        if self._waiting:
            try:
                self._start()
            except OSError as error:
                self._fail(ExperimentError(f"a process could not be started again: {error.strerror}"))

    def _on_machine(self, worker: _TaskWorker[T], reason: str) -> Sequence[T]:
        """Returns the tasks that replace the task of a lost worker.

        Raises:
            ExperimentError: all tasks end.
        """
        if worker.task is None or (self._losses is not None and self.is_stopped):
            return ()
        if self._losses is None:
            advice = f"out of memory, or killed): start again, perhaps with fewer {self._option}"
            raise ExperimentError(f"a task failed, as its process {reason} ({advice}")
        replacements = self._losses.on_lost(worker.task, f"its process {reason}")
        self._lost_in_a_row += 1
        if self._lost_in_a_row >= MAX_LOSSES_IN_A_ROW:
            raise ExperimentError(
                f"{self._lost_in_a_row} processes were lost in a row, the last as its process {reason}: check the "
                f"agents and the game, or use fewer {self._option} if memory ran out"
            )
        return replacements

    def _on_cluster(self, worker: _TaskWorker[T], reason: str) -> Sequence[T]:
        """As `_on_machine`, on a cluster, which attempts a task several times."""
        task = worker.task
        key = None if task is None else id(task)
        self._attempts[key] += 1
        most = MAX_ATTEMPTS * (self._count if task is None else 1)
        if self._attempts[key] >= most or (task is not None and worker.has_reported and not task.keeps_results):
            if self._losses is not None and task is not None:
                return self._losses.on_lost(task, f"its process {reason}")
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
        self._waiting.clear()
        self.listen(0.0)
        for worker in self._all():
            if worker.task is not None and not (worker.task.keeps_results and worker.has_reported):
                self._remove(worker)
        self._request_stops()

    def _request_stops(self) -> None:
        self._waiting.clear()
        busy = [worker.handle for worker in self._all() if worker.task is not None]
        if busy:
            self._transport.send(_STOP, *busy)


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
            mailbox.send(("done", _do_task(task, lambda message: mailbox.send(("report", message)), _Stop(mailbox))))
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
