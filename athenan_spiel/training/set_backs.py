"""What a run does when learning diverges: it goes back to its last good checkpoint, and learns slower from there."""

from __future__ import annotations

import dataclasses
import logging
import shlex
from pathlib import Path

from athenan_spiel.errors import DivergedError
from athenan_spiel.training.events import SetBack
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.run_folder import CONFIG, RunFolder

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
