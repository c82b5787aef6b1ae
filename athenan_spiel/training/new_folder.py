"""Where runs are: where the caller says, else under `runs`."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from athenan_spiel.errors import CheckpointError, shown

RUNS = Path("runs")
"""In the current folder: where runs go that are not told where."""


def given_folder(folder: str | os.PathLike[str], what: str = "a run's folder") -> Path:
    """The path that the caller means, of a folder, or of `what` else, that need not exist.

    Raises:
        CheckpointError: it can be no path: it is no text, or one that no file could be called by.
    """
    try:
        path = Path(folder)
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            os.lstat(path)
    except (TypeError, ValueError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else "that is no path"
        raise CheckpointError(f"expected the path of {what}, got {shown(folder)}: {reason}") from None
    return path


def new_folder(name: str) -> Path:
    """The first of runs/NAME, runs/NAME-2, runs/NAME-3, ... that does not exist."""
    folder, number = RUNS / name, 1
    while folder.exists():
        number += 1
        folder = RUNS / f"{name}-{number}"
    return folder
