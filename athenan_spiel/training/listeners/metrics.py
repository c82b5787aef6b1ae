"""`metrics.jsonl`: one JSON object for each event, in order."""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from athenan_spiel.system.files import open_to_append, parse_json
from athenan_spiel.training.events import (
    CheckpointWritten,
    Event,
    RoundProgress,
    RunFinished,
    RunStarted,
    SetBack,
    StopNoticed,
    WarmUpProgress,
)
from athenan_spiel.training.listeners.records import as_record, now

MOST_LINE = 2**20
"""Bytes of a line: a thousand times those of an event."""
_log = logging.getLogger(__name__)


class MetricsFile:
    """A listener that appends to `path`.

    When a run goes on from a checkpoint, or is set back to one, the lines on matches after it are cut off first: those
    matches are played again. So is a last line that a kill has left half written. A warning of the log says where the
    file no longer tells of all matches that the checkpoint counts. `RoundProgress`, `WarmUpProgress` and `StopNoticed`
    leave no line.

    Args:
        path: the file.
        clock: what time it is.
    """

    def __init__(self, path: Path, clock: Callable[[], datetime] = now) -> None:
        self._path = path
        self._clock = clock
        self._file: BinaryIO | None = None

    def __call__(self, event: Event) -> None:
        """Append the line of `event`."""
        if isinstance(event, RoundProgress | WarmUpProgress | StopNoticed):
            return
        if isinstance(event, RunStarted | SetBack):
            self._close()
            self._file, told = self._opened(event.matches)
            if told < event.matches:
                _log.warning(
                    "%s tells of %d of the %d matches that the checkpoint counts: the lines on the others are lost",
                    self._path,
                    told,
                    event.matches,
                )
        if self._file is None:
            return
        self._file.write(json.dumps(as_record(event, self._clock())).encode() + b"\n")
        self._file.flush()
        if isinstance(event, CheckpointWritten | SetBack):
            os.fsync(self._file.fileno())
        if isinstance(event, RunFinished):
            self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _opened(self, matches: int) -> tuple[BinaryIO, int]:
        """The file, to be appended to, and how many of the first `matches` matches it tells of.

        It is cut off before the first line about a later match, or that is half written.

        Raises:
            OSError: it cannot be opened, or a line is longer than any that is written here; nothing is cut off.
        """
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(open_to_append(self._path))
            end = 0
            told: set[float] = set()
            while line := file.readline(MOST_LINE):
                if len(line) >= MOST_LINE:
                    raise OSError(errno.EFBIG, f"{self._path} has a line of {MOST_LINE:,} bytes or more: move it away")
                name, about = _summary(line)
                if not line.endswith(b"\n") or about > matches:
                    break
                if name == "match_finished":
                    told.add(about)
                end += len(line)
            file.truncate(end)
            file.seek(end)
            stack.pop_all()
        return file, len(told)


def _summary(line: bytes) -> tuple[object, float]:
    """The event that a line tells, and after how many matches; a line that someone else has written tells none."""
    try:
        record = parse_json(line)
    except ValueError:
        return None, 0
    record = record if isinstance(record, dict) else {}
    matches = record.get("matches")
    return record.get("event"), matches if isinstance(matches, int | float) else 0
