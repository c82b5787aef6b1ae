"""Tells each event of a run to all its listeners."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from athenan_spiel.errors import CheckpointError
from athenan_spiel.training.events import Event, Listener, RunFinished


class Broadcast:
    """Calls `listeners` in order.

    Raises:
        CheckpointError: a listener could not write, because the disk is full for one.
    """

    def __init__(self, listeners: Sequence[Listener]) -> None:
        self._listeners = listeners

    def __call__(self, event: Event) -> None:
        """Tell `event` to everyone."""
        for listener in self._listeners:
            try:
                listener(event)
            except BrokenPipeError:  # who read the output has gone; nothing is wrong with the disk
                raise
            except OSError as error:
                raise CheckpointError(
                    f"{type(listener).__name__} could not write: {error.strerror or error}; "
                    "the last checkpoint is kept: make room and resume"
                ) from error

    def last(self, event: RunFinished) -> None:
        """Tell everyone that an error ended the run, perhaps one of a listener itself."""
        for listener in self._listeners:
            with contextlib.suppress(OSError):  # the first error is the one to be told
                listener(event)
