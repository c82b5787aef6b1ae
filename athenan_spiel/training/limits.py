"""Limits of a run, and interruption of the work in progress."""

from __future__ import annotations

from typing import Literal

from athenan_spiel.config import TrainingConfig
from athenan_spiel.system.stopping import StopRequests
from athenan_spiel.training.broadcast import Broadcast
from athenan_spiel.training.clock import RunClock, now
from athenan_spiel.training.events import EndReason, StopNoticed
from athenan_spiel.training.learner_side import LearnerSide

LEARNING_SECONDS = 2.0
"""Maximum time of learning after a stop request, if all games of the round have ended, and after the time limit. Then
the round is dropped, or at the time limit the game."""


class BrokenOffError(Exception):
    """Play or learning was interrupted by a stop request or the time limit."""


class OutOfTimeError(Exception):
    """Learning exceeded the time limit by more than `LEARNING_SECONDS`, so the game is dropped."""


def fraction_done(config: TrainingConfig, matches: int, seconds: float) -> float:
    """Returns the fraction of a run completed, in [0, 1]; 0 without limits."""
    by_matches = matches / config.matches if config.matches is not None else 0.0
    by_seconds = seconds / config.seconds if config.seconds is not None else 0.0
    return min(1.0, max(by_matches, by_seconds))


def limit_reached(config: TrainingConfig, matches: int, seconds: float) -> Literal["matches", "seconds"] | None:
    """Returns the limit that a run has reached after `matches` and `seconds`; None if it has reached none."""
    if config.matches is not None and matches >= config.matches:
        return "matches"
    if config.seconds is not None and seconds >= config.seconds:
        return "seconds"
    return None


class Limits:
    """Limits of a session: those of its settings, and stop requests."""

    def __init__(self, learner: LearnerSide, clock: RunClock, stops: StopRequests, emit: Broadcast) -> None:
        self._learner = learner
        self._clock = clock
        self._stops = stops
        self._emit = emit
        self._noticed_at: float | None = None

    def done(self) -> float:
        """Returns the fraction of the run completed, in [0, 1]."""
        return fraction_done(self._learner.config, self._learner.counters.matches, self._clock.seconds())

    def reason(self) -> EndReason | None:
        """Returns the reason to end the run now; None if it continues."""
        if self._stops.requested:
            return "stopped"
        return limit_reached(self._learner.config, self._learner.counters.matches, self._clock.seconds())

    def time_is_up(self) -> bool:
        """Whether the run's time limit has passed."""
        limit = self._learner.config.seconds
        return limit is not None and self._clock.seconds() >= limit

    def break_off_if_stopped(self) -> None:
        """Raise `BrokenOffError` if a stop request came."""
        if self._stops.requested:
            raise BrokenOffError

    def break_off_if_ended(self) -> None:
        """Raise `BrokenOffError` if a stop request came or the time limit has passed."""
        if self._stops.requested or self.time_is_up():
            raise BrokenOffError

    def break_off_learning(self, in_play: bool) -> None:
        """Raise if learning must end: at a stop request at once if games are `in_play`, else after `LEARNING_SECONDS`.

        Raises:
            OutOfTimeError: the time limit is exceeded by `LEARNING_SECONDS`.
            BrokenOffError: a stop request came.
        """
        limit = self._learner.config.seconds
        if limit is not None and self._clock.seconds() > limit + LEARNING_SECONDS:
            raise OutOfTimeError
        if not self._stops.requested:
            return
        if in_play:
            raise BrokenOffError
        moment = now()
        if self._noticed_at is None:
            self._noticed_at = moment
            self._emit(StopNoticed(matches=self._learner.counters.matches))
        if moment - self._noticed_at > LEARNING_SECONDS:
            raise BrokenOffError
