"""Ctrl-C at any moment of the command, also inside native code, is no traceback."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from clocks import HANG_SECONDS
from command_line import ATHENAN

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
NATIVE = """
import ctypes, signal, sys
from athenan_spiel.cli import games
from athenan_spiel.__main__ import command

def run(words):
    libc = ctypes.PyDLL(None)  # which keeps the interpreter's lock, as a game's C++ does
    libc.fdopen.restype = stream = ctypes.c_void_p
    libc.fwrite.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, stream]
    said = b"native\\n" + bytes(2**24)  # more than a pipe takes, so it waits, also after a signal
    libc.fwrite(said, 1, len(said), libc.fdopen(1, b"w"))
    return 0

games.run = run
sys.argv = ["athenan", "games"]
sys.exit(command())
"""


def interrupted(words: Sequence[str], seconds: float) -> tuple[int, str]:
    """The exit code and standard error of a command that gets Ctrl-C that long after its imports have begun."""
    command = [sys.executable, "-X", "importtime", *ATHENAN[1:], *words]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line)
            if line.endswith(" athenan_spiel.cli\n"):  # after which the rest of the command is imported
                break
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        said.append(process.stderr.read())
    return process.wait(HANG_SECONDS), "".join(said)


@posix
@pytest.mark.parametrize("words", [["--help"], ["train", "tic_tac_toe", "--matches", "1", "--quiet"]])
def test_ctrl_c_during_imports_is_no_traceback(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.fspath(Path(__file__).resolve().parents[2]))
    rng = random.Random(0)
    for i in range(5):
        code, said = interrupted(words, rng.uniform(0, 0.45 * i))
        assert "Traceback" not in said
        assert code in (0, 130, -signal.SIGINT)  # the shell's code of the last is 130


@posix
def test_ctrl_c_is_no_traceback_from_the_first_import_on(tmp_path: Path) -> None:
    """`python -m athenan_spiel` imports `pathlib` itself, before the command."""
    (tmp_path / "pathlib.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules.pop('pathlib', None)\n")
    path = os.pathsep.join([os.fspath(tmp_path), os.fspath(Path(__file__).resolve().parents[2])])
    done = subprocess.run(
        [*ATHENAN, "--help"], env={**os.environ, "PYTHONPATH": path}, cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


@posix
def test_a_second_ctrl_c_ends_the_command_inside_native_code(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", NATIVE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "native\n"
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == -signal.SIGINT
    assert said == ""


@posix
@pytest.mark.slow(reason="three evaluations, each of which starts a process that plays")
def test_a_request_to_stop_prints_what_was_played_whenever_it_comes(tmp_path: Path) -> None:
    """Also while the process that plays is starting, and though it comes twice."""
    words = ["eval", "mcts:2000", "--against", "random", "--game", "connect_four", "--matches", "200", "--json"]
    for played in (0, 1, 5):
        saved = tmp_path / f"{played}.jsonl"
        with subprocess.Popen([*ATHENAN, *words, "--save", str(saved)], stdout=-1, stderr=-1, text=True) as process:
            until = time.monotonic() + HANG_SECONDS
            while not saved.exists() or len(saved.read_text().splitlines()) < played:
                assert time.monotonic() < until
                assert process.poll() is None
                time.sleep(0.05)
                if played == 0 and _has_children(process.pid):
                    break
            process.terminate()
            time.sleep(1.2)  # what comes sooner is the same request
            process.terminate()
            out, said = process.communicate(timeout=HANG_SECONDS)
        assert process.returncode == 143, said
        assert "Traceback" not in said
        answer = json.loads(out)
        assert answer["reason"] == "stopped"
        assert sum(one["matches"] for one in answer["comparisons"]) >= played


def _has_children(pid: int) -> bool:
    tasks = Path(f"/proc/{pid}/task/{pid}/children")
    return tasks.exists() and len(tasks.read_text().split()) > 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills a process with its parent")
def test_processes_that_play_end_with_a_command_that_is_killed(tmp_path: Path) -> None:
    words = ["eval", "mcts:20000000", "--against", "random", "--game", "connect_four", "--matches", "4"]
    with subprocess.Popen([*ATHENAN, *words], stdout=-3, stderr=-3) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        until = time.monotonic() + HANG_SECONDS
        while len(pids := children.read_text().split()) < 2:  # the tracker of resources is one
            assert time.monotonic() < until
            time.sleep(0.05)
        time.sleep(1.0)
        process.kill()
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < until
        time.sleep(0.05)
