"""Events as JSON lines: the file `metrics.jsonl` and the output of `athenan train --json`.

docs/metrics.md explains each name.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, BinaryIO

from athenan_spiel.errors import CheckpointError
from athenan_spiel.system.files import open_to_append, opened, parse_json
from athenan_spiel.training import clock as run_clock
from athenan_spiel.training.curves import MOST_LINE, require_short
from athenan_spiel.training.events import (
    CheckpointWritten,
    Event,
    RolledBack,
    RoundProgress,
    RunFinished,
    RunStarted,
    StopNoticed,
    WarmUpProgress,
)

LEFT_OUT = frozenset({"config", "folder"})
"""Fields omitted from `metrics.jsonl`: `config.toml` contains them, or they change when the folder is moved."""


def as_record(event: Event, at: datetime, left_out: frozenset[str] = LEFT_OUT) -> dict[str, Any]:
    """Returns `event`, emitted at the time `at`, as JSON values: its name, the time, then its fields.

    Fields that are None or in `left_out` are omitted. A checkpoint is represented by its folder name.
    """
    record: dict[str, Any] = {"event": event_name(type(event)), "time": time_text(at)}
    for field in dataclasses.fields(event):
        value = getattr(event, field.name)
        if value is not None and field.name not in left_out:
            record[field.name] = _json_value(field.name, value)
    return record


def event_name(kind: type[Event]) -> str:
    """Returns the name of an event class in snake case, such as `match_finished`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


def time_text(at: datetime) -> str:
    """Returns a time in ISO 8601, in UTC, with milliseconds."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def now() -> datetime:
    """Returns the current time."""
    return datetime.now(UTC)


def _json_value(name: str, value: object) -> object:
    if isinstance(value, Path):
        return value.name if name == "checkpoint" else str(value)
    return value


PROGRESS_LINE_SECONDS = 5.0
"""Minimum time between a progress event and the previous line, in seconds."""
_log = logging.getLogger(__name__)


class MetricsFile:
    """A callback that appends events to a file.

    When a run resumes from a checkpoint or is rolled back to one, lines about later games are removed first, as those
    games are played again. An incomplete last line, left by a killed process, is removed, too. A warning is logged if
    the file lacks games that the checkpoint counts. `RoundProgress` and `WarmUpProgress` are written at most once per
    `PROGRESS_LINE_SECONDS`, `StopNoticed` never.

    Args:
        path: the file.
        clock: returns the current time.
    """

    def __init__(self, path: Path, clock: Callable[[], datetime] = now) -> None:
        self._path = path
        self._clock = clock
        self._file: BinaryIO | None = None
        self._next_progress = 0.0

    def require_lines(self) -> None:
        """Check that the file, if it exists, is readable, without changing it.

        Raises:
            CheckpointError: it cannot be read, or a line is too long.
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
        if isinstance(event, RunStarted | RolledBack):
            self._close()
            self._file, recorded = self._opened(event.matches)
            if recorded < event.matches:
                _log.warning(
                    "%s contains %d of the %d games that the checkpoint counts: lines about the others are lost",
                    self._path,
                    recorded,
                    event.matches,
                )
        if self._file is None:
            return
        self._file.write(json.dumps(as_record(event, self._clock())).encode() + b"\n")
        self._file.flush()
        self._next_progress = run_clock.now() + PROGRESS_LINE_SECONDS
        if isinstance(event, CheckpointWritten | RolledBack):
            os.fsync(self._file.fileno())
        if isinstance(event, RunFinished):
            self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _opened(self, matches: int) -> tuple[BinaryIO, int]:
        """Open the file, cut off before the first line that is incomplete or about a game after `matches`.

        Returns:
            The file, and the number of the first `matches` games that it contains.

        Raises:
            OSError: the file cannot be opened, or a line is too long; it is left unchanged.
        """
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(open_to_append(self._path))
            end = 0
            games: set[float] = set()
            while line := file.readline(MOST_LINE):
                require_short(self._path, line)
                name, about = _summary(line)
                if not line.endswith(b"\n") or about > matches:
                    break
                if name == "match_finished":
                    games.add(about)
                end += len(line)
            file.truncate(end)
            file.seek(end)
            stack.pop_all()
        return file, len(games)


def _summary(line: bytes) -> tuple[object, float]:
    """Returns the event name of a line and its number of games; (None, 0) for a line of another program."""
    try:
        record = parse_json(line)
    except ValueError:
        return None, 0
    record = record if isinstance(record, dict) else {}
    matches = record.get("matches")
    return record.get("event"), matches if isinstance(matches, int | float) else 0


LEFT_OUT_OF_LINES = frozenset({"config"})
"""Fields omitted from JSON lines: the run folder, whose path is in the first line, contains them."""


class JsonLines:
    """A callback that writes each event immediately as a JSON line; the last one is `run_finished`.

    Args:
        stream: output stream.
        clock: returns the current time.
    """

    def __init__(self, stream: IO[str], clock: Callable[[], datetime] = now) -> None:
        self._stream = stream
        self._clock = clock

    def __call__(self, event: Event) -> None:
        """Write the line of `event`."""
        self._stream.write(json.dumps(as_record(event, self._clock(), LEFT_OUT_OF_LINES)) + "\n")
        self._stream.flush()
