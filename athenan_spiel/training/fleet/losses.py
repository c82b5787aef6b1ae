"""Actors that are lost: each is told of and replaced, until they are too many."""

from __future__ import annotations

import logging
import time
from collections import deque

from athenan_spiel.errors import LearningError

MOST_LOSSES = 5
"""Actors that may be lost within `LOSSES_SECONDS`, for each one that there is."""
LOSSES_SECONDS = 60.0
_log = logging.getLogger(__name__)


class WorkersLostError(LearningError):
    """Worker processes have died or hung too often, so the training has ended."""


class Losses:
    """The actors that a run has lost.

    Args:
        actors: how many there are.

    Attributes:
        count: lost until now.
    """

    def __init__(self, actors: int) -> None:
        self.count = 0
        self._most = MOST_LOSSES * actors
        self._moments: deque[float] = deque()

    def add(self, number: int, what: str, matches: int) -> None:
        """Count an actor that is lost, and tell of it.

        Args:
            number: its place.
            what: has become of it, as a verb.
            matches: that it was to play, or played and had not sent.

        Raises:
            LearningError: so many are lost in so short a time that no run can come of it.
        """
        moment = time.monotonic()
        self.count += 1
        self._moments.append(moment)
        while moment - self._moments[0] > LOSSES_SECONDS:
            self._moments.popleft()
        if len(self._moments) > self._most:
            raise WorkersLostError(
                f"worker {number} {what}, and {len(self._moments) - 1} before it within {LOSSES_SECONDS:.0f} s "
                "(out of memory?): take fewer --workers"
            )
        _log.warning("worker %d %s: another one takes its place, %d matches are lost", number, what, matches)
