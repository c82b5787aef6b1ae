"""The one clock of a run: training time, resumptions included, warm-up apart."""

from __future__ import annotations

import time

PROGRESS_SECONDS = 0.25
"""Time between two events of progress."""


def now() -> float:
    """A moment by the clock of all runs, in seconds."""
    return time.perf_counter()


class RunClock:
    """Seconds of a whole run.

    Args:
        before: those of earlier sessions.
        start: when this session began, as `now` says; none: now.
    """

    def __init__(self, before: float, start: float | None = None) -> None:
        self._before = before
        self._start = now() if start is None else start
        self._end: float | None = None

    def seconds(self) -> float:
        """Seconds of the whole run until now."""
        return self._before + (now() if self._end is None else self._end) - self._start

    def stop(self) -> None:
        """Let the run's time end here."""
        self._end = now()

    def restart(self) -> None:
        """Let this session begin now: what it did until now does not count."""
        self._start = now()


class Pace:
    """Says when something that is told from time to time is due again."""

    def __init__(self) -> None:
        self._next = 0.0

    def is_due(self, moment: float) -> bool:
        """Whether it is due at `moment`, as `now` says; then it is not again for `PROGRESS_SECONDS`."""
        if moment < self._next:
            return False
        self._next = moment + PROGRESS_SECONDS
        return True
