"""How a run is asked to stop: Ctrl-C, and whatever else the caller watches."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any


class StopRequests:
    """While entered, Ctrl-C raises `KeyboardInterrupt` only where work may be dropped, and else is kept for later.

    1. Inside `droppable()` the first Ctrl-C raises at once, or on entry if it came before.
    2. Elsewhere the first one is noted: `requested` is true from then on.
    3. A second one raises wherever the run is.

    Signals reach the main thread only; in another one `requested` follows `asked` alone.

    Args:
        asked: a caller's own request, looked at again and again; True stops the run.
    """

    def __init__(self, asked: Callable[[], bool] | None = None) -> None:
        self._asked = asked or (lambda: False)
        self._signals = 0
        self._droppable = False
        self._previous: Any = None

    @property
    def requested(self) -> bool:
        """Whether the run should stop."""
        return self._signals > 0 or self._asked()

    @contextlib.contextmanager
    def droppable(self) -> Iterator[None]:
        """Work that may be broken off anywhere without harm."""
        self._droppable = True
        try:
            if self._signals:
                raise KeyboardInterrupt
            yield
        finally:
            self._droppable = False

    def __enter__(self) -> StopRequests:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(self, *error: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1
        if self._droppable or self._signals > 1:
            raise KeyboardInterrupt
