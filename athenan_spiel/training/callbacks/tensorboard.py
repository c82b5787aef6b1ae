"""Curves of a run for TensorBoard, over the number of games."""

from __future__ import annotations

import os
import re
import socket
import time
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event as Record
from tensorboard.compat.proto.event_pb2 import SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

from athenan_spiel.training.events import (
    BestReplaced,
    EvaluationFinished,
    Event,
    LearningFinished,
    MatchFinished,
    RolledBack,
    RoundFinished,
    RunFinished,
    RunStarted,
    WarmUpFinished,
)

FILE_VERSION = "brain.Event:2"
"""First record of an event file."""
_NAME = re.compile(r"events\.out\.tfevents\.([0-9]{10})\.", re.ASCII)


class TensorBoard:
    """A callback that writes event files into the folder `path`.

    When a run resumes from a checkpoint or is rolled back to one, later steps are marked to be purged. The files are
    not written by TensorBoard's own writer, because errors in its thread can't be caught.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: _EventFile | None = None

    def __call__(self, event: Event) -> None:
        """Add the points of `event` to the curves."""
        if isinstance(event, RunStarted):
            is_resumed = self._path.exists()
            self._file = _EventFile(self._path)
            if is_resumed:
                self._file.forget_from(event.matches + 1)
        if self._file is None:
            return
        if isinstance(event, RolledBack):
            self._file.forget_from(event.matches + 1)
        for name, value in _scalars(event):
            if value is not None:
                self._file.add(name, value, event.matches)
        if isinstance(event, RoundFinished | EvaluationFinished):
            self._file.flush()
        if isinstance(event, RunFinished):
            self._file.close()
            self._file = None


class _EventFile:
    """A new event file in `folder`, named as TensorBoard expects it.

    TensorBoard reads files in the order of the seconds in their names. So a new file gets more seconds than all
    earlier ones, even if the system clock was changed.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        seconds, nanoseconds = divmod(time.time_ns(), 10**9)
        earlier = [int(found[1]) for path in folder.iterdir() if (found := _NAME.match(path.name))]
        seconds = max([seconds, *(second + 1 for second in earlier)])
        name = f"events.out.tfevents.{seconds:010d}.{socket.gethostname()}.{os.getpid()}.{nanoseconds:09d}"
        self._file = (folder / name).open("xb")
        self._records = RecordWriter(self._file)
        self._write(Record(file_version=FILE_VERSION))
        self.flush()

    def forget_from(self, step: int) -> None:
        """Make TensorBoard ignore `step` and later steps in earlier files."""
        self._write(Record(step=step, session_log=SessionLog(status=SessionLog.START)))

    def add(self, name: str, value: float, step: int) -> None:
        """Add a point to the curve `name`."""
        self._write(Record(step=step, summary=Summary(value=[Summary.Value(tag=name, simple_value=value)])))

    def flush(self) -> None:
        """Flush the points added."""
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, record: Record) -> None:
        record.wall_time = time.time()
        self._records.write(record.SerializeToString())


def _scalars(event: Event) -> list[tuple[str, float | None]]:
    """Returns name and value of each point that `event` adds."""
    if isinstance(event, MatchFinished):
        return [
            ("match/length", event.length),
            ("match/result", event.returns[0]),
            ("match/targets", event.targets),
            ("match/states_valued", event.evaluations),
        ]
    if isinstance(event, LearningFinished):
        return [("learning/loss", event.loss), ("learning/policy_loss", event.policy_loss)]
    if isinstance(event, RoundFinished):
        speed = event.evaluations / event.search_seconds if event.search_seconds > 0 else None
        return [
            ("speed/states_valued_per_second", speed),
            ("speed/search_seconds", event.search_seconds),
            ("speed/learning_seconds", event.learning_seconds),
            ("replay/states", event.replay_states),
            ("results/decisive_share", event.decisive_share),
            ("results/cut_off_share", event.cut_off_share),
            ("search/resolved_states_kept", event.resolved_states),
            ("workers/staleness", event.staleness),
            ("workers/most_staleness", event.most_staleness),
            ("workers/learner_busy", event.learner_busy),
            ("workers/busy", None if event.workers_busy is None else sum(event.workers_busy)),
            ("workers/waited", None if event.workers_waited is None else sum(event.workers_waited)),
            ("workers/inference_busy", event.inference_busy),
            ("workers/queued", event.queued),
            ("workers/lost", event.workers_lost),
        ]
    if isinstance(event, WarmUpFinished):
        return [("warm_up/loss", event.loss), ("warm_up/explained", event.explained)]
    if isinstance(event, EvaluationFinished):
        ends = (("points", event.points), ("low", event.low), ("high", event.high))
        return [(f"evaluation/{event.opponent}/{name}", value) for name, value in ends]
    if isinstance(event, BestReplaced):
        return [("evaluation/best", event.points)]
    return []
