"""Where runs go that are not told where."""

from __future__ import annotations

from pathlib import Path

RUNS = Path("runs")
"""In the current folder."""


def new_folder(name: str) -> Path:
    """The first of runs/NAME, runs/NAME-2, runs/NAME-3, ... that does not exist."""
    folder, number = RUNS / name, 1
    while folder.exists():
        number += 1
        folder = RUNS / f"{name}-{number}"
    return folder
