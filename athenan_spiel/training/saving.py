"""When the checkpoints of a session are written, and what is told of each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from athenan_spiel.training.clock import RunClock, now
from athenan_spiel.training.events import CheckpointWritten, Listener
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.limits import Limits
from athenan_spiel.training.run_folder import RunFolder

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

    def is_due(self) -> bool:
        """Whether a checkpoint is to be written between these two rounds; to be asked once."""
        return self._milestone_is_passed() or self._clock.seconds() >= self._next

    def save(self, tell: Listener) -> None:
        """Write a checkpoint and tell it; where nothing was learned since the last one, only its header, unsaid.

        Raises:
            CheckpointError: it could not be written, or the folder is gone.
        """
        learner = self._learner
        self._folder.require_kept()
        self.seconds = self._clock.seconds()
        if self.newest is not None and self._saved_at == self._learned():
            self._folder.save_header(self.newest, learner.header(self.seconds))
            return
        start = now()
        self.newest = self._folder.save(learner.checkpoint(self.seconds))
        self._saved_at = self._learned()
        taken = now() - start
        self.spacing = max(learner.config.checkpoint_seconds, taken * (1 - CHECKPOINT_SHARE) / CHECKPOINT_SHARE)
        self._next = self._clock.seconds() + self.spacing
        size = sum(file.stat().st_size for file in self.newest.iterdir())
        matches = learner.counters.matches
        tell(CheckpointWritten(matches=matches, checkpoint=self.newest, bytes=size, writing_seconds=taken))

    def _milestone_is_passed(self) -> bool:
        """Whether milestones were passed since this was last asked."""
        ahead = [milestone for milestone in self._milestones if milestone > self._limits.done()]
        passed = len(ahead) < len(self._milestones)
        self._milestones = ahead
        saved = self._saved_at[0] if self._saved_at is not None else 0
        return passed or self._learner.config.has_milestone_between(saved, self._learner.counters.matches)

    def _learned(self) -> tuple[int, int]:
        """What a checkpoint's weights rest on."""
        return self._learner.counters.matches, self._learner.counters.warm_up_states
