"""Sends each event of a run to all its listeners.

An error that a listener raises is passed on unchanged, after the run is saved. Only failed writes become a
`CheckpointError`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from athenan_spiel.errors import CheckpointError
from athenan_spiel.training.events import Event, Listener


class Broadcast:
    """Calls `listeners` in order.

    Attributes:
        broken: whether a listener has raised an error.

    Raises:
        CheckpointError: a listener could not write, for example on a full disk.
    """

    def __init__(self, listeners: Sequence[Listener]) -> None:
        self.broken = False
        self._listeners = listeners

    def __call__(self, event: Event) -> None:
        """Send `event` to all listeners."""
        for listener in self._listeners:
            try:
                self._tell(listener, event)
            except BrokenPipeError:  # the reader of the output is gone
                raise
            except OSError as error:
                raise CheckpointError(
                    f"{type(listener).__name__} could not write: {error.strerror or error}; "
                    "the last checkpoint is kept: make room and resume"
                ) from error

    def last(self, event: Event) -> None:
        """Send `event` to all listeners after an error, ignoring further ones."""
        for listener in self._listeners:
            with contextlib.suppress(Exception):
                listener(event)

    def _tell(self, listener: Listener, event: Event) -> None:
        try:
            listener(event)
        except Exception:
            self.broken = True
            raise
