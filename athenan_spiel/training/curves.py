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
from typing import Any, BinaryIO, NamedTuple

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
END_BYTES = 2**14
"""Bytes at the end of the file that show the state of a run: about 30 games."""
TAIL_BYTES = 64
"""Bytes before the read position that are compared in each call; if they differ, the file was rewritten."""

MAX_KEPT_GAMES = 32
"""Maximum number of games whose actions are kept, besides the last."""


class RunPosition(NamedTuple):
    """Place on the axes of a run.

    Attributes:
        hours: training time, in hours.
        games: games learned.
        samples: training samples learned, with repetitions.
    """

    hours: float
    games: float
    samples: float


class CurvePoint(NamedTuple):
    """Value of a curve.

    Attributes:
        at: its place.
        value: running mean.
        low, high: ends of its interval; None without one.
    """

    at: RunPosition
    value: float
    low: float | None = None
    high: float | None = None


Bucket = tuple[CurvePoint, CurvePoint, CurvePoint, CurvePoint]
"""First, lowest, highest and last point of consecutive values."""


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
        self._buckets: list[Bucket] = []
        self._width = 1

    def add(self, at: RunPosition, value: float, *interval: float) -> None:
        """Add a value.

        Args:
            at: Place of the value; all its numbers ascend.
            interval: Lower and upper end of the value's interval, if there is one.
        """
        self._window.append(value)
        point = CurvePoint(at, sum(self._window) / len(self._window), *interval)
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
    def points(self) -> list[CurvePoint]:
        """Points kept, ascending in all numbers of their places."""
        # One point may be kept more than once, such as a first and lowest. The dict keeps the order of equal places.
        return [
            point for bucket in self._buckets for point in sorted(dict.fromkeys(bucket), key=lambda point: point.at)
        ]


def _merged(
    left: tuple[CurvePoint, CurvePoint, CurvePoint, CurvePoint],
    right: tuple[CurvePoint, CurvePoint, CurvePoint, CurvePoint],
) -> tuple[CurvePoint, CurvePoint, CurvePoint, CurvePoint]:
    """Returns the first, minimum, maximum and last point of two neighbouring buckets."""
    least = left[1] if left[1].value <= right[1].value else right[1]
    greatest = left[2] if left[2].value >= right[2].value else right[2]
    return left[0], least, greatest, right[3]


@dataclass
class RunCurves:
    """Curves and state of a run; `update` reads new events.

    Attributes:
        path: run folder.
        game, network, choice: fields of `run_started`.
        sessions: number of times the run was started or resumed.
        matches: games learned.
        seconds: training time at the end of the last round.
        elapsed: time of the run in seconds, including the round in progress, as of the last line.
        steps: optimiser steps after the warm-up.
        samples: training samples learned after the warm-up, with repetitions.
        started: time of the first event, in ISO 8601; empty if unknown.
        warm_up_states: states of random games learned during the warm-up, else 0.
        loss, length: loss and length of each game.
        undecided, cut_off: numbers of games without a winner, and of those that the length limit ended.
        speed: evaluations per second in each round.
        busy: cores kept busy in each round, by process.
        strength: points per game against each opponent with confidence interval, without a running mean.
        actions: actions of the last game of self-play, if known.
        games: actions of up to `MAX_KEPT_GAMES` games of self-play by their numbers, at equal distances.
        ended: reason for the end of the last session; None while it continues.
        last_event_time: time of the last event, in seconds since 1970. If it is old although the run has not ended,
            the run was killed.
        has_more: whether the last update left lines to read.
    """

    path: Path
    game: str = ""
    network: str = ""
    choice: str = ""
    sessions: int = 0
    matches: int = 0
    seconds: float = 0.0
    elapsed: float = 0.0
    steps: int = 0
    samples: float = 0.0
    started: str = ""
    warm_up_states: int = 0
    loss: ScalarSeries = field(default_factory=ScalarSeries)
    length: ScalarSeries = field(default_factory=ScalarSeries)
    undecided: int = 0
    cut_off: int = 0
    speed: ScalarSeries = field(default_factory=ScalarSeries)
    busy: dict[str, ScalarSeries] = field(default_factory=dict)
    strength: dict[str, ScalarSeries] = field(default_factory=dict)
    actions: tuple[int, ...] = ()
    games: dict[int, tuple[int, ...]] = field(default_factory=dict)
    ended: str | None = None
    last_event_time: float = 0.0
    has_more: bool = False
    _offset: int = 0
    _tail: bytes = b""
    _distance: int = 1
    _evaluated_at: tuple[float, RunPosition] | None = None
    _waiting: list[tuple[ScalarSeries, float, float, float]] = field(default_factory=list)

    @classmethod
    def of_ends(cls, path: Path) -> RunCurves:
        """Returns the state of the run in `path` from the first line and the last `END_BYTES` of its file.

        Totals and curves are incomplete.

        Raises:
            OSError: the file cannot be read.
        """
        run = cls(path)
        with opened(path / METRICS, MOST_BYTES) as file:
            status = os.fstat(file.fileno())
            run.last_event_time = status.st_mtime
            lines = [file.readline(MOST_LINE)]
            if file.tell() < status.st_size - END_BYTES:
                file.seek(status.st_size - END_BYTES)
                file.readline(END_BYTES)
            lines += file.read(END_BYTES).splitlines(keepends=True)
        for line in lines:
            if line.endswith(b"\n") and (record := _parsed(line)) is not None:
                run.add(record)
        return run

    def update(self) -> bool:
        """Read at most `MOST_AT_ONCE` new bytes; returns whether there were any.

        Raises:
            OSError: the file cannot be read.
        """
        before = (self._offset, self._tail)
        for record in self._records():
            self.add(record)
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
                if (record := _parsed(line)) is not None:
                    yield record
            self.has_more = self._offset >= end

    def _reset(self) -> None:
        empty = RunCurves(self.path)
        empty.last_event_time = self.last_event_time
        for each in fields(self):
            setattr(self, each.name, getattr(empty, each.name))

    def add(self, record: Mapping[str, Any]) -> None:
        """Add an event as a record (`callbacks.metrics.as_record`)."""
        name = record.get("event")
        self.started = self.started or text_in(record, "time")
        elapsed = number_in(record, "seconds")
        self.elapsed = self.elapsed if elapsed is None else elapsed
        if name in ("run_started", "warm_up_progress", "warm_up_finished"):
            self.warm_up_states = int(number_in(record, "warm_up_states") or 0) if name == "warm_up_progress" else 0
        if name == "run_started":
            self.game, self.network = text_in(record, "game"), text_in(record, "network")
            self.choice, self.ended = text_in(record, "choice") or self.choice, None  # a resumed run chooses nothing
            self.sessions += 1
            self.seconds = number_in(record, "seconds") or 0.0
        elif name == "match_finished":
            self.matches = int(number_in(record, "matches") or self.matches)
            self._add_later(self.length, number_in(record, "length"))
            returns = record.get("returns")
            self.undecided += (
                isinstance(returns, list) and len(returns) > 1 and returns.count(returns[0]) == len(returns)
            )
            self.cut_off += record.get("cut_off") is True
            actions = record.get("actions")
            if isinstance(actions, list) and all(type(action) is int for action in actions):
                self.actions = tuple(actions[:MAX_ACTIONS])
                self._keep_game()
        elif name == "learning_finished":
            self.samples += max(0.0, number_in(record, "states_learned") or 0.0)
            self.steps += max(0, int(number_in(record, "batches") or 0))
            self._add_later(self.loss, number_in(record, "loss"))
        elif name == "round_finished":
            self._end_round(record)
        elif name == "evaluation_started":
            self._evaluated_at = number_in(record, "matches") or 0.0, self._position
        elif name == "evaluation_finished":
            self._evaluated(record)
        elif name == "run_finished":
            self.ended = text_in(record, "reason")

    def _add_later(self, series: ScalarSeries, value: float | None) -> None:
        """Add a value at the end of its round, which gives its time."""
        if value is not None and len(self._waiting) < MAX_WAITING:
            self._waiting.append((series, value, self.matches, self.samples))

    def _keep_game(self) -> None:
        """Keep the last game if its number is a multiple of the distance, which is doubled when too many are kept."""
        if self.matches % self._distance == 0:
            self.games[self.matches] = self.actions
        if len(self.games) > MAX_KEPT_GAMES:
            self._distance *= 2
            self.games = {number: game for number, game in self.games.items() if number % self._distance == 0}

    @property
    def kept_games(self) -> dict[int, tuple[int, ...]]:
        """Actions of the kept games, including the last, by their numbers."""
        return {**self.games, self.matches: self.actions} if self.actions else dict(self.games)

    @property
    def _position(self) -> RunPosition:
        """Place at the end of the last round, or later if games have been learned since."""
        return RunPosition(self.seconds / 3600, self.matches, self.samples)

    def _end_round(self, record: Mapping[str, Any]) -> None:
        seconds = number_in(record, "seconds")
        if seconds is None:
            return
        start, self.seconds = self.seconds, seconds
        for number, (series, value, games, samples) in enumerate(self._waiting, 1):
            at = start + (seconds - start) * number / len(self._waiting)
            series.add(RunPosition(at / 3600, games, samples), value)
        self._waiting.clear()
        evaluations, searching = number_in(record, "evaluations"), number_in(record, "search_seconds")
        if evaluations is not None and searching is not None and searching > 0:
            self.speed.add(self._position, evaluations / searching)
        busy = {"learner": number_in(record, "learner_busy"), "values": number_in(record, "inference_busy")}
        workers = record.get("workers_busy")
        shares = [_finite(share) for share in workers] if isinstance(workers, list) else []
        if shares and None not in shares:
            busy["workers, all"] = sum(share for share in shares if share is not None)
        for process, share in busy.items():
            if share is not None:
                self.busy.setdefault(process, ScalarSeries()).add(self._position, share)

    def _evaluated(self, record: Mapping[str, Any]) -> None:
        opponent = text_in(record, "opponent")
        points, low, high = (number_in(record, key) for key in ("points", "low", "high"))
        is_known = opponent in self.strength or len(self.strength) < MOST_OPPONENTS
        if points is not None and low is not None and high is not None and is_known:
            at = self._position
            if self._evaluated_at is not None and self._evaluated_at[0] == number_in(record, "matches"):
                at = self._evaluated_at[1]
            self.strength.setdefault(opponent, ScalarSeries(window=1)).add(at, points, low, high)


def has_games(path: Path) -> bool:
    """Whether the `metrics.jsonl` at `path` records a game.

    Raises:
        OSError: the file cannot be read, or a line is too long.
    """
    with opened(path, MOST_BYTES) as file:
        while line := file.readline(MOST_LINE):
            require_short(path, line)
            record = _parsed(line)
            if record is not None and (number_in(record, "matches") or 0) > 0:
                return True
    return False


def read_records(file: BinaryIO) -> Iterator[Mapping[str, Any]]:
    """Yield the records of a `metrics.jsonl`, up to an incomplete or too long line."""
    while (line := file.readline(MOST_LINE)).endswith(b"\n"):
        if (record := _parsed(line)) is not None:
            yield record


def _parsed(line: bytes) -> dict[str, Any] | None:
    """Returns a line as a record with an event name; None if it is something else."""
    try:
        record = parse_json(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and isinstance(record.get("event"), str) else None


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


def number_in(record: Mapping[str, Any], key: str) -> float | None:
    """Returns a finite number in a record; None if the value is something else."""
    return _finite(record.get(key))


def text_in(record: Mapping[str, Any], key: str) -> str:
    """Returns a text in a record, cut and without control characters; an empty string if the value is not a text."""
    value = record.get(key)
    return printable(value[:MOST_TEXT]) if isinstance(value, str) else ""
