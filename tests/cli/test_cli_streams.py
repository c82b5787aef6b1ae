"""Streams of the `athenan` command that are full, closed or left, and what its encoding lacks."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from clocks import HANG_SECONDS
from command_line import ATHENAN


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", ["--help", "games hex", "games hex --json"])
@pytest.mark.parametrize("buffered", ["", "1"])
def test_standard_output_on_a_full_disk_is_said_in_one_line(words: str, buffered: str) -> None:
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [*ATHENAN, *words.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": buffered},
        )
    command = "athenan games" if words.startswith("games") else "athenan"
    assert (process.returncode, process.stderr) == (2, f"{command}: No space left on device\n")


@pytest.mark.parametrize(("closed", "left"), [(">&-", "stderr"), ("2>&-", "stdout")])
def test_a_stream_that_the_shell_has_closed_leads_nowhere(closed: str, left: str) -> None:
    command = " ".join(["exec", *map(shlex.quote, [*ATHENAN, "games", "hex", "--json"]), closed])
    process = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert process.returncode == 0
    assert process.stderr == ""
    assert bool(process.stdout) == (left == "stdout")


def test_a_closed_standard_input_ends_the_match(trained: Path) -> None:
    command = " ".join(["exec", *map(shlex.quote, [*ATHENAN, "play", str(trained), "--seconds", "0.01"]), "<&-"])
    process = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.endswith("game ended by the end of the input\n")


def test_what_the_terminal_cannot_write_is_no_traceback(trained: Path) -> None:
    words = ["eval", f"{trained}@1i", "--against", "random", "--matches", "2", "--opening-plies", "0"]
    process = subprocess.run(
        [*ATHENAN, *words], capture_output=True, text=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.isascii()


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    process = subprocess.Popen([*ATHENAN, "games", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.wait(HANG_SECONDS) == 1
    assert process.stderr.read() == ""
    process.stderr.close()
