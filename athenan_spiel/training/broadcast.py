"""Tells each event of a run to all its listeners.

What a listener raises is its author's to see: it ends the run, which is saved first. Only where something cannot be
written is the error one of ours.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from athenan_spiel.errors import CheckpointError
from athenan_spiel.training.events import Event, Listener


class Broadcast:
    """Calls `listeners` in order.

    Attributes:
        broken: a listener has raised an error.

    Raises:
        CheckpointError: a listener could not write, because the disk is full for one.
    """

    def __init__(self, listeners: Sequence[Listener]) -> None:
        self.broken = False
        self._listeners = listeners

    def __call__(self, event: Event) -> None:
        """Tell `event` to everyone."""
        for listener in self._listeners:
            try:
                self._tell(listener, event)
            except BrokenPipeError:  # who read the output has gone; nothing is wrong with the disk
                raise
            except OSError as error:
                raise CheckpointError(
                    f"{type(listener).__name__} could not write: {error.strerror or error}; "
                    "the last checkpoint is kept: make room and resume"
                ) from error

    def last(self, event: Event) -> None:
        """Tell everyone what there is to be told after an error that ended the run, perhaps a listener's own."""
        for listener in self._listeners:
            with contextlib.suppress(Exception):  # the first error is the one to be told
                listener(event)

    def _tell(self, listener: Listener, event: Event) -> None:
        try:
            listener(event)
        except Exception:
            self.broken = True
            raise
