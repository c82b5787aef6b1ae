"""Sends each event of a run to all its callbacks.

Errors of a callback are raised unchanged, except that an `OSError` other than `BrokenPipeError` becomes a
`CheckpointError`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from athenan_spiel.errors import CheckpointError
from athenan_spiel.training.events import Callback, Event


class Broadcast:
    """Calls `callbacks` in order.

    Attributes:
        broken: whether a callback has raised an error.

    Raises:
        CheckpointError: a callback could not write, for example on a full disk.
    """

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        self.broken = False
        self._callbacks = callbacks

    def __call__(self, event: Event) -> None:
        """Send `event` to all callbacks."""
        for callback in self._callbacks:
            try:
                self._call(callback, event)
            except BrokenPipeError:  # the reader of the output has ended
                raise
            except OSError as error:
                raise CheckpointError(
                    f"{type(callback).__name__} could not write: {error.strerror or error}; "
                    "the last checkpoint is kept: make room and resume"
                ) from error

    def last(self, event: Event) -> None:
        """Send `event` to all callbacks after an error, ignoring errors that they raise."""
        for callback in self._callbacks:
            with contextlib.suppress(Exception):
                callback(event)

    def _call(self, callback: Callback, event: Event) -> None:
        try:
            callback(event)
        except Exception:
            self.broken = True
            raise
