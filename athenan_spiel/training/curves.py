"""Scalars of a run over its time, read from its `metrics.jsonl`.

A run folder may be untrusted: sizes are limited, and lines that are incomplete or contain no event are skipped. The
file is read incrementally. Each scalar is a `ScalarSeries` of bounded size, so memory does not grow with the length of
a run.
"""

from __future__ import annotations

import errno
import math
import os
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from athenan_spiel.arguments import is_number
from athenan_spiel.errors import printable
from athenan_spiel.system.files import opened, parse_json

METRICS = "metrics.jsonl"
MOST_BYTES = 2**32
"""Maximum size of the file, in bytes."""
MOST_LINE = 2**20
"""Maximum length of a line, in bytes: a thousand times the typical length."""
MOST_AT_ONCE = 2**22
"""Maximum number of bytes read per call of `RunCurves.update`, which takes about 0.2 s."""
MOST_OPPONENTS = 50
"""Maximum number of opponents with a curve."""
MOST_TEXT = 500
"""Maximum length of a text, in characters."""
MEAN_OF = 25
"""Number of games or rounds in a running mean."""
MAX_BUCKETS = 512
"""Maximum number of buckets of a series, about one per pixel of its picture."""
MAX_ACTIONS = 10_000
"""Maximum number of actions kept of the last game."""
MAX_WAITING = 100_000
"""Maximum number of values kept until the end of their round."""
TAIL_BYTES = 64
"""Bytes before the read position that are compared in each call; if they differ, the file was rewritten."""

Point = tuple[float, ...]
"""(hours of the run, running mean, ends of an interval if there is one)."""


class ScalarSeries:
    """Running mean of a scalar over time, downsampled by M4.

    M4 keeps four points of each bucket of consecutive values: the first, the last, the minimum and the maximum. A
    picture with at least one bucket per pixel is the same as one of all points. All buckets have the same number of
    values. When there are `MAX_BUCKETS`, neighbouring buckets are merged in pairs.

    Args:
        window: Number of values in the running mean; 1: no mean.
    """

    def __init__(self, window: int = MEAN_OF) -> None:
        self.count = 0
        """Number of values added."""
        self._window: deque[float] = deque(maxlen=window)
        self._buckets: list[tuple[Point, Point, Point, Point]] = []
        self._width = 1

    def add(self, x: float, value: float, *interval: float) -> None:
        """Add a value.

        Args:
            x: Hours of the run, ascending.
            interval: Lower and upper end of the value's interval, if there is one.
        """
        self._window.append(value)
        point = (x, sum(self._window) / len(self._window), *interval)
        if self.count % self._width:
            self._buckets[-1] = _merged(self._buckets[-1], (point, point, point, point))
        else:
            if len(self._buckets) == MAX_BUCKETS:
                pairs = zip(self._buckets[::2], self._buckets[1::2], strict=True)
                self._buckets = [_merged(left, right) for left, right in pairs]
                self._width *= 2
            self._buckets.append((point, point, point, point))
        self.count += 1

    @property
    def points(self) -> list[Point]:
        """Points kept, ascending in x."""
        # One point may be kept more than once, such as a first and lowest. The dict keeps the order of equal x.
        return [
            point for bucket in self._buckets for point in sorted(dict.fromkeys(bucket), key=lambda point: point[0])
        ]


def _merged(
    left: tuple[Point, Point, Point, Point], right: tuple[Point, Point, Point, Point]
) -> tuple[Point, Point, Point, Point]:
    """Returns the first, minimum, maximum and last point of two neighbouring buckets."""
    least = left[1] if left[1][1] <= right[1][1] else right[1]
    greatest = left[2] if left[2][1] >= right[2][1] else right[2]
    return left[0], least, greatest, right[3]


@dataclass
class RunCurves:
    """Curves and state of a run; `update` reads new events.

    Attributes:
        path: run folder.
        game, network, choice: fields of `run_started`.
        matches: games learned.
        seconds: training time at the end of the last round.
        elapsed: time of the run in seconds, including the round in progress, as of the last line.
        warm_up_states: random terminal states learned during the warm-up, else 0.
        loss, length: loss and length of each game.
        speed: evaluations per second in each round.
        busy: cores kept busy in each round, by process.
        strength: points per game against each opponent with confidence interval, without a running mean.
        actions: actions of the last game of self-play, if known.
        ended: reason for the end of the last session; None while it continues.
        last_event_time: time of the last event, in seconds since 1970. If it is old although the run has not ended,
            the run was killed.
    """

    path: Path
    game: str = ""
    network: str = ""
    choice: str = ""
    matches: int = 0
    seconds: float = 0.0
    elapsed: float = 0.0
    warm_up_states: int = 0
    loss: ScalarSeries = field(default_factory=ScalarSeries)
    length: ScalarSeries = field(default_factory=ScalarSeries)
    speed: ScalarSeries = field(default_factory=ScalarSeries)
    busy: dict[str, ScalarSeries] = field(default_factory=dict)
    strength: dict[str, ScalarSeries] = field(default_factory=dict)
    actions: tuple[int, ...] = ()
    ended: str | None = None
    last_event_time: float = 0.0
    _offset: int = 0
    _tail: bytes = b""
    _waiting: list[tuple[ScalarSeries, float]] = field(default_factory=list)

    def update(self) -> bool:
        """Read at most `MOST_AT_ONCE` new bytes; returns whether there were any.

        Raises:
            OSError: the file cannot be read.
        """
        before = (self._offset, self._tail)
        for record in self._records():
            self._add(record)
        return before != (self._offset, self._tail)

    def _records(self) -> Iterator[Mapping[str, Any]]:
        with opened(self.path / METRICS, MOST_BYTES) as file:
            self.last_event_time = os.fstat(file.fileno()).st_mtime
            file.seek(self._offset - len(self._tail))
            if file.read(len(self._tail)) != self._tail:  # the file was truncated, as after a rollback
                self._reset()
                file.seek(0)
            end = self._offset + MOST_AT_ONCE
            while self._offset < end and (line := file.readline(MOST_LINE)).endswith(b"\n"):
                self._offset += len(line)
                self._tail = line[-TAIL_BYTES:]
                try:
                    record = parse_json(line)
                except ValueError:
                    continue
                if isinstance(record, dict):
                    yield record

    def _reset(self) -> None:
        empty = RunCurves(self.path)
        empty.last_event_time = self.last_event_time
        for each in fields(self):
            setattr(self, each.name, getattr(empty, each.name))

    def _add(self, record: Mapping[str, Any]) -> None:
        name = record.get("event")
        elapsed = _number(record, "seconds")
        self.elapsed = self.elapsed if elapsed is None else elapsed
        if name in ("run_started", "warm_up_progress", "warm_up_finished"):
            self.warm_up_states = int(_number(record, "warm_up_states") or 0) if name == "warm_up_progress" else 0
        if name == "run_started":
            self.game, self.network = _text(record, "game"), _text(record, "network")
            self.choice, self.ended = _text(record, "choice"), None
            self.seconds = _number(record, "seconds") or 0.0
        elif name == "match_finished":
            self.matches = int(_number(record, "matches") or self.matches)
            self._add_later(self.length, _number(record, "length"))
            actions = record.get("actions")
            if isinstance(actions, list) and all(type(action) is int for action in actions):
                self.actions = tuple(actions[:MAX_ACTIONS])
        elif name == "learning_finished":
            self._add_later(self.loss, _number(record, "loss"))
        elif name == "round_finished":
            self._end_round(record)
        elif name == "evaluation_finished":
            self._evaluated(record)
        elif name == "run_finished":
            self.ended = _text(record, "reason")

    def _add_later(self, series: ScalarSeries, value: float | None) -> None:
        """Add a value at the end of its round, which gives its time."""
        if value is not None and len(self._waiting) < MAX_WAITING:
            self._waiting.append((series, value))

    def _end_round(self, record: Mapping[str, Any]) -> None:
        seconds = _number(record, "seconds")
        if seconds is None:
            return
        start, self.seconds = self.seconds, seconds
        for number, (series, value) in enumerate(self._waiting, 1):
            at = start + (seconds - start) * number / len(self._waiting)
            series.add(at / 3600, value)
        self._waiting.clear()
        evaluations, searching = _number(record, "evaluations"), _number(record, "search_seconds")
        if evaluations is not None and searching is not None and searching > 0:
            self.speed.add(seconds / 3600, evaluations / searching)
        busy = {"learner": _number(record, "learner_busy"), "values": _number(record, "inference_busy")}
        workers = record.get("workers_busy")
        shares = [_finite(share) for share in workers] if isinstance(workers, list) else []
        if shares and None not in shares:
            busy["workers, all"] = sum(share for share in shares if share is not None)
        for process, share in busy.items():
            if share is not None:
                self.busy.setdefault(process, ScalarSeries()).add(seconds / 3600, share)

    def _evaluated(self, record: Mapping[str, Any]) -> None:
        opponent = _text(record, "opponent")
        points, low, high = (_number(record, key) for key in ("points", "low", "high"))
        is_known = opponent in self.strength or len(self.strength) < MOST_OPPONENTS
        if points is not None and low is not None and high is not None and is_known:
            self.strength.setdefault(opponent, ScalarSeries(window=1)).add(self.seconds / 3600, points, low, high)


def has_games(path: Path) -> bool:
    """Whether the `metrics.jsonl` at `path` records a game.

    Raises:
        OSError: the file cannot be read, or a line is too long.
    """
    with opened(path, MOST_BYTES) as file:
        while line := file.readline(MOST_LINE):
            require_short(path, line)
            try:
                record = parse_json(line)
            except ValueError:
                continue
            if isinstance(record, dict) and (_number(record, "matches") or 0) > 0:
                return True
    return False


def require_short(path: Path, line: bytes) -> None:
    """Check the length of a line of the file at `path`.

    Raises:
        OSError: the line is too long.
    """
    if len(line) >= MOST_LINE:
        raise OSError(errno.EFBIG, f"it has a line of {MOST_LINE:,} bytes or more: move it away", str(path))


def _finite(value: object) -> float | None:
    if not is_number(value):
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _number(record: Mapping[str, Any], key: str) -> float | None:
    return _finite(record.get(key))


def _text(record: Mapping[str, Any], key: str) -> str:
    value = record.get(key)
    return printable(value[:MOST_TEXT]) if isinstance(value, str) else ""
