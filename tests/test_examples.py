"""Every example, and the measure of strength, runs from end to end with its smallest counts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = [*sorted((ROOT / "examples").glob("*.py")), ROOT / "benchmarks" / "strength.py"]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_runs_dry(script: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(script), "--dry-run"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not list(tmp_path.iterdir()), "a dry run leaves nothing behind"
