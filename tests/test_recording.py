"""The script that records the picture of a training runs if its packages are installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from clocks import HANG_SECONDS

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"


def test_a_training_is_recorded_from_a_terminal() -> None:
    for package in ("pyte", "PIL"):
        pytest.importorskip(package, reason="needs pyte and pillow, which draw a terminal: pip install pyte pillow")
    command = [sys.executable, str(PICTURES / "record_training.py"), "--dry-run"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_SECONDS)
    assert done.returncode == 0, done.stderr
    assert " frames, " in done.stdout


def test_the_pictures_of_the_first_screen_are_small() -> None:
    assert (PICTURES / "training.gif").read_bytes().startswith(b"GIF89a")
    for name in ("training.gif", "board.png"):
        assert (PICTURES / name).stat().st_size < 600_000
