"""`metrics.jsonl`: one JSON object for each event, in order."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from athenan_spiel.errors import CheckpointError
from athenan_spiel.system.files import open_to_append, opened, parse_json
from athenan_spiel.training import clock as run_clock
from athenan_spiel.training.curves import MOST_LINE, require_short
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

PROGRESS_LINE_SECONDS = 5.0
"""Minimum time between the last line and a line of progress."""
_log = logging.getLogger(__name__)


class MetricsFile:
    """A listener that appends to `path`.

    When a run goes on from a checkpoint, or is set back to one, the lines on matches after it are cut off first: those
    matches are played again. So is a last line that a kill has left half written. A warning of the log says where the
    file no longer tells of all matches that the checkpoint counts. `RoundProgress` and `WarmUpProgress` leave a line
    only if there was none for `PROGRESS_LINE_SECONDS`, and `StopNoticed` leaves none.

    Args:
        path: the file.
        clock: what time it is.
    """

    def __init__(self, path: Path, clock: Callable[[], datetime] = now) -> None:
        self._path = path
        self._clock = clock
        self._file: BinaryIO | None = None
        self._next_progress = 0.0

    def require_lines(self) -> None:
        """Check that the file, if there is one, can be read and cut off. Nothing in it is changed.

        Raises:
            CheckpointError: it cannot be read, or a line is longer than any that is written here.
        """
        try:
            with opened(self._path, sys.maxsize) as file:
                while line := file.readline(MOST_LINE):
                    require_short(self._path, line)
        except FileNotFoundError:
            return
        except OSError as error:
            raise CheckpointError(f"{self._path} cannot be read: {error.strerror}", path=self._path) from None

    def __call__(self, event: Event) -> None:
        """Append the line of `event`."""
        if isinstance(event, StopNoticed) or (
            isinstance(event, RoundProgress | WarmUpProgress) and run_clock.now() < self._next_progress
        ):
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
        self._next_progress = run_clock.now() + PROGRESS_LINE_SECONDS
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
                require_short(self._path, line)
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
