"""The runs of a folder, which may come from elsewhere: nothing in it is followed out of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from athenan_spiel.errors import AthenanError
from athenan_spiel.system.files import is_folder
from athenan_spiel.training.run_folder import CONFIG, RunFolder

MOST_RUNS = 500
"""Of a folder, that are listed."""


@dataclass(frozen=True)
class RunEntry:
    """A run of a folder.

    Attributes:
        name: of its folder.
        game: its string; None where the settings cannot be read.
        problem: why they cannot.
    """

    name: str
    path: Path
    game: str | None
    problem: str | None = None


def list_runs(folder: Path) -> list[RunEntry]:
    """The runs in a folder, or that one run, by their names."""
    if (folder / CONFIG).is_file():
        return [_entry(folder)]
    found = []
    for path in sorted(folder.iterdir())[: 10 * MOST_RUNS] if folder.is_dir() else []:
        if is_folder(path) and (path / CONFIG).is_file():
            found.append(_entry(path))
    return found[:MOST_RUNS]


def _entry(path: Path) -> RunEntry:
    try:
        game, _ = RunFolder(path).settings()
    except AthenanError as error:
        return RunEntry(path.name, path, None, str(error).split("\n")[0])
    return RunEntry(path.name, path, game)
