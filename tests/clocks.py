"""A clock that stands for the module `time` where a module looks at one: no test depends on how fast the machine is."""

from __future__ import annotations

HANG_SECONDS = 1800
"""What still runs then hangs: a hundred times what anything here takes. It ends a broken test and decides no other."""


class Clock:
    """It moves when told to, and by `step` after each look.

    Attributes:
        now: what it says next, in seconds.
        step: seconds that go by from one look to the next.
    """

    def __init__(self, now: float = 1234.5, step: float = 0.0) -> None:
        self.now = now
        self.step = step

    def perf_counter(self) -> float:
        """The time."""
        now = self.now
        self.now += self.step
        return now

    monotonic = perf_counter
