"""Where runs are: where the caller says, else under `runs`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from athenan_spiel.errors import CheckpointError, DivergedError, LearningError, shown
from athenan_spiel.system.files import remove
from athenan_spiel.training.fleet.losses import WorkersLostError

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


def missing_folders(path: Path) -> list[Path]:
    """`path` and its parents, as far as they do not exist, the innermost first."""
    return [folder for folder in (path, *path.parents) if not folder.exists()]


@contextlib.contextmanager
def removed_if_refused(path: Path, made: list[Path], is_worthless: Callable[[], bool]) -> Iterator[None]:
    """Remove a new run's folder if its training is refused before it holds anything worth keeping.

    The disk or the shared memory may be full, or processes cannot be started. Nothing else was in the folder before.

    Args:
        made: the folders that were made for the run (`missing_folders`). If `path` is none of them, only what is in
            it is removed.
        is_worthless: asked when the training has ended with such an error.
    """
    try:
        yield
    except (CheckpointError, LearningError, OSError) as error:
        if not isinstance(error, DivergedError | WorkersLostError | BrokenPipeError) and is_worthless():
            with contextlib.suppress(OSError):
                for item in [path] if path in made else path.iterdir():
                    remove(item)
                for parent in made[1:]:
                    parent.rmdir()
        raise
