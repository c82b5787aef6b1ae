"""Ctrl-C at any moment of the command, also inside native code, is no traceback."""

from __future__ import annotations

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
    print("native", flush=True)
    mutex, lock = ctypes.create_string_buffer(128), ctypes.PyDLL(None).pthread_mutex_lock
    lock(mutex)
    lock(mutex)  # for ever, with the interpreter's lock held as in a game's C++
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
    for i in range(8):
        code, said = interrupted(words, rng.uniform(0, 0.25 * i))
        assert "Traceback" not in said
        assert code in (0, 130, -signal.SIGINT)  # the shell's code of the last is 130


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
