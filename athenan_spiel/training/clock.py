"""Clock of a run: training time over all sessions, without the warm-up."""

from __future__ import annotations

import time

PROGRESS_SECONDS = 0.25
"""Time between two events of progress."""


def now() -> float:
    """Returns the current time of all run clocks, in seconds."""
    return time.perf_counter()


class RunClock:
    """Training time of a run.

    Args:
        before: seconds of earlier sessions.
        start: start of this session, by `now`; by default now.
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
