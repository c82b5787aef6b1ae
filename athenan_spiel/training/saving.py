"""When the checkpoints of a session are written, and what is told of each.

A checkpoint is the state at one moment. Where workers play, it is written in a thread, beside what comes next.

What a run does when learning diverges: it goes back to its last good checkpoint, and learns slower from there.
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
from athenan_spiel.training.clock import RunClock, now
from athenan_spiel.training.events import CheckpointWritten, Listener, SetBack
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.limits import Limits
from athenan_spiel.training.run_folder import CONFIG, RunFolder

CHECKPOINT_SHARE = 0.05
"""Checkpoints are spaced out so far that writing them takes at most this share of the time."""


class Saving:
    """Writes the checkpoints of a session.

    Args:
        milestones: a checkpoint is due as soon as so much of the run lies behind, each in (0, 1).
        newest: the checkpoint that `learner` was restored from; none: it was not.

    Attributes:
        newest: the newest checkpoint.
        seconds: training time when it was brought up to date.
        spacing: seconds until the next one at least.
    """

    def __init__(
        self,
        folder: RunFolder,
        learner: LearnerSide,
        clock: RunClock,
        limits: Limits,
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

    def look(self, tell: Listener) -> None:
        """Tell of what is written by now, and write what is due; to be called once between two rounds.

        Raises:
            CheckpointError: a checkpoint could not be written, or the folder is gone.
        """
        if self._milestone_is_passed() or self._clock.seconds() >= self._next:
            self._finish(tell)
            self._write(beside=self._learner.config.workers.count > 0)
        if self._writing is not None and not self._writing.is_alive():
            self._finish(tell)

    def save(self, tell: Listener) -> None:
        """Write a checkpoint and tell it; where nothing was learned since the last one, only its header, unsaid.

        Raises:
            CheckpointError: it could not be written, nor could one before it, or the folder is gone.
        """
        self._finish(tell)
        self._write(beside=False)
        self._finish(tell)

    def close(self) -> None:
        """Wait for what is being written, and say no more of it."""
        if self._writing is not None:
            self._settle(self._writing)

    def _write(self, *, beside: bool) -> None:
        """Write a checkpoint, or begin to; `_finish` tells of it."""
        self._folder.require_kept()
        self.seconds = self._clock.seconds()
        if self.newest is not None and self._saved_at == self._learned():
            self._folder.save_header(self.newest, self._learner.header(self.seconds))
            return
        self._next = math.inf
        make, folder = self._learner.snapshot(self.seconds), self._folder
        writing = _Writing(self._learned(), lambda: folder.save(make()))
        if beside:
            writing.start()
        else:
            writing.run()
        self._writing = writing

    def _finish(self, tell: Listener) -> None:
        """Wait for the checkpoint that is being written, if there is one, and tell it."""
        if self._writing is None:
            return
        writing = self._writing
        self._settle(writing)
        if writing.path is None:
            raise writing.error
        taken = writing.seconds
        self.spacing = max(self._learner.config.checkpoint_seconds, taken * (1 - CHECKPOINT_SHARE) / CHECKPOINT_SHARE)
        self._next = self._clock.seconds() + self.spacing
        size = sum(file.stat().st_size for file in writing.path.iterdir())
        matches, _ = writing.learned
        tell(CheckpointWritten(matches=matches, checkpoint=writing.path, bytes=size, writing_seconds=taken))

    def _settle(self, writing: _Writing) -> None:
        """Wait for it, and know what is written then."""
        if writing.is_alive():
            writing.join()
        self._writing = None
        if writing.path is not None:
            self.newest, self._saved_at = writing.path, writing.learned

    def _milestone_is_passed(self) -> bool:
        """Whether milestones were passed since this was last asked."""
        ahead = [milestone for milestone in self._milestones if milestone > self._limits.done()]
        passed = len(ahead) < len(self._milestones)
        self._milestones = ahead
        saved = self._saved_at if self._writing is None else self._writing.learned
        matches = 0 if saved is None else saved[0]
        return passed or self._learner.config.has_milestone_between(matches, self._learner.counters.matches)

    def _learned(self) -> tuple[int, int]:
        """What a checkpoint's weights rest on."""
        return self._learner.counters.matches, self._learner.counters.warm_up_states


class _Writing(threading.Thread):
    """A checkpoint that is written, in the thread that `start` begins or in that which calls `run`.

    Attributes:
        learned: what its weights rest on.
        path: where it is, once it is written.
        error: why it is not.
        seconds: taken for it.
    """

    def __init__(self, learned: tuple[int, int], write: Callable[[], Path]) -> None:
        super().__init__(name="checkpoint", daemon=True)
        self.learned = learned
        self.path: Path | None = None
        self.error: Exception = CheckpointError("the writing of a checkpoint was broken off")
        self.seconds = 0.0
        self._write = write

    def run(self) -> None:
        """Write it."""
        start = now()
        try:
            self.path = self._write()
        except Exception as error:
            self.error = error
        self.seconds = now() - start


SET_BACKS = 5
"""How often a session is set back at most: then it learns at a thirty-second part of its rate."""
_log = logging.getLogger(__name__)


class SetBacks:
    """Sets a session back, as often as it may be.

    1. The learner becomes what one is who resumes the run from the checkpoint with half the learning rate, and
       `config.toml` says that rate. Checkpoints after it are put aside.
    2. The checkpoint is the newest that is whole. If the run has been set back to that one already, and has written
       none since, it may not be good, though it is whole: then it is the one before, if there is one.
    3. A kill at any moment leaves a run that can be resumed, with the old rate or the new.

    Args:
        most: how often.
    """

    def __init__(self, folder: RunFolder, learner: LearnerSide, most: int) -> None:
        self._folder = folder
        self._learner = learner
        self._most = self._left = most
        self._last: Path | None = None

    def go_back(self, error: DivergedError, newest: Path | None, seconds: float) -> SetBack:
        """Set the learner back; what is to be told of it.

        Args:
            error: what was noticed.
            newest: the session's newest checkpoint.
            seconds: training time until now.

        Raises:
            DivergedError: that was done often enough, or there is no such checkpoint.
            CheckpointError: the folder is gone or cannot be written.
        """
        if not self._most:
            raise error
        folder, learner = self._folder, self._learner
        folder.require_kept()
        good = folder.last_good(int(newest.name)) if newest is not None and newest == self._last else None
        good = good or folder.last_good()
        if good is None:
            raise DivergedError(f"{error}; no checkpoint is whole: begin a new run") from error
        matches, config = good.header.counters.matches, learner.config
        if not self._left:
            go_on = f"athenan resume {shlex.quote(str(folder.path))} --from {matches}"
            raise DivergedError(
                f"{error}; halvings so far: {self._most}\n"
                f"checkpoint {matches} is whole: set a lower one in {folder.path / CONFIG}, then go on with {go_on}"
            ) from error
        self._left -= 1
        slower = dataclasses.replace(config.learner, learning_rate=config.learner.learning_rate / 2)
        config = dataclasses.replace(config, learner=slower)
        folder.write_settings(str(learner.game), config)
        folder.put_aside(matches)
        dropped = learner.counters.matches - matches
        learner.go_back(good, config)
        self._last = folder.checkpoint(matches)
        _log.warning(
            "%s\nback to checkpoint %s, without the %d matches after it; learner.learning_rate is %r from now on",
            error,
            self._last,
            dropped,
            slower.learning_rate,
        )
        return SetBack(
            matches=matches,
            seconds=seconds,
            dropped=dropped,
            problem=str(error),
            learning_rate=slower.learning_rate,
            checkpoint=self._last,
        )
