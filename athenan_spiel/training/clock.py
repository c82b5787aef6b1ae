"""Clock and limits of a run, and the exceptions that interrupt a round.

Training time is summed over all sessions, without a warm-up on a number of states.
"""

from __future__ import annotations

import time

from athenan_spiel.system.stopping import StopRequests
from athenan_spiel.training.broadcast import Broadcast
from athenan_spiel.training.events import EndReason, StopNoticed
from athenan_spiel.training.learner_side import LearnerSide

PROGRESS_SECONDS = 0.25
"""Minimum time between two progress events, in seconds."""
LEARNING_SECONDS = 2.0
"""Maximum time of learning after a stop request or after the time limit, in seconds.

It applies to a stop request if all games of the round have ended. If learning takes longer, the round is dropped; after
the time limit only the game being learned is dropped."""


def now() -> float:
    """Returns the time in seconds, by the clock that all parts of a run use."""
    return time.perf_counter()


class RunClock:
    """Training time of a run.

    Args:
        before: training time of earlier sessions, in seconds.
        start: start of this session, by `now`; by default the current time.
    """

    def __init__(self, before: float, start: float | None = None) -> None:
        self._before = before
        self._start = now() if start is None else start
        self._end: float | None = None

    def seconds(self) -> float:
        """Returns the training time until now, in seconds."""
        return self._before + (now() if self._end is None else self._end) - self._start

    def stop(self) -> None:
        """Stop the clock."""
        self._end = now()

    def restart(self) -> None:
        """Restart the time of this session at zero."""
        self._start = now()


class Pace:
    """Limits the rate of progress events."""

    def __init__(self) -> None:
        self._next = 0.0

    def is_due(self, moment: float) -> bool:
        """Whether an event is due at `moment`; if so, the next one is due after `PROGRESS_SECONDS`."""
        if moment < self._next:
            return False
        self._next = moment + PROGRESS_SECONDS
        return True


class BrokenOffError(Exception):
    """Play or learning was interrupted by a stop request or the time limit."""


class OutOfTimeError(Exception):
    """Learning exceeded the time limit by more than `LEARNING_SECONDS`, so the game is dropped."""


class RunLimits:
    """Limits of a session: those of its settings, and stop requests."""

    def __init__(self, learner: LearnerSide, clock: RunClock, stops: StopRequests, emit: Broadcast) -> None:
        self._learner = learner
        self._clock = clock
        self._stops = stops
        self._emit = emit
        self._noticed_at: float | None = None

    def done(self) -> float:
        """Returns the fraction of the run completed, in [0, 1]."""
        return self._learner.config.fraction_done(self._learner.counters.matches, self._clock.seconds())

    def reason(self) -> EndReason | None:
        """Returns the reason to end the run now; None if it continues."""
        if self._stops.requested:
            return "stopped"
        return self._learner.config.limit_reached(self._learner.counters.matches, self._clock.seconds())

    def time_is_up(self) -> bool:
        """Whether the run's time limit has passed."""
        limit = self._learner.config.seconds
        return limit is not None and self._clock.seconds() >= limit

    def break_off_if_stopped(self) -> None:
        """Raise `BrokenOffError` if a stop was requested."""
        if self._stops.requested:
            raise BrokenOffError

    def break_off_learning(self, in_play: bool) -> None:
        """Raise if learning must end.

        Args:
            in_play: whether games are in play. If so, a stop request ends learning at once, else after
                `LEARNING_SECONDS`.

        Raises:
            OutOfTimeError: the time limit is exceeded by more than `LEARNING_SECONDS`.
            BrokenOffError: a stop was requested.
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
