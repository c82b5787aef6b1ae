"""What is shown at a terminal while something takes its time, and that nothing of it is elsewhere."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from clocks import HANG_SECONDS

from athenan_spiel.cli.ludii_sweep import _left

ROOT = Path(__file__).resolve().parents[2]
WAIT = """
import sys, time
from athenan_spiel.cli.waiting import Waiting
with Waiting("thinking", {seconds}) as waiting:
    time.sleep(0.5)
    waiting.update("thinking [on]")
    time.sleep(0.5)
print("done")
"""


def at_a_terminal(code: str) -> str:
    """What a command writes to its standard error, which is a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "80"}
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, text=True
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the terminal is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    said, _ = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 0
    assert said == "done\n"
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())


def test_a_terminal_shows_what_is_waited_for_and_the_time_left() -> None:
    shown = at_a_terminal(WAIT.format(seconds=75))
    assert "thinking" in shown
    assert "thinking [on]" in shown
    assert re.search(r"1:1[3-5] left", shown)


@pytest.mark.parametrize("seconds", [None, 0.5])
def test_no_time_left_is_said_where_it_is_not_known_or_short(seconds: float | None) -> None:
    shown = at_a_terminal(WAIT.format(seconds=seconds))
    assert "thinking" in shown
    assert "left" not in shown


def test_nothing_is_written_where_nobody_looks(capfd: pytest.CaptureFixture[str]) -> None:
    from athenan_spiel.cli.waiting import Waiting

    with Waiting("thinking", 5.0) as waiting:
        waiting.update("on")
    assert capfd.readouterr() == ("", "")


def test_a_sweep_says_how_long_the_rest_takes() -> None:
    assert _left(1, 10, 0.0) == "game 1 of 10"
    assert _left(3, 10, 1800.0) == "game 3 of 10, about 2:00 h left"
