"""`metrics.jsonl`: one JSON object for each event, in order."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from io import BufferedRandom
from pathlib import Path
from typing import Any

from athenan_spiel.training.events import (
    CheckpointWritten,
    Event,
    RoundProgress,
    RunFinished,
    RunStarted,
    StopNoticed,
    WarmUpProgress,
)

LEFT_OUT = frozenset({"config", "folder"})
"""Fields that `config.toml` holds, or that change when the folder is moved."""


class MetricsFile:
    """A listener that appends to `path`.

    When a run goes on from a checkpoint, the lines on matches after it are cut off first: those matches are played
    again. So is a last line that a kill has left half written. `RoundProgress`, `WarmUpProgress` and `StopNoticed`
    leave no line.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BufferedRandom | None = None

    def __call__(self, event: Event) -> None:
        """Append the line of `event`."""
        if isinstance(event, RoundProgress | WarmUpProgress | StopNoticed):
            return
        if isinstance(event, RunStarted):
            self._path.touch()
            self._file = self._path.open("r+b")
            _cut_off_after(self._file, event.matches)
        if self._file is None:
            return
        self._file.write(json.dumps(as_record(event)).encode() + b"\n")
        self._file.flush()
        if isinstance(event, CheckpointWritten):
            os.fsync(self._file.fileno())
        if isinstance(event, RunFinished):
            self._file.close()
            self._file = None


def as_record(event: Event) -> dict[str, Any]:
    """`event` as JSON values: its name in snake case, then its fields; what was not measured is left out."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()
    record: dict[str, Any] = {"event": name}
    for field in dataclasses.fields(event):
        value = getattr(event, field.name)
        if value is not None and field.name not in LEFT_OUT:
            record[field.name] = value.name if isinstance(value, Path) else value
    return record


def _cut_off_after(file: BufferedRandom, matches: int) -> None:
    """Truncate before the first line about a match after the `matches`-th, or that is half written; go to the end."""
    end = 0
    for line in file:
        if not line.endswith(b"\n") or _matches_of(line) > matches:
            break
        end += len(line)
    file.truncate(end)
    file.seek(end)


def _matches_of(line: bytes) -> float:
    """The matches a line is about; a line that someone else has written is about none."""
    try:
        record = json.loads(line)
    except ValueError:
        return 0
    matches = record.get("matches") if isinstance(record, dict) else None
    return matches if isinstance(matches, int | float) else 0
