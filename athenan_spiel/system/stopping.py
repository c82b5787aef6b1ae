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
"""Signals of a closed terminal; on Windows, which has no SIGHUP, also of Ctrl-Break."""
SIGNALS: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM, *HANGUP_SIGNALS)
"""Signals that request a stop: Ctrl-C, SIGTERM (sent by batch systems before they kill), and a closed terminal."""
ECHO_SECONDS = 1.0
"""Signals within this time count as one request, in seconds: SIGTERM and SIGHUP often come together or twice."""

AGAIN_SECONDS = 0.1
"""Time after which an exception is raised again in droppable work that has not ended, in seconds."""


class StopSignal(KeyboardInterrupt):
    """Raised for one of `SIGNALS`.

    It is a subclass, because `python -m` kills its process by SIGINT if a plain `KeyboardInterrupt` has ever left an
    `exec` call, even if it was caught afterwards. Every import contains such calls.
    """


class StopRequests:
    """Context in which `SIGNALS` raise `StopSignal` only in droppable work, and are recorded elsewhere.

    1. Inside `droppable()` a signal raises at once, or on entry if it came before.
    2. Elsewhere it is recorded: `requested` is true from then on.
    3. Ctrl-C after another signal raises everywhere; SIGTERM and SIGHUP never do so. If Ctrl-C had the system's default
       action before, as in the `athenan` command, the second Ctrl-C triggers that action instead: the system ends the
       process at once, also inside native code, where Python runs no handler.
    4. Ignored signals stay ignored: `nohup` ignores SIGHUP, and a shell ignores Ctrl-C for background commands. If the
       caller has a handler for SIGTERM or SIGHUP, it is kept.
    5. Of nested contexts, only the inner one handles signals. It passes them to the outer one.
    6. An exception raised in droppable work may be lost in a finalizer, or in a generator while it is freed. So it is
       raised again until the work has ended. It is never raised in a `__del__`.
    7. While droppable work imports a module, nothing is raised before the end of the import. Native code that imports
       Python code may abort the process at an exception, and a partly imported module stays broken. `postponed` is for
       other native code that does so.
    8. In the `athenan` command, which ends after a stop, SIGTERM and SIGHUP are ignored from then on. Otherwise one
       that comes while Python ends would replace the exit code.

    Only the main thread receives signals. In other threads `requested` depends only on `asked`.

    Args:
        asked: called repeatedly; returns whether the run should stop.
        raises: a second Ctrl-C always raises, for work that only waits and must clean up.

    Attributes:
        signal: the last signal received; None before the first.
    """

    def __init__(self, asked: Callable[[], bool] | None = None, *, raises: bool = False) -> None:
        self.signal: int | None = None
        self._raises = raises
        self._ends = False
        """Whether a second Ctrl-C triggers the system's default action."""
        self._asked = asked or (lambda: False)
        self._received_at = 0.0
        self._droppable = False
        self._importing = 0
        """Number of imports in progress at the start of the droppable work, such as that of a script that trains."""
        self._resent: int | None = None
        self._raised: queue.SimpleQueue[int | None] = queue.SimpleQueue()  # `put` is allowed in a signal handler
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
        """Context of work that can be interrupted at any point without damage."""
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
            self._resender.join()  # so that it sends no signal to the restored handlers
        ends = self.signal is not None and self._inherits_default_action()
        for number, previous in self._previous.items():
            ignored = ends and previous is signal.SIG_DFL and number != signal.SIGINT
            signal.signal(number, signal.SIG_IGN if ignored else previous)
        if self._outer is not None:
            self._outer._arm()

    def _inherits_default_action(self) -> bool:
        """Whether Ctrl-C had the default action before this context and those around it."""
        if self._outer is not None:
            return self._outer._ends or self._outer._inherits_default_action()
        return self._previous.get(signal.SIGINT, signal.default_int_handler) is signal.SIG_DFL

    def _arm(self) -> None:
        """Make the Ctrl-C after the first signal trigger the default action.

        Before the first signal, the system is asked to restore that action when it calls the handler.
        """
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
        first, echo = self.signal is None, time.monotonic() - self._received_at < ECHO_SECONDS
        self._record(number)
        self._arm()
        if number == signal.SIGINT and not first and not self._droppable:
            raise StopSignal
        if self._droppable and (first or not echo or number == signal.SIGINT):
            self._raise(number, frame)

    def _raise(self, number: int, frame: FrameType | None) -> None:
        """Raise `StopSignal`, if possible here, and let `_resend` check whether the droppable work has ended."""
        self._raised.put(number)
        if not _is_finalizing(frame) and _imports(frame) <= self._importing and not _postponing:
            raise StopSignal

    def _resend(self) -> None:
        """Send a signal again if its exception was lost. Runs in a separate thread."""
        while (number := self._raised.get()) is not None:
            time.sleep(AGAIN_SECONDS)
            if signal.getsignal(number) == signal.SIG_DFL:
                number = signal.SIGTERM  # Ctrl-C would end the process now
            if self._droppable and signal.getsignal(number) == self._on_signal:
                self._resent = number
                if hasattr(signal, "pthread_kill"):  # it wakes the main thread if that waits
                    signal.pthread_kill(threading.main_thread().ident or 0, number)
                else:
                    signal.raise_signal(number)

    def _record(self, number: int) -> None:
        self.signal = number
        self._received_at = time.monotonic()
        if self._outer is not None:
            self._outer._record(number)


_postponing: list[None] = []
"""An item for each `postponed` context."""


@contextlib.contextmanager
def postponed() -> Iterator[None]:
    """Context in which droppable work is not interrupted: its native code calls Python, and aborts at an exception."""
    _postponing.append(None)
    try:
        yield
    finally:
        _postponing.pop()


def restore_handler(number: int, handler: Any) -> None:
    """Set the handler of a signal again, after another one was set for some time."""
    signal.signal(number, handler)
    requests = getattr(handler, "__self__", None)
    if isinstance(requests, StopRequests):
        requests._arm()


def _is_finalizing(frame: FrameType | None) -> bool:
    """Whether a finalizer is running, in which exceptions are lost."""
    while frame is not None:
        if frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


def _imports(frame: FrameType | None) -> int:
    """Returns the number of frames of the import system on the stack."""
    count = 0
    while frame is not None:
        count += frame.f_code.co_filename.startswith("<frozen importlib.")
        frame = frame.f_back
    return count


def _is_true(answer: object) -> bool:
    try:
        return bool(answer)
    except (TypeError, ValueError):  # such as an array
        raise ConfigError(f"expected stop to return True or False, got {shown(answer)}") from None


def _may_be_replaced(number: int, handler: Any) -> bool:
    if handler is None or handler is signal.SIG_IGN:
        return False
    return number == signal.SIGINT or handler is signal.SIG_DFL
