"""Tasks done by processes on a Ray cluster, one each at a time, with what `workers.do_tasks` promises of its own.

1. What comes out is the same, and so is how tasks are stopped: one that keeps something is told to, and waited for; the
   process of another one is ended.
2. A process that is lost with its node, or is killed, is replaced. Its task is begun again, if nothing was reported of
   it or it keeps what it did, `LIVES` times in all; of another one it is told that it is lost.
3. A process that finds no room on the cluster is given no task until it does.
"""

from __future__ import annotations

import contextlib
import pickle
import queue
import socket
import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from athenan_spiel.errors import AthenanError, ExperimentError
from athenan_spiel.system.cluster import Site, Surroundings, last_line, ray
from athenan_spiel.system.stopping import StopRequests
from athenan_spiel.system.tasks import T, Task, done

LOOK_SECONDS = 0.2
"""Between two looks at whether Ctrl-C has come, and at what a task reports."""
LIVES = 3


def do_on_cluster(
    tasks: Sequence[T],
    processes: int,
    on_report: Callable[[T, Any], None],
    on_finished: Callable[[T], None],
    wanted: Callable[[T], bool],
    site: Site,
) -> None:
    """As `workers.do_tasks`.

    Raises:
        KeyboardInterrupt, AthenanError: likewise.
    """
    if tasks:
        _Crew(tasks, processes, on_report, on_finished, wanted, site).work()


class Doer:
    """A process that does tasks; to be made a Ray actor. `begin` comes first."""

    def __init__(self) -> None:
        self._said: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._stopping = threading.Event()

    def begin(self, check: Callable[[], str | None] | None, surroundings: Surroundings) -> str | None:
        """What is wrong with this machine, if anything is."""
        surroundings.enter()
        problem = None if check is None else check()
        return None if problem is None else f"node {socket.gethostname()} of the cluster: {problem}"

    def give(self, task: bytes) -> list[tuple[str, Any]]:
        """Begin a pickled task, which has said nothing yet."""
        threading.Thread(target=self._do, args=(pickle.loads(task),), name="task", daemon=True).start()
        return []

    def stop(self) -> None:
        """Let the task under way end."""
        self._stopping.set()

    def hear(self, seconds: float) -> list[tuple[str, Any]]:
        """What the task says: "report", "done" or "failed", with what it is; waited for so long."""
        said = []
        with contextlib.suppress(queue.Empty):
            said.append(self._said.get(timeout=seconds))
            while True:
                said.append(self._said.get_nowait())
        return said

    def _do(self, task: Task) -> None:
        try:
            finished = done(task, lambda message: self._said.put(("report", message)), self._stopping.is_set)
            self._said.put(("done", finished))
        except AthenanError as error:
            self._said.put(("failed", error))
        except BaseException as error:
            problem = f"a task failed on {socket.gethostname()}: {type(error).__name__}: {last_line(error)}"
            self._said.put(("failed", ExperimentError(problem)))


@dataclass(eq=False)
class _Process(Generic[T]):
    """A doer.

    Attributes:
        actor: Ray's handle.
        answer: of the call under way; None: it has nothing to do.
        has_begun: it may be given tasks.
        task: under way.
        has_reported: that has.
    """

    actor: Any
    answer: Any = None
    has_begun: bool = False
    task: T | None = None
    has_reported: bool = False


class _Crew(Generic[T]):
    """The processes of one `do_on_cluster`."""

    def __init__(
        self,
        tasks: Sequence[T],
        processes: int,
        on_report: Callable[[T, Any], None],
        on_finished: Callable[[T], None],
        wanted: Callable[[T], bool],
        site: Site,
    ) -> None:
        self._tasks = tasks
        self._count = min(processes, len(tasks))
        self._on_report = on_report
        self._on_finished = on_finished
        self._wanted = wanted
        self._begin_with = site.check, Surroundings.here(site)
        self._ray = ray()
        self._class = self._ray.remote(Doer).options(
            num_cpus=site.cores_each, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD"
        )
        self._waiting = deque(tasks)
        self._crew: list[_Process[T]] = []
        self._losses: Counter[int | None] = Counter()
        self._error: AthenanError | None = None
        self._stopped = False

    def work(self) -> None:
        try:
            with StopRequests() as stops:
                self._crew = [self._begun() for _ in range(self._count)]
                while self._waiting or any(process.task is not None for process in self._crew):
                    if stops.requested and not self._stopped:
                        self._stop()
                    self._listen()
        finally:
            for process in self._crew:
                self._end(process)
        if self._error is not None:
            raise self._error
        if self._stopped:
            raise KeyboardInterrupt

    def _begun(self) -> _Process[T]:
        actor = self._class.remote()
        return _Process(actor, actor.begin.remote(*self._begin_with))

    def _listen(self) -> None:
        asked = {process.answer: process for process in self._crew if process.answer is not None}
        if not asked:  # all that is left is wanted no more
            self._waiting.clear()
        elif self._ray.wait(list(asked), timeout=LOOK_SECONDS)[0]:
            for answer in self._ray.wait(list(asked), num_returns=len(asked), timeout=0)[0]:
                if asked[answer] in self._crew:
                    self._hear(asked[answer])

    def _hear(self, process: _Process[T]) -> None:
        try:
            answer = self._ray.get(process.answer)
        except self._ray.exceptions.RayTaskError as error:
            self._drop(process)
            self._fail(ExperimentError(f"a process of the cluster failed: {last_line(error)}"))
            return
        except self._ray.exceptions.RayError:
            self._lose(process)
            return
        if not process.has_begun:
            process.has_begun, process.answer = True, None
            if answer is not None:
                self._fail(ExperimentError(answer))
            self._give(process)
            return
        for kind, content in answer:
            self._take(process, kind, content)
        if process.task is not None:
            process.answer = process.actor.hear.remote(LOOK_SECONDS)

    def _take(self, process: _Process[T], kind: str, content: Any) -> None:
        task = process.task
        assert task is not None, "it says nothing after its end"
        if kind == "report":
            process.has_reported = True
            self._on_report(task, content)
            return
        process.task = process.answer = None
        if kind == "failed":
            self._fail(content)
        elif content:
            self._on_finished(task)
            self._give(process)

    def _give(self, process: _Process[T]) -> None:
        while self._waiting and not self._wanted(self._waiting[0]):
            self._waiting.popleft()
        if self._waiting:
            process.task, process.has_reported = self._waiting.popleft(), False
            process.answer = process.actor.give.remote(pickle.dumps(process.task))

    def _lose(self, process: _Process[T]) -> None:
        """Begin another process in the place of one that is lost, and its task again."""
        task = process.task
        self._drop(process)
        number = next((i for i, other in enumerate(self._tasks) if other is task), None)
        self._losses[number] += 1
        most = LIVES * (self._count if task is None else 1)
        if self._losses[number] >= most or (task is not None and process.has_reported and not task.keeps):
            self._fail(
                ExperimentError(
                    "a process of the cluster was lost (out of memory, or with its node): "
                    "what is finished is kept, start again to go on"
                )
            )
        if self._error is None and not self._stopped:
            if task is not None:
                self._waiting.appendleft(task)
            self._crew.append(self._begun())

    def _fail(self, error: AthenanError) -> None:
        self._error = self._error or error
        self._let_stop()

    def _stop(self) -> None:
        """Let what can be kept be saved, and wait for nothing else."""
        self._stopped = True
        for process in list(self._crew):
            if process.task is None or not (process.task.keeps and process.has_reported):
                self._drop(process)
        self._let_stop()

    def _let_stop(self) -> None:
        self._waiting.clear()
        for process in list(self._crew):
            if process.task is None:
                self._drop(process)
            else:
                process.actor.stop.remote()

    def _drop(self, process: _Process[T]) -> None:
        self._end(process)
        self._crew.remove(process)
        process.task = None

    def _end(self, process: _Process[T]) -> None:
        with contextlib.suppress(Exception):  # whatever Ray says of one that is gone already
            self._ray.kill(process.actor)
