"""The harness itself, with few cases of one seed: no promise is broken. `make fuzz` tries many of a new one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from clocks import HANG_SECONDS

pytestmark = pytest.mark.slow(reason="fuzzes commands, calls, folders and kills for a minute")

SEED = 11
CASES = {"command-lines": 40, "calls": 30, "folders": 30, "kills": 4}
"""A minute's work of two cores at most."""


def test_no_promise_is_broken() -> None:
    counts = [word for kind, count in CASES.items() for word in (f"--{kind}", str(count))]
    command = [sys.executable, "-W", "ignore", str(Path(__file__).parent), "--seed", str(SEED), *counts]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    for kind, count in CASES.items():
        found = re.search(
            rf"^(\d+) {kind.replace('-', ' ')}: 0 tracebacks, 0 hangs over 10 s, ", done.stdout, re.MULTILINE
        )
        assert found is not None, done.stdout
        assert int(found[1]) >= count
