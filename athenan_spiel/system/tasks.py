"""Tasks, such as an experiment's, done by workers on this machine or on a Ray cluster, one each at a time.

1. A task is asked to stop when Ctrl-C, SIGTERM or SIGHUP comes, when another task fails, or when the process that
   started its worker is gone.
2. It then saves what it has and returns False; only a second Ctrl-C ends it at once. If there is nothing to save, its
   worker is ended.
3. With one process, tasks are done in this one, unless losses are to be reported, or a cluster does them.
4. What goes wrong in one, such as a full disk, is reported by the error that is raised, and by nothing else.
5. On this machine a process that ends by itself, or with `Losses` reports nothing for too long, ends all tasks; with
   `Losses` another process takes its place, and the caller decides what becomes of its task.
6. On a cluster a process that is lost with its node, or is killed, is replaced. Its task is started again, if it has
   reported nothing or it keeps its results, `MAX_ATTEMPTS` times in all.
7. On Linux processes of tasks that keep nothing are killed with this one, however it ends.
"""

from __future__ import annotations

import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from athenan_spiel.errors import AthenanError, ExperimentError
from athenan_spiel.system.cluster import Site, last_line
from athenan_spiel.system.process_transport import Processes
from athenan_spiel.system.ray_transport import RayWorkers
from athenan_spiel.system.stopping import StopRequests
from athenan_spiel.system.transport import Lost, Mailbox, MailboxClosedError, Ready, Transport

POLL_SECONDS = 0.2
"""Time between two checks for Ctrl-C, in seconds."""
MAX_SILENCE_PER_POLL_SECONDS = 1.0
"""Silence that one poll can add; more means that this process was stopped itself, by Ctrl-Z for example."""
MAX_LOSSES_IN_A_ROW = 10
"""Maximum number of processes lost without a report between them."""
MAX_ATTEMPTS = 3
"""Maximum number of attempts at a task on a cluster which loses its workers."""
_STOP = "stop"


class Task(Protocol):
    """Something to do in another process, to which it can be sent.

    Attributes:
        keeps: what is done of it is kept when it is stopped, from its first report on.
        processes_option: how a user asks for fewer of them at once.
    """

    keeps: ClassVar[bool]
    processes_option: ClassVar[str]

    def run(self, report: Callable[[Any], None], stop: Callable[[], bool]) -> bool:
        """Does it, reporting on the way; returns True if it is finished, False if `stop` came first."""


T = TypeVar("T", bound=Task)


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
    """Does all `tasks`, started in their order.

    Args:
        on_report: called with a task and what it reports.
        on_finished: called with each task that is finished.
        wanted: called before a task is started; if it returns False, the task is skipped.
        site: the cluster whose processes do them; None: this machine's.
        losses: what to do if a process of this machine is lost; all tasks are done in processes then. None: a loss ends
            all.

    Raises:
        KeyboardInterrupt: Ctrl-C came; what was under way is saved, unless it came twice.
        ExperimentError: a process ended by itself or could not be started, or a task met a full disk or no memory; with
            `losses`: `MAX_LOSSES_IN_A_ROW` processes were lost in a row.
        AthenanError: what a task raised.
    """
    count = min(processes, len(tasks))
    if tasks and (site is not None or losses is not None or count > 1):
        with StopRequests(raises=True) as stops:
            _TaskPool(tasks, count, on_report, on_finished, wanted, site, losses).work(stops)
        return
    for task in filter(wanted, tasks):
        if not done(task, lambda message, task=task: on_report(task, message), lambda: False):  # type: ignore[misc]
            raise KeyboardInterrupt
        on_finished(task)


def done(task: Task, report: Callable[[Any], None], stop: Callable[[], bool]) -> bool:
    """Does a task. What the system refuses becomes an `ExperimentError`, as other errors cannot be sent everywhere."""
    try:
        return task.run(report, stop)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise ExperimentError(
            f"{where}{error.strerror or error}; what is finished is kept: run the command again to continue"
        ) from None
    except MemoryError:
        raise ExperimentError(
            f"memory ran out; what is finished is kept: start again with fewer {task.processes_option}, "
            "or smaller networks"
        ) from None


@dataclass(eq=False)
class _Worker(Generic[T]):
    """A worker.

    Attributes:
        handle: the transport's.
        is_ready: it may be given tasks; on a cluster only once there is room for it.
        task: under way.
        has_reported: that has.
        silence: seconds without a message since it was given.
    """

    handle: Any
    is_ready: bool = False
    task: T | None = None
    has_reported: bool = False
    silence: float = 0.0


class _TaskPool(Generic[T]):
    """The workers of one `do_tasks`."""

    def __init__(
        self,
        tasks: Sequence[T],
        count: int,
        on_report: Callable[[T, Any], None],
        on_finished: Callable[[T], None],
        wanted: Callable[[T], bool],
        site: Site | None,
        losses: Losses[T] | None,
    ) -> None:
        self._option = tasks[0].processes_option
        self._count = count
        self._on_report = on_report
        self._on_finished = on_finished
        self._wanted = wanted
        self._site = site
        self._losses = losses
        self._transport: Transport[Any]
        if site is None:
            self._transport = Processes(bound=not any(task.keeps for task in tasks))
        else:
            self._transport = RayWorkers(site, num_cpus=site.cores_each, scheduling_strategy="SPREAD")
        self._waiting = deque(tasks)
        self._workers: list[_Worker[T]] = []
        self._lost_in_a_row = 0
        self._attempts: Counter[int | None] = Counter()
        self._error: AthenanError | None = None
        self._stopped = False

    def work(self, stops: StopRequests) -> None:
        try:
            self._start_all()
            polled_at = time.monotonic()
            while self._is_busy():
                if stops.requested and not self._stopped:
                    self._stop()
                self._listen(POLL_SECONDS)
                polled_at, before = time.monotonic(), polled_at
                self._kill_silent(min(polled_at - before, MAX_SILENCE_PER_POLL_SECONDS))
        finally:
            self._end()
        if self._error is not None:
            raise self._error
        if self._stopped:
            raise KeyboardInterrupt

    def _is_busy(self) -> bool:
        """Whether a task is under way, or will be once its worker has started."""
        return any(worker.task is not None or (self._waiting and not worker.is_ready) for worker in self._workers)

    def _start_all(self) -> None:
        try:
            for _ in range(self._count):
                self._start()
        except OSError as error:
            raise ExperimentError(
                f"of {self._count} processes {len(self._workers)} could be started ({error.strerror}): "
                f"take fewer {self._option}"
            ) from None

    def _start(self) -> None:
        check = None if self._site is None else self._site.check
        worker: _Worker[T] = _Worker(self._transport.start(serve, check, self._site is not None))
        self._workers.append(worker)
        if self._site is None:
            worker.is_ready = True
            self._give(worker)

    def _listen(self, seconds: float) -> None:
        for handle, message in self._transport.poll(seconds):
            worker = next((worker for worker in self._workers if worker.handle is handle), None)
            if worker is not None:
                self._receive(worker, message)

    def _receive(self, worker: _Worker[T], message: Any) -> None:
        worker.silence = 0.0
        if isinstance(message, Lost):
            self._lose(worker, message.reason)
        elif not isinstance(message, Ready):
            self._hear(worker, *message)

    def _hear(self, worker: _Worker[T], kind: str, content: Any) -> None:
        task = worker.task
        if kind == "report":
            assert task is not None, "it reports nothing before or after its task"
            worker.has_reported = True
            self._lost_in_a_row = 0
            self._on_report(task, content)
            return
        worker.task = None
        if kind == "started":
            worker.is_ready = True
            self._give(worker)
        elif kind == "failed":
            self._fail(content)
        elif content:
            assert task is not None, "it had one"
            self._on_finished(task)
            self._give(worker)

    def _give(self, worker: _Worker[T]) -> None:
        while self._waiting and not self._wanted(self._waiting[0]):
            self._waiting.popleft()
        if self._waiting:
            worker.task, worker.has_reported, worker.silence = self._waiting.popleft(), False, 0.0
            self._transport.send(worker.task, worker.handle)

    def _kill_silent(self, seconds: float) -> None:
        """Kills the processes that have reported nothing for too long, after `seconds` more."""
        if self._losses is None or self._site is not None:
            return
        limit = self._losses.silent_seconds
        for worker in [worker for worker in self._workers if worker.task is not None]:
            worker.silence += seconds
            if worker.silence > limit:
                self._lose(worker, f"made no progress for {limit:g} s and was killed")

    def _lose(self, worker: _Worker[T], reason: str) -> None:
        """Continues without a worker that is lost."""
        self._drop(worker)
        try:
            again = self._on_cluster(worker) if self._site is not None else self._on_machine(worker, reason)
        except ExperimentError as error:
            self._fail(error)
            return
        if self._error is not None or self._stopped:
            return
        self._waiting.extendleft(reversed(again))
        if self._waiting:
            try:
                self._start()
            except OSError as error:
                self._fail(ExperimentError(f"a process could not be started again: {error.strerror}"))
            for idle in [worker for worker in self._workers if worker.is_ready and worker.task is None]:
                self._give(idle)

    def _on_machine(self, worker: _Worker[T], reason: str) -> Sequence[T]:
        """Returns the tasks that take the place of a lost one.

        Raises:
            ExperimentError: all end.
        """
        if worker.task is None:
            return ()
        if self._losses is None:
            advice = f"out of memory, or killed): start again, perhaps with fewer {self._option}"
            raise ExperimentError(f"a task failed, as its process {reason} ({advice}")
        again = self._losses.on_lost(worker.task, f"its process {reason}")
        self._lost_in_a_row += 1
        if self._lost_in_a_row >= MAX_LOSSES_IN_A_ROW:
            raise ExperimentError(
                f"{self._lost_in_a_row} processes were lost in a row, the last as its process {reason}: look at the "
                f"agents and the game, or take fewer {self._option} if memory runs out"
            )
        return again

    def _on_cluster(self, worker: _Worker[T]) -> Sequence[T]:
        """As `_on_machine`, for a process of a cluster."""
        task = worker.task
        key = None if task is None else id(task)
        self._attempts[key] += 1
        most = MAX_ATTEMPTS * (self._count if task is None else 1)
        if self._attempts[key] >= most or (task is not None and worker.has_reported and not task.keeps):
            raise ExperimentError(
                "a process of the cluster was lost (out of memory, or with its node): "
                "what is finished is kept: run the command again to continue"
            )
        return () if task is None else (task,)

    def _fail(self, error: AthenanError) -> None:
        self._error = self._error or error
        self._let_stop()

    def _stop(self) -> None:
        """Lets what can be kept be saved, and waits for nothing else."""
        self._stopped = True
        self._waiting.clear()
        self._listen(0.0)
        for worker in list(self._workers):
            if worker.task is not None and not (worker.task.keeps and worker.has_reported):
                self._drop(worker)
        self._let_stop()

    def _let_stop(self) -> None:
        self._waiting.clear()
        busy = [worker.handle for worker in self._workers if worker.task is not None]
        if busy:
            self._transport.send(_STOP, *busy)

    def _drop(self, worker: _Worker[T]) -> None:
        self._workers.remove(worker)
        self._transport.kill(worker.handle)

    def _end(self) -> None:
        """Ends the workers: the idle ones end by themselves, the busy ones, if an exception has left any, do not."""
        for worker in [worker for worker in self._workers if worker.task is not None or not worker.is_ready]:
            self._drop(worker)
        self._transport.end(*(worker.handle for worker in self._workers))


def serve(mailbox: Mailbox, check: Callable[[], str | None] | None, on_cluster: bool) -> None:
    """Does the tasks that come to a worker until its mailbox is closed.

    Args:
        check: called first; returns what is wrong with this machine, or None. None: nothing is checked.
        on_cluster: an unexpected error is sent as well; else it ends the worker's process, which prints it.
    """
    if check is not None and (problem := check()) is not None:
        mailbox.send(("failed", ExperimentError(f"node {socket.gethostname()} of the cluster: {problem}")))
        return
    if on_cluster:
        mailbox.send(("started", None))
    while True:
        task: Any = mailbox.get(None)
        if task == _STOP:  # which came after the end of a task
            continue
        try:
            mailbox.send(("done", done(task, lambda message: mailbox.send(("report", message)), _Stop(mailbox))))
        except AthenanError as error:
            mailbox.send(("failed", error))
        except BaseException as error:
            if not on_cluster:
                raise
            problem = f"a task failed on {socket.gethostname()}: {type(error).__name__}: {last_line(error)}"
            mailbox.send(("failed", ExperimentError(problem)))


class _Stop:
    """Whether the task under way should stop: the next message says so, as there is no other task before its end."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self._came = False

    def __call__(self) -> bool:
        try:
            self._came = self._came or self._mailbox.get() is not None
        except MailboxClosedError:
            self._came = True
        return self._came
