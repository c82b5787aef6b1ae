"""Requests to stop a run: Ctrl-C, SIGTERM, SIGHUP, and a function of the caller."""

from __future__ import annotations

import contextlib
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.system.portable import handle_once

HANGUP_SIGNALS: tuple[int, ...] = tuple(
    getattr(signal, name) for name in ("SIGHUP", "SIGBREAK") if hasattr(signal, name)
)
"""Signals of a closed terminal; on Windows, which has no SIGHUP, also Ctrl-Break."""
TERMINAL_SIGNALS: tuple[int, ...] = (signal.SIGINT, *HANGUP_SIGNALS)
"""Signals that a terminal sends to all processes started in it."""
SIGNALS: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM, *HANGUP_SIGNALS)
"""Ctrl-C, the request of a batch system before it kills, and that of a closed terminal."""
ECHO_SECONDS = 1.0
"""Signals within this time are one request: SIGTERM and SIGHUP often come together or twice."""

AGAIN_SECONDS = 0.1
"""Time after which an exception is raised again in droppable work that has not ended."""


class StopSignal(KeyboardInterrupt):
    """Raised for one of `SIGNALS`.

    A class of its own, as `python -m` ends by SIGINT once a plain `KeyboardInterrupt` has left an `exec`, which
    importing is full of, even if it was caught then.
    """


class StopRequests:
    """Context in which `SIGNALS` raise `StopSignal` only in droppable work, and are noted elsewhere.

    1. Inside `droppable()` a signal raises at once, or on entry if it came before.
    2. Elsewhere it is noted: `requested` is true from then on.
    3. Ctrl-C after another signal raises wherever the run is; SIGTERM and SIGHUP never do so. If Ctrl-C had the
       system's default action before, as in the `athenan` command, the second one takes that action instead: the system
       ends the process at once, also inside native code, where no handler of Python's runs.
    4. A signal that was ignored stays so: `nohup` ignores SIGHUP, and a shell Ctrl-C in what it runs in the background.
       SIGTERM and SIGHUP stay the caller's where the caller has a handler for them.
    5. Of nested contexts, only the inner one handles signals, and passes them to the outer one.
    6. An exception raised in droppable work may be lost in a finalizer or in a generator that is freed. It is raised
       again until the work has ended, and never in a `__del__`.
    7. Nothing is raised while droppable work imports a module, but right after. Native code of a module that imports
       Python code may abort the process at an exception, and a module that is half imported stays broken.

    Signals reach the main thread only; in other threads `requested` depends only on `asked`.

    Args:
        asked: a function that is called repeatedly; True stops the run.
        raises: a second Ctrl-C always raises, for work that only waits and must clean up.

    Attributes:
        signal: the last signal received; None before the first.
    """

    def __init__(self, asked: Callable[[], bool] | None = None, *, raises: bool = False) -> None:
        self.signal: int | None = None
        self._raises = raises
        self._ends = False
        """Whether a second Ctrl-C takes the system's default action."""
        self._asked = asked or (lambda: False)
        self._heard_at = 0.0
        self._droppable = False
        self._importing = 0
        """Imports in progress where the droppable work was entered, such as that of a script that trains."""
        self._resent: int | None = None
        self._raised: queue.SimpleQueue[int | None] = queue.SimpleQueue()  # which may be put to in a signal's handler
        self._resender: threading.Thread | None = None
        self._outer: StopRequests | None = None
        self._previous: dict[int, Any] = {}

    @property
    def requested(self) -> bool:
        """Whether the run should stop.

        Raises:
            ConfigError: `asked` returned neither true nor false.
        """
        return self.signal is not None or _is_true(self._asked())

    @contextlib.contextmanager
    def droppable(self) -> Iterator[None]:
        """Context of work that can be interrupted anywhere without harm."""
        self._importing = _imports(sys._getframe())
        self._droppable = True
        try:
            if self.signal is not None:
                raise StopSignal
            yield
        finally:
            self._droppable = False

    def __enter__(self) -> StopRequests:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                handler = signal.getsignal(number)
                outer = getattr(handler, "__self__", None)
                if isinstance(outer, StopRequests):
                    self._outer, self.signal = outer, outer.signal
                if isinstance(outer, StopRequests) or _may_be_replaced(number, handler):
                    self._previous[number] = signal.signal(number, self._on_signal)
            self._ends = not self._raises and self._inherits_default_action()
            self._arm()
            if self._previous:
                self._resender = threading.Thread(target=self._resend, name="stop requests", daemon=True)
                self._resender.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._resender is not None:
            self._raised.put(None)
            self._resender.join()  # so that nothing is sent to the handlers that are put back
        for number, previous in self._previous.items():
            signal.signal(number, previous)
        if self._outer is not None:
            self._outer._arm()

    def _inherits_default_action(self) -> bool:
        """Whether Ctrl-C would end the process if it were not for these requests and those around them."""
        if self._outer is not None:
            return self._outer._ends or self._outer._inherits_default_action()
        return self._previous.get(signal.SIGINT, signal.default_int_handler) is signal.SIG_DFL

    def _arm(self) -> None:
        """Leave Ctrl-C to the system once a signal has come, or let it leave that so when the next one comes."""
        if self._ends and signal.SIGINT in self._previous:
            if self.signal is None:
                handle_once(signal.SIGINT)
            else:
                signal.signal(signal.SIGINT, signal.SIG_DFL)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._resent == number:
            self._resent = None
            if self._droppable:
                self._raise(number, frame)
            return
        first, echo = self.signal is None, time.monotonic() - self._heard_at < ECHO_SECONDS
        self._note(number)
        self._arm()
        if number == signal.SIGINT and not first and not self._droppable:
            raise StopSignal
        if self._droppable and (first or not echo or number == signal.SIGINT):
            self._raise(number, frame)

    def _raise(self, number: int, frame: FrameType | None) -> None:
        """Raise in droppable work, and have it looked at again whether that was left."""
        self._raised.put(number)
        if not _is_finalizing(frame) and _imports(frame) <= self._importing:
            raise StopSignal

    def _resend(self) -> None:
        """Send the signal of what was raised once more, if it was lost; in a thread of its own."""
        while (number := self._raised.get()) is not None:
            time.sleep(AGAIN_SECONDS)
            if signal.getsignal(number) == signal.SIG_DFL:
                number = signal.SIGTERM  # Ctrl-C would end the process now
            if self._droppable and signal.getsignal(number) == self._on_signal:
                self._resent = number
                if hasattr(signal, "pthread_kill"):  # which wakes the main thread where it waits
                    signal.pthread_kill(threading.main_thread().ident or 0, number)
                else:
                    signal.raise_signal(number)

    def _note(self, number: int) -> None:
        self.signal = number
        self._heard_at = time.monotonic()
        if self._outer is not None:
            self._outer._note(number)


def restore_handler(number: int, handler: Any) -> None:
    """Restore a handler of a signal."""
    signal.signal(number, handler)
    requests = getattr(handler, "__self__", None)
    if isinstance(requests, StopRequests):
        requests._arm()


def _is_finalizing(frame: FrameType | None) -> bool:
    """Whether a finalizer is running, out of which nothing is raised."""
    while frame is not None:
        if frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


def _imports(frame: FrameType | None) -> int:
    """Number of import system frames that are running."""
    count = 0
    while frame is not None:
        count += frame.f_code.co_filename.startswith("<frozen importlib.")
        frame = frame.f_back
    return count


def _is_true(answer: object) -> bool:
    try:
        return bool(answer)
    except (TypeError, ValueError):  # as of an array
        raise ConfigError(f"expected stop to answer True or False, got {shown(answer)}") from None


def _may_be_replaced(number: int, handler: Any) -> bool:
    if handler is None or handler is signal.SIG_IGN:
        return False
    return number == signal.SIGINT or handler is signal.SIG_DFL
