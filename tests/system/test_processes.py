"""Processes that the library begins: what they hear, and what of a script they run again."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from athenan_spiel.system import processes

ROOT = Path(__file__).resolve().parents[2]
UNGUARDED = """
from athenan_spiel.system.processes import start_process
print("the script runs", flush=True)
process = start_process(print, "the child runs")
process.join()
print(f"code {process.exitcode}")
"""
GUARDED = """
from athenan_spiel.system.processes import start_process
words = ["what is here"]
def tell():
    print("the child knows", *words)
if __name__ == "__main__":
    process = start_process(tell)
    process.join()
    print(f"code {process.exitcode}")
"""


def output_of(*words: str, script: str = "", folder: Path | None = None) -> list[str]:
    process = subprocess.run(
        [sys.executable, *words],
        input=script,
        cwd=folder,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
    )
    assert process.stderr == ""
    return process.stdout.splitlines()


@pytest.mark.parametrize("way", ["a file", "standard input", "a word"])
def test_a_script_without_a_guard_runs_once(way: str, tmp_path: Path) -> None:
    """Today's Python would run it again in the child, which fails as it begins a child of its own."""
    (tmp_path / "script.py").write_text(UNGUARDED)
    words = {"a file": [str(tmp_path / "script.py")], "standard input": ["-"], "a word": ["-c", UNGUARDED]}[way]
    script = UNGUARDED if way == "standard input" else ""
    assert output_of(*words, script=script) == ["the script runs", "the child runs", "code 0"]


def test_a_child_imports_nothing_from_the_current_folder(tmp_path: Path) -> None:
    """Python's spawned processes look there even for `socket`, which they need before they are told where to look."""
    (tmp_path / "script").mkdir()
    (tmp_path / "script" / "script.py").write_text(GUARDED)
    (tmp_path / "downloads").mkdir()
    for name in ("multiprocessing", "pickle", "random", "signal", "socket", "struct", "tempfile"):
        (tmp_path / "downloads" / f"{name}.py").write_text("open('sprung', 'w')")
    script = str(tmp_path / "script" / "script.py")
    assert output_of(script, folder=tmp_path / "downloads") == ["the child knows what is here", "code 0"]
    assert not (tmp_path / "downloads" / "sprung").exists()


def test_a_guarded_script_is_known_to_the_child(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(GUARDED)
    assert output_of(str(tmp_path / "script.py")) == ["the child knows what is here", "code 0"]


DEAF = """
import os, signal, time
from athenan_spiel.system.processes import start_process
def send(number):
    os.kill(os.getpid(), number)
    print("and lives")
if __name__ == "__main__":
    number = signal.SIG{name}
    process = start_process(send, number, blocked_signals=[number])
    process.join()
    print(process.exitcode, number in signal.pthread_sigmask(signal.SIG_BLOCK, []))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_child_does_not_hear_what_it_is_deaf_to(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(DEAF.replace("SIG{name}", number.name))
    assert output_of(str(tmp_path / "script.py")) == ["and lives", "0 False"]


INTERRUPTED = """
import os, signal, threading, time
from multiprocessing import resource_tracker, util
from athenan_spiel.system.processes import start_process

spawn = util.spawnv_passfds

def spawn_and_interrupt(*arguments):
    child = spawn(*arguments)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.5)
    return child

if __name__ == "__main__":
    resource_tracker.ensure_running()
    util.spawnv_passfds = spawn_and_interrupt
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()  # it takes the signal
    start_process(len, b"", blocked_signals=[signal.SIGINT])
    time.sleep(60)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows blocks no signals")
def test_a_process_that_ctrl_c_ends_sends_its_child_all_data_first(tmp_path: Path) -> None:
    """The child would print the traceback of incomplete data."""
    (tmp_path / "script.py").write_text(INTERRUPTED)
    words = [sys.executable, str(tmp_path / "script.py")]
    done = subprocess.run(words, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


LEAVES_NONE = """
import multiprocessing, os, signal, time
from multiprocessing import resource_tracker, util
from athenan_spiel.system.processes import start_process

spawn = util.spawnv_passfds

def spawn_and_interrupt(*arguments):
    child = spawn(*arguments)
    os.kill(os.getpid(), signal.SIGINT)
    return child

if __name__ == "__main__":
    resource_tracker.ensure_running()
    util.spawnv_passfds = spawn_and_interrupt
    try:
        start_process(time.sleep, 60, blocked_signals=[signal.SIGINT, signal.SIGTERM])
    except KeyboardInterrupt:
        print(multiprocessing.active_children())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows blocks no signals")
def test_an_interrupted_start_leaves_no_process(tmp_path: Path) -> None:
    """This process would wait for it at its end, and never end."""
    (tmp_path / "script.py").write_text(LEAVES_NONE)
    assert output_of(str(tmp_path / "script.py")) == ["[]"]


def test_every_process_is_begun_here() -> None:
    """Else an unguarded script would run again in it."""
    package = ROOT / "athenan_spiel"
    begun = {path.name for path in package.rglob("*.py") if re.search(r"\.Process\(|\bPool\(", path.read_text("utf-8"))}
    assert begun == {"processes.py"}


def test_a_signal_waits_while_a_process_begins_whichever_thread_takes_it() -> None:
    """Its handler runs in the main thread, and would break off what begins there."""
    heard: list[int] = []
    over = threading.Event()
    other = threading.Thread(target=over.wait)
    other.start()
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        with processes._deferred({signal.SIGINT}):
            signal.pthread_kill(other.ident or 0, signal.SIGINT)
            time.sleep(0.05)
            assert heard == []
        assert heard == [signal.SIGINT]
        signal.raise_signal(signal.SIGINT)
        assert len(heard) == 2, "and its handler is back"
    finally:
        signal.signal(signal.SIGINT, before)
        over.set()
        other.join()
