"""Paths of run folders: given by the caller, or new ones in `runs/`."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from athenan_spiel.errors import CheckpointError, shown

RUNS = Path("runs")
"""Default folder of new runs, relative to the current folder."""


def given_folder(folder: str | os.PathLike[str], what: str = "a run's folder") -> Path:
    """Returns `folder` as a path, which need not exist.

    Args:
        what: description of the path, for the message.

    Raises:
        CheckpointError: `folder` is not a string or path, or the system does not accept it as a path.
    """
    try:
        path = Path(folder)
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            os.lstat(path)
    except (TypeError, ValueError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a path"
        raise CheckpointError(f"expected the path of {what}, got {shown(folder)}: {reason}") from None
    return path


def new_folder(name: str) -> Path:
    """Returns the first of runs/NAME, runs/NAME-2, runs/NAME-3, ... that does not exist."""
    folder, number = RUNS / name, 1
    while folder.exists():
        number += 1
        folder = RUNS / f"{name}-{number}"
    return folder
