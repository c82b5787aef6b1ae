"""What a run has told in its `metrics.jsonl`, as numbers over its time.

A run folder may come from elsewhere: its file is read within bounds, and a line that is no event is passed over, as one
that a kill has cut is.
"""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from athenan_spiel.arguments import is_number
from athenan_spiel.system.files import opened, parse_json

METRICS = "metrics.jsonl"
MOST_BYTES = 2**32
"""Of the file."""
MOST_LINE = 2**20
"""Bytes of a line: a thousand times those of an event."""
MOST_AT_ONCE = 2**25
"""Bytes that one look reads; the next look goes on there."""
MOST_OPPONENTS = 50
"""Whose curves are kept."""
MOST_TEXT = 500
"""Characters of a text."""

Point = tuple[float, float]
"""(hours of the run, what was measured)."""


@dataclass
class RunCurves:
    """What a run has told until now; `look` reads what is new.

    Attributes:
        path: the run's folder.
        game, network, choice: what `run_started` says.
        matches, seconds: learned, and the time of the run, at the end of the last round.
        elapsed: time of the run, of the round in progress, too, as far as is told.
        warm_up_states: random terminal states learned, while the warm-up lasts; else 0.
        loss, length: of each match.
        speed: states valued a second, of each round.
        busy: shares of each round by whose they are, in cores.
        strength: points against each opponent, with the ends of their intervals.
        actions: of the last match of self-play, where they are told.
        ended: why the last session ended; None while it goes on, as far as is told.
        told_at: when the run last told something, in seconds since 1970; a run that was killed tells nothing more.
    """

    path: Path
    game: str = ""
    network: str = ""
    choice: str = ""
    matches: int = 0
    seconds: float = 0.0
    elapsed: float = 0.0
    warm_up_states: int = 0
    loss: list[Point] = field(default_factory=list)
    length: list[Point] = field(default_factory=list)
    speed: list[Point] = field(default_factory=list)
    busy: dict[str, list[Point]] = field(default_factory=dict)
    strength: dict[str, list[tuple[float, float, float, float]]] = field(default_factory=dict)
    actions: tuple[int, ...] = ()
    ended: str | None = None
    told_at: float = 0.0
    _offset: int = 0
    _waiting: list[tuple[list[Point], float]] = field(default_factory=list)

    def look(self) -> bool:
        """Read what was written since the last look; whether there was anything.

        Raises:
            OSError: the file cannot be read.
        """
        count = 0
        for record in self._records():
            self._take(record)
            count += 1
        return count > 0

    def _records(self) -> Iterator[Mapping[str, Any]]:
        with opened(self.path / METRICS, MOST_BYTES) as file:
            self.told_at = os.fstat(file.fileno()).st_mtime
            if file.seek(0, 2) < self._offset:  # the run was set back: what it tells from there on is told again
                self._begin_anew()
            file.seek(self._offset)
            end = self._offset + MOST_AT_ONCE
            while self._offset < end and (line := file.readline(MOST_LINE)).endswith(b"\n"):
                self._offset += len(line)
                try:
                    record = parse_json(line)
                except ValueError:
                    continue
                if isinstance(record, dict):
                    yield record

    def _begin_anew(self) -> None:
        empty = RunCurves(self.path)
        empty.told_at = self.told_at
        for each in fields(self):
            setattr(self, each.name, getattr(empty, each.name))

    def _take(self, record: Mapping[str, Any]) -> None:
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
            self._wait(self.length, _number(record, "length"))
            actions = record.get("actions")
            if isinstance(actions, list) and all(type(action) is int for action in actions):
                self.actions = tuple(actions)
        elif name == "learning_finished":
            self._wait(self.loss, _number(record, "loss"))
        elif name == "round_finished":
            self._end_round(record)
        elif name == "evaluation_finished":
            self._evaluated(record)
        elif name == "run_finished":
            self.ended = _text(record, "reason")

    def _wait(self, curve: list[Point], value: float | None) -> None:
        """Keep what a match or its learning tells until its round says when that was."""
        if value is not None:
            self._waiting.append((curve, value))

    def _end_round(self, record: Mapping[str, Any]) -> None:
        seconds = _number(record, "seconds")
        if seconds is None:
            return
        began, self.seconds = self.seconds, seconds
        for number, (curve, value) in enumerate(self._waiting, 1):
            at = began + (seconds - began) * number / len(self._waiting)
            curve.append((at / 3600, value))
        self._waiting.clear()
        evaluations = _number(record, "evaluations")
        if evaluations is not None and seconds > began:
            self.speed.append((seconds / 3600, evaluations / (seconds - began)))
        busy = {"learner": _number(record, "learner_busy"), "values": _number(record, "inference_busy")}
        workers = record.get("workers_busy")
        shares = [_finite(share) for share in workers] if isinstance(workers, list) else []
        if shares and None not in shares:
            busy["workers, all"] = sum(share for share in shares if share is not None)
        for who, share in busy.items():
            if share is not None:
                self.busy.setdefault(who, []).append((seconds / 3600, share))

    def _evaluated(self, record: Mapping[str, Any]) -> None:
        opponent = _text(record, "opponent")
        points, low, high = (_number(record, key) for key in ("points", "low", "high"))
        is_known = opponent in self.strength or len(self.strength) < MOST_OPPONENTS
        if points is not None and low is not None and high is not None and is_known:
            self.strength.setdefault(opponent, []).append((self.seconds / 3600, points, low, high))


def has_games(path: Path) -> bool:
    """Whether the `metrics.jsonl` at `path` records a game.

    Raises:
        OSError: the file cannot be read, or has a line that is longer than any that is written.
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
    """Check that a line of the file at `path` is no longer than any that is written.

    Raises:
        OSError: it is longer.
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
    return value[:MOST_TEXT] if isinstance(value, str) else ""
