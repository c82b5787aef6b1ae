"""A call in a process of its own: its result comes back, and it never outlives the process that began it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from clocks import HANG_SECONDS

from athenan_spiel.system import machine
from athenan_spiel.system.process_call import CallResult, ProcessCall

ENDLESS = ("time:sleep", 10_000.0)


def result_of(function: str, *arguments: object) -> CallResult:
    call = ProcessCall(function, *arguments)
    try:
        result = call.result(HANG_SECONDS)
    finally:
        call.close()
    assert result is not None
    return result


def is_there(process: int) -> bool:
    """Whether it still runs: one that has ended and that nobody has asked for yet does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_the_result_comes_back(capfd: pytest.CaptureFixture[str]) -> None:
    assert result_of("builtins:sum", [1, 2, 3]) == CallResult(value=6)
    assert result_of("builtins:print", "hello") == CallResult(value=None)
    assert capfd.readouterr() == ("", ""), "and what it writes is shown to nobody"


def test_an_error_is_one_line() -> None:
    problem = result_of("athenan_spiel.games:load_game", "chess(\n").problem
    assert problem is not None
    assert len(problem.splitlines()) == 1
    assert "chess" in problem
    assert "Error" not in problem
    assert result_of("asyncio:get_running_loop") == CallResult(problem="no running event loop"), "as Ludii's errors"
    assert result_of("operator:truediv", 1, 0) == CallResult(problem="ZeroDivisionError: 'division by zero'")


def test_nothing_is_imported_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("athenan_spiel", "rich", "json"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('imported from here')\n")
    monkeypatch.chdir(tmp_path)
    assert result_of("json:dumps", 1) == CallResult(value="1")


def test_it_runs_beside_and_is_ended() -> None:
    call = ProcessCall(*ENDLESS)
    process = call._worker.process.pid
    assert process is not None
    assert call.result() is None
    time.sleep(1.0)
    assert call.result() is None
    start = time.monotonic()
    call.close()
    assert time.monotonic() - start < HANG_SECONDS
    assert not is_there(process)
    call.close()


def test_one_that_was_killed_has_answered() -> None:
    call = ProcessCall(*ENDLESS)
    process = call._worker.process.pid
    assert process is not None
    os.kill(process, signal.SIGKILL)
    assert call.result(HANG_SECONDS) == CallResult(problem="its process ended by signal 9 (SIGKILL)")
    call.close()


def test_it_does_not_outlive_a_process_that_was_killed(tmp_path: Path) -> None:
    script = tmp_path / "begins.py"
    script.write_text(
        "import time\n"
        "from athenan_spiel.system.process_call import ProcessCall\n"
        "if __name__ == '__main__':\n"
        f"    print(ProcessCall(*{ENDLESS!r})._worker.process.pid, flush=True)\n"
        "    time.sleep(1000)\n"
    )
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    process = int(parent.stdout.readline())
    assert is_there(process)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    until = time.monotonic() + HANG_SECONDS
    while is_there(process) and time.monotonic() < until:
        time.sleep(0.1)
    assert not is_there(process)


def test_it_has_one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_share", None)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2})
    assert machine.cores() == 3
    machine.limit_cores(2)
    assert machine.cores() == 2
    machine.limit_cores(8)
    assert machine.cores() == 3
