"""Processes that the library begins.

1. They are spawned, as neither torch nor Java survives a fork.
2. Signals that a terminal sends to a whole group of processes do not come to them, where their parent ends them.
3. They import nothing from the current folder, where Python would look first, even for its own modules. What this
   process imports from, they do as well.
4. A script that began them is not run again by them unless it is guarded by `if __name__ == "__main__"`; a guarded one
   is imported, so what it registers is known to them, too.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from types import ModuleType
from typing import Any

from athenan_spiel.system.portable import die_with_parent
from athenan_spiel.system.stopping import CLOSED, put_back


def context() -> SpawnContext:
    """What makes pipes and events for processes that are spawned.

    Python tidies up after such processes by one of its own; a terminal that is closed must not end it before them.
    """
    if sys.platform != "win32":
        with _held(CLOSED), _without_the_current_folder():
            resource_tracker.ensure_running()
    return multiprocessing.get_context("spawn")


def begin(
    target: Callable[..., None],
    *arguments: Any,
    daemon: bool = False,
    deaf_to: Collection[int] = (),
    bound: bool = False,
) -> SpawnProcess:
    """Begin a process that calls `target`.

    Args:
        arguments: of `target`; they are pickled.
        daemon: the process ends when this one does.
        deaf_to: signals that wait for ever in the process, and until it has begun in this one.
        bound: on Linux the process is killed when the thread that calls this ends, however it ends.
    """
    if bound:
        target, arguments = _bound, (os.getpid(), target, *arguments)
    if sys.platform == "win32":  # which blocks no signals
        target, arguments = _deaf, (tuple(deaf_to), target, *arguments)
    process = context().Process(target=target, args=arguments, daemon=daemon)
    with _held(deaf_to), _unguarded_script_left_out(), _without_the_current_folder():
        process.start()
    return process


def hear(number: int) -> None:
    """Let this process hear a signal that it was begun deaf to, or its parent was."""
    if sys.platform == "win32":
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    else:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})


def _bound(parent: int, target: Callable[..., None], *arguments: Any) -> None:
    """Call `target` in a process that is killed with `parent`."""
    die_with_parent(parent)
    target(*arguments)


def _deaf(signals: Collection[int], target: Callable[..., None], *arguments: Any) -> None:
    """Call `target` in a process that ignores these signals."""
    for number in signals:
        signal.signal(number, signal.SIG_IGN)
    target(*arguments)


@contextlib.contextmanager
def _held(signals: Collection[int]) -> Iterator[None]:
    """`signals` wait; what is blocked stays so in a process that begins.

    If another thread receives one, its handler would still run in the main thread, and the system's default action
    would end this process before the new one has its data. So it is noted, and raised again at the end. Python's
    resource tracker unblocks some of them when it starts, so `context` starts it first.
    """
    came: list[int] = []
    with contextlib.ExitStack() as after:
        after.callback(_raise_all, came)
        if threading.current_thread() is threading.main_thread():
            for number in signals:
                handler = signal.getsignal(number)
                if callable(handler) or handler is signal.SIG_DFL:
                    signal.signal(number, lambda number, frame: came.append(number))
                    after.callback(put_back, number, handler)
        if sys.platform != "win32":
            before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
            after.callback(signal.pthread_sigmask, signal.SIG_SETMASK, before)
        yield


def _raise_all(signals: Sequence[int]) -> None:
    for number in signals:
        signal.raise_signal(number)


@contextlib.contextmanager
def _without_the_current_folder() -> Iterator[None]:
    """A process that begins within is Python with a command (`-c`), for which the current folder is the first of all to
    import from, until it is told this process's own."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


@contextlib.contextmanager
def _unguarded_script_left_out() -> Iterator[None]:
    """A process that begins within sees an empty main module where it would train once more by importing it."""
    main = sys.modules["__main__"]
    if _is_guarded(main):
        yield
        return
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _is_guarded(main: ModuleType) -> bool:
    """Whether another process may import `main`: it comes from no file, or its file compares its name."""
    file = getattr(main, "__file__", None)
    if file is None:
        return True
    try:
        return b"__main__" in Path(file).read_bytes()
    except OSError:  # typed into standard input, or in an archive
        return False
