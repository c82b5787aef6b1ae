"""`metrics.jsonl`: one JSON object for each event, in order."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import datetime
from io import BufferedRandom
from pathlib import Path

from athenan_spiel.training.events import (
    CheckpointWritten,
    Event,
    RoundProgress,
    RunFinished,
    RunStarted,
    StopNoticed,
    WarmUpProgress,
)
from athenan_spiel.training.listeners.records import as_record, now


class MetricsFile:
    """A listener that appends to `path`.

    When a run goes on from a checkpoint, the lines on matches after it are cut off first: those matches are played
    again. So is a last line that a kill has left half written. `RoundProgress`, `WarmUpProgress` and `StopNoticed`
    leave no line.

    Args:
        path: the file.
        clock: what time it is.
    """

    def __init__(self, path: Path, clock: Callable[[], datetime] = now) -> None:
        self._path = path
        self._clock = clock
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
        self._file.write(json.dumps(as_record(event, self._clock())).encode() + b"\n")
        self._file.flush()
        if isinstance(event, CheckpointWritten):
            os.fsync(self._file.fileno())
        if isinstance(event, RunFinished):
            self._file.close()
            self._file = None


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
