"""Processes that are stopped, or of which the parent is stopped, end no task wrongly and block nothing for ever."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from clocks import HANG_SECONDS

from athenan_spiel.errors import ExperimentError
from athenan_spiel.system import process_transport, worker_pool
from athenan_spiel.system.tasks import LossPolicy, do_tasks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads from /proc which processes there are")
LARGE = bytes(2**23)
"""More than a connection takes before it is read."""


@dataclass(frozen=True)
class Wait:
    """Waits until the file `path` is there, if there is one, and reports the number of its process before and after."""

    keeps_results: ClassVar[bool] = False
    processes_option: ClassVar[str] = "--processes"
    name: str
    path: Path | None = None
    load: bytes = b""

    def run(self, report: Callable[[Any], None], stop: Callable[[], bool]) -> bool:
        report(os.getpid())
        while self.path is not None and not self.path.exists():
            time.sleep(0.05)
        report(os.getpid())
        return True


def children() -> set[int]:
    """The processes that this one's main thread has spawned."""
    pids = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return {int(pid) for pid in pids if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()}


def test_an_idle_process_that_is_stopped_is_killed_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_transport, "END_SECONDS", 1.0)
    go_on, stopped = tmp_path / "go on", []

    def on_report(task: Wait, pid: int) -> None:
        if task.name == "short":
            stopped.append(pid)

    def on_finished(task: Wait) -> None:
        if task.name == "short":
            os.kill(stopped[0], signal.SIGSTOP)
            go_on.touch()

    do_tasks([Wait("short"), Wait("long", go_on)], 2, on_report, on_finished)
    assert not Path(f"/proc/{stopped[0]}").exists()


@pytest.mark.slow(reason="a process has fifteen seconds to read its task")
def test_a_process_that_is_stopped_before_it_reads_its_task_is_lost() -> None:
    before, stopped, lost = children(), [], []

    def stop_first() -> None:
        until = time.monotonic() + HANG_SECONDS
        while time.monotonic() < until and not stopped:
            for pid in children() - before:
                os.kill(pid, signal.SIGSTOP)
                stopped.append(pid)

    def on_lost(task: Wait, reason: str) -> list[Wait]:
        lost.append((task.name, reason))
        return []

    stopper = threading.Thread(target=stop_first)
    stopper.start()
    finished: list[str] = []
    waiting = [Wait("first", load=LARGE), Wait("second", load=LARGE)]
    do_tasks(waiting, 1, lambda *told: None, lambda task: finished.append(task.name), losses=LossPolicy(on_lost, 15.0))
    stopper.join()
    assert lost == [("first", "its process made no progress for 15 s and was killed")]
    assert finished == ["second"]


def test_time_in_which_this_process_is_stopped_is_no_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Ctrl-Z stops it with its children, which report nothing meanwhile."""
    go_on, now = tmp_path / "go on", time.monotonic
    begun: list[float] = []

    def on_report(task: Wait, pid: int) -> None:
        if not begun:
            begun.append(now())

    def monotonic() -> float:
        if begun and now() > begun[0] + 1.0:
            go_on.touch()
            return now() + 1000.0
        return now()

    monkeypatch.setattr(worker_pool.time, "monotonic", monotonic)
    lost: list[str] = []
    losses = LossPolicy[Wait](lambda task, reason: lost.append(reason) or [], 100.0)  # type: ignore[func-returns-value]
    do_tasks([Wait("only", go_on)], 1, on_report, lambda task: None, losses=losses)
    assert lost == []


def fail_to_load() -> None:
    raise AttributeError("a name that is not there")


class Unreadable(Wait):
    """A task that the worker cannot unpickle."""

    def __reduce__(self) -> Any:
        return fail_to_load, ()


def test_a_task_that_cannot_be_unpickled_is_an_error_with_its_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ExperimentError, match=r"a task failed, as its process ended with code 1 "):
        do_tasks([Unreadable("a"), Unreadable("b")], 2, lambda *told: None, lambda task: None)
    assert "AttributeError: a name that is not there" in capfd.readouterr().err


@pytest.mark.parametrize(("reuses", "count"), [(True, 1), (False, 3)])
def test_a_process_runs_several_tasks_or_one(reuses: bool, count: int) -> None:
    found: list[int] = []
    losses: LossPolicy[Wait] = LossPolicy(lambda task, reason: (), HANG_SECONDS)
    tasks = [Wait(name) for name in "abc"]
    do_tasks(tasks, 1, lambda task, pid: found.append(pid), lambda task: None, losses=losses, reuses_processes=reuses)
    assert (len(found), len(set(found))) == (6, count)
