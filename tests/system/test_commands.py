"""A command in a process of its own: what it answers comes back, and it never outlives who began it."""

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
from athenan_spiel.system.commands import Answer, Command

LONG = ["eval", "random", "--against", "mcts:100000", "--game", "connect_four", "--matches", "1000"]
"""Hours of matches."""


def answered(words: list[str]) -> Answer:
    command = Command(words)
    try:
        answer = command.answer(HANG_SECONDS)
    finally:
        command.close()
    assert answer is not None
    return answer


def is_there(process: int) -> bool:
    """Whether it still runs: one that has ended and that nobody has asked for yet does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_what_it_writes_comes_back(capfd: pytest.CaptureFixture[str]) -> None:
    answer = answered(["--version"])
    assert (answer.code, answer.errors) == (0, "")
    assert answer.output.startswith("athenan ")
    answer = answered(["evla"])
    assert (answer.code, answer.output) == (2, "")
    assert "expected one of train, " in answer.errors
    assert capfd.readouterr() == ("", ""), "and nobody sees it"


def test_nothing_is_imported_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("athenan_spiel", "rich", "json"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('imported from here')\n")
    monkeypatch.chdir(tmp_path)
    assert answered(["--version"]).code == 0


def test_it_runs_beside_and_is_ended() -> None:
    command = Command(LONG)
    process = command._process.pid
    assert process is not None
    assert command.answer() is None
    time.sleep(1.0)
    assert command.answer() is None
    start = time.monotonic()
    command.close()
    assert time.monotonic() - start < HANG_SECONDS
    assert not is_there(process)
    command.close()


def test_one_that_was_killed_has_answered() -> None:
    command = Command(LONG)
    process = command._process.pid
    assert process is not None
    os.kill(process, signal.SIGKILL)
    assert command.answer(HANG_SECONDS) == Answer(-signal.SIGKILL, "", "")
    command.close()


def test_it_does_not_outlive_a_process_that_was_killed(tmp_path: Path) -> None:
    script = tmp_path / "begins.py"
    script.write_text(
        "import time\n"
        "from athenan_spiel.system.commands import Command\n"
        "if __name__ == '__main__':\n"
        f"    print(Command({LONG!r})._process.pid, flush=True)\n"
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
    machine.use_cores(2)
    assert machine.cores() == 2
    machine.use_cores(8)
    assert machine.cores() == 3
