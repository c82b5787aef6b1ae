"""Schedule of checkpoints, and rollback to a checkpoint.

With workers, checkpoints are written in a thread while the run continues. If learning diverges, the run is rolled back
to its last good checkpoint and continues with half the learning rate.
"""

from __future__ import annotations

import dataclasses
import logging
import math
import shlex
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from athenan_spiel.errors import CheckpointError, DivergedError
from athenan_spiel.training.clock import RunClock, RunLimits, now
from athenan_spiel.training.events import Callback, CheckpointWritten, RolledBack
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.run_folder import CONFIG, RunFolder

CHECKPOINT_SHARE = 0.05
"""Maximum fraction of the time spent writing checkpoints. If writing is slow, checkpoints are written less often."""


class Saving:
    """Writes the checkpoints of a session.

    Args:
        milestones: fractions of the run, in (0, 1), at which a checkpoint is due.
        newest: checkpoint that `learner` was restored from; None for a new run.

    Attributes:
        newest: the newest checkpoint.
        seconds: training time in the newest checkpoint.
        spacing: minimum time between two checkpoints, in seconds.
    """

    def __init__(
        self,
        folder: RunFolder,
        learner: LearnerSide,
        clock: RunClock,
        limits: RunLimits,
        milestones: Sequence[float],
        newest: Path | None,
    ) -> None:
        self.newest = newest
        self.seconds = learner.counters.seconds
        self.spacing = learner.config.checkpoint_seconds
        self._folder = folder
        self._learner = learner
        self._clock = clock
        self._limits = limits
        self._saved_at = self._learned() if newest is not None else None
        self._next = self.seconds + self.spacing
        self._milestones = sorted(milestone for milestone in milestones if milestone > limits.done())
        self._writing: _Writing | None = None

    def save_if_due(self, emit: Callback) -> None:
        """Report a finished checkpoint, and write one if it is due. Call this between two rounds.

        Raises:
            CheckpointError: a checkpoint could not be written, or the folder was moved or deleted.
        """
        if self._has_passed_milestone() or self._clock.seconds() >= self._next:
            self._finish(emit)
            self._write(in_background=self._learner.config.workers.count > 0)
        if self._writing is not None and not self._writing.is_alive():
            self._finish(emit)

    def save(self, emit: Callback) -> None:
        """Write a checkpoint and report it. If nothing was learned since the last one, only its header is rewritten.

        Raises:
            CheckpointError: this or the previous checkpoint could not be written, or the folder was moved or deleted.
        """
        self._finish(emit)
        self._write(in_background=False)
        self._finish(emit)

    def close(self) -> None:
        """Wait for the checkpoint being written, without reporting it."""
        if self._writing is not None:
            self._wait_for(self._writing)

    def _write(self, *, in_background: bool) -> None:
        self._folder.require_kept()
        self.seconds = self._clock.seconds()
        if self.newest is not None and self._saved_at == self._learned():
            self._folder.save_header(self.newest, self._learner.header(self.seconds))
            return
        self._next = math.inf
        make_checkpoint, folder = self._learner.snapshot(self.seconds), self._folder
        writing = _Writing(self._learned(), lambda: folder.save(make_checkpoint()))
        if in_background:
            writing.start()
        else:
            writing.run()
        self._writing = writing

    def _finish(self, emit: Callback) -> None:
        """Wait for the checkpoint being written, if any, and report it."""
        if self._writing is None:
            return
        writing = self._writing
        self._wait_for(writing)
        if writing.path is None:
            raise writing.error
        seconds = writing.seconds
        self.spacing = max(self._learner.config.checkpoint_seconds, seconds * (1 - CHECKPOINT_SHARE) / CHECKPOINT_SHARE)
        self._next = self._clock.seconds() + self.spacing
        size = sum(file.stat().st_size for file in writing.path.iterdir())
        matches = writing.learned[0]
        emit(CheckpointWritten(matches=matches, checkpoint=writing.path, bytes=size, writing_seconds=seconds))

    def _wait_for(self, writing: _Writing) -> None:
        if writing.is_alive():
            writing.join()
        self._writing = None
        if writing.path is not None:
            self.newest, self._saved_at = writing.path, writing.learned

    def _has_passed_milestone(self) -> bool:
        """Whether milestones were passed since the last call."""
        ahead = [milestone for milestone in self._milestones if milestone > self._limits.done()]
        passed = len(ahead) < len(self._milestones)
        self._milestones = ahead
        saved = self._saved_at if self._writing is None else self._writing.learned
        matches = 0 if saved is None else saved[0]
        return passed or self._learner.config.has_milestone_between(matches, self._learner.counters.matches)

    def _learned(self) -> tuple[int, int, int]:
        """Returns the counters that change with the weights."""
        counters = self._learner.counters
        return counters.matches, counters.warm_up_states, counters.warm_ups_ended


class _Writing(threading.Thread):
    """Writes a checkpoint, in a new thread (`start`) or in the calling one (`run`).

    Attributes:
        learned: counters of the checkpoint (`Saving._learned`).
        path: path of the complete checkpoint; None before.
        error: reason for a failure.
        seconds: duration.
    """

    def __init__(self, learned: tuple[int, int, int], write: Callable[[], Path]) -> None:
        super().__init__(name="checkpoint", daemon=True)
        self.learned = learned
        self.path: Path | None = None
        self.error: Exception = CheckpointError("writing the checkpoint was interrupted")
        self.seconds = 0.0
        self._write = write

    def run(self) -> None:
        """Write the checkpoint."""
        start = now()
        try:
            self.path = self._write()
        except Exception as error:
            self.error = error
        self.seconds = now() - start


MAX_ROLLBACKS = 5
"""Default maximum number of rollbacks in a session. They reduce the learning rate to 1/32."""
_log = logging.getLogger(__name__)


class Rollbacks:
    """Rolls a session back to a checkpoint, a limited number of times.

    1. The learner gets the same state as after `resume` from the checkpoint with half the learning rate. The new rate
       is written to `config.toml`. Later checkpoints are renamed (`RunFolder.archive_newer`).
    2. The checkpoint is the newest complete one. If the run was already rolled back to it and has written none since,
       its weights may be the cause, so the previous checkpoint is used if there is one.
    3. If the process is killed at any moment, the run can be resumed, with the old or the new rate.

    Args:
        most: maximum number of rollbacks.
    """

    def __init__(self, folder: RunFolder, learner: LearnerSide, most: int) -> None:
        self._folder = folder
        self._learner = learner
        self._most = self._left = most
        self._last: Path | None = None

    def roll_back(self, error: DivergedError, newest: Path | None, seconds: float) -> RolledBack:
        """Roll the learner back.

        Args:
            error: the divergence.
            newest: the session's newest checkpoint.
            seconds: training time until now.

        Returns:
            The event to report.

        Raises:
            DivergedError: the maximum is reached, or no checkpoint is complete.
            CheckpointError: the folder was moved or deleted, or cannot be written.
        """
        if not self._most:
            raise error
        folder, learner = self._folder, self._learner
        folder.require_kept()
        good = folder.last_good(int(newest.name)) if newest is not None and newest == self._last else None
        good = good or folder.last_good()
        if good is None:
            raise DivergedError(f"{error}; no checkpoint is complete: begin a new run") from error
        matches, config = good.header.counters.matches, learner.config
        if not self._left:
            command = f"athenan resume {shlex.quote(str(folder.path))} --from {matches}"
            raise DivergedError(
                f"{error}; rollbacks so far: {self._most}\n"
                f"checkpoint {matches} is complete: set a lower learning_rate in {folder.path / CONFIG}, then continue "
                f"with {command}"
            ) from error
        self._left -= 1
        slower = dataclasses.replace(config.learner, learning_rate=config.learner.learning_rate / 2)
        config = dataclasses.replace(config, learner=slower)
        folder.write_settings(str(learner.game), config)
        folder.archive_newer(matches)
        dropped = learner.counters.matches - matches
        learner.roll_back(good, config)
        self._last = folder.checkpoint(matches)
        _log.warning(
            "%s\nthe run is rolled back to checkpoint %s and loses %d games; learner.learning_rate is now %r",
            error,
            self._last,
            dropped,
            slower.learning_rate,
        )
        return RolledBack(
            matches=matches,
            seconds=seconds,
            dropped=dropped,
            problem=str(error),
            learning_rate=slower.learning_rate,
            checkpoint=self._last,
        )
