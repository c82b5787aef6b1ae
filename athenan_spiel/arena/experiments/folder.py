"""An experiment's folder on disk.

    experiment.toml   a copy of the file
    experiment.json   the experiment with every setting, and the version that began it
    trainings/        the runs, each with its networks (see `training`)
    matches.jsonl     a line for each match
    report.md, *.csv, *.png, results.json   made anew from the above at the end (see `report`, `plots`)

The matches of a pairing are written together; if a kill leaves only some of them, they are dropped and played again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import athenan_spiel
from athenan_spiel.arena.experiments.file import ExperimentFile
from athenan_spiel.arena.experiments.plan import Pairing, Player
from athenan_spiel.errors import ExperimentError
from athenan_spiel.files import replace_durably
from athenan_spiel.training.run_folder import LOCK, RunFolder

COPY, DESCRIPTION, MATCHES = "experiment.toml", "experiment.json", "matches.jsonl"

Row = dict[str, Any]
"""A match, as its line in matches.jsonl says it."""


class ExperimentFolder:
    """The folder of one experiment.

    Args:
        path: need not exist yet.
        file: of the experiment whose results it holds, or is to hold.
    """

    def __init__(self, path: str | os.PathLike[str], file: ExperimentFile) -> None:
        self.path = Path(path)
        self._file = file
        self._matches = file.experiment.protocol.matches

    def require_own(self) -> bool:
        """Whether the experiment was begun here; False where there is nothing yet.

        Raises:
            ExperimentError: another experiment was, or the folder holds something else.
        """
        try:
            description = json.loads((self.path / DESCRIPTION).read_bytes())
            begun, version = description["experiment"], description["athenan_spiel"]
        except FileNotFoundError:
            if self.path.exists() and (others := [item.name for item in self._others()]):
                raise ExperimentError(
                    f"expected a new folder or one of this experiment, got {str(self.path)!r}, which holds "
                    f"{sorted(others)[0]!r}: choose another with --folder"
                ) from None
            return False
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ExperimentError(f"{self.path / DESCRIPTION} cannot be understood ({error!r})") from None
        if difference := next(differences(begun, self._file.experiment.to_json()), None):
            raise ExperimentError(
                f"{str(self.path)!r} holds the results of another experiment, begun with athenan_spiel {version}: "
                f"there {difference}; choose another --folder"
            )
        return True

    def locked(self) -> AbstractContextManager[None]:
        """Be the only process that runs the experiment.

        Raises:
            CheckpointError: another one does, or the folder cannot be written.
        """
        return RunFolder(self.path).locked()

    def begin(self) -> None:
        """Write down what the experiment is, if it was not begun before."""
        if not self.require_own():
            replace_durably(self.path / COPY, self._file.text.encode())
            description = {"athenan_spiel": athenan_spiel.__version__, "experiment": self._file.experiment.to_json()}
            replace_durably(self.path / DESCRIPTION, (json.dumps(description, indent=1) + "\n").encode())

    def rows(self) -> list[Row]:
        """The matches of all pairings that are finished.

        Raises:
            ExperimentError: a line is not what was written.
        """
        rows, _ = self._read()
        return rows

    def mend(self) -> list[Row]:
        """As `rows`; what a kill has left unfinished is removed."""
        rows, whole = self._read()
        if not whole:
            text = "".join(json.dumps(row) + "\n" for row in rows)
            replace_durably(self.path / MATCHES, text.encode())
        return rows

    def append(self, rows: Sequence[Row]) -> None:
        """Add the matches of a pairing."""
        with (self.path / MATCHES).open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps(row) + "\n" for row in rows))

    def write(self, name: str, text: str) -> None:
        """Write a file of the report."""
        replace_durably(self.path / name, text.encode())

    def _others(self) -> Iterator[Path]:
        return (item for item in self.path.iterdir() if item.name not in (LOCK, COPY))

    def _read(self) -> tuple[list[Row], bool]:
        """The matches of whole pairings, and whether there is nothing else."""
        try:
            lines = (self.path / MATCHES).read_text(encoding="utf-8").splitlines(keepends=True)
        except FileNotFoundError:
            return [], True
        rows: dict[Pairing, list[Row]] = {}
        for number, line in enumerate(lines, 1):
            if number == len(lines) and not line.endswith("\n"):
                break  # a kill came while it was written
            try:
                row = json.loads(line)
                rows.setdefault(pairing_of(row), []).append(row)
            except (ValueError, KeyError, TypeError):
                raise ExperimentError(f"{self.path / MATCHES}, line {number} is not a match: {line[:60]!r}") from None
        found = [row for played in rows.values() if len(played) == self._matches for row in played]
        return found, len(found) == len(lines)


def pairing_of(row: Row) -> Pairing:
    """The pairing that a match belongs to."""
    a, b = (Player(row[f"variant_{x}"], row[f"repetition_{x}"], row[f"stage_{x}"]) for x in "ab")
    return Pairing(row["game"], a, b)


def differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """Where two JSON values differ: "path is old, here it is new"."""
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        for key in old:
            yield from differences(old[key], new[key], f"{path}.{key}" if path else key)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for before, after in zip(old, new, strict=True):
            name = before.get("name", "") if isinstance(before, dict) else ""
            yield from differences(before, after, f"{path}.{name}" if name else path)
    elif old != new:
        yield f"{path} is {_short(old)}, and here {_short(new)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
