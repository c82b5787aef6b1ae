"""Start of processes.

1. Processes are spawned, because neither torch nor Java survives a fork.
2. Signals that a terminal sends to its process group don't reach a process whose parent ends it.
3. Processes import nothing from the current folder, which Python would search first, even for its own modules. They
   import from the same places as this process.
4. A process imports the script of the main process only if the script is guarded by `if __name__ == "__main__"`. So
   games that the script registers are known there.
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
from athenan_spiel.system.stopping import HANGUP_SIGNALS, restore_handler


def spawn_context() -> SpawnContext:
    """Returns the context that creates pipes and events for spawned processes.

    Python's resource tracker, a process that cleans up after the others, is started with blocked signals. So a closed
    terminal doesn't end it before them.
    """
    if sys.platform != "win32":
        with _deferred(HANGUP_SIGNALS), _without_current_folder():
            resource_tracker.ensure_running()
    return multiprocessing.get_context("spawn")


def start_process(
    target: Callable[..., None],
    *arguments: Any,
    daemon: bool = False,
    blocked_signals: Collection[int] = (),
    killed_with_parent: bool = False,
) -> SpawnProcess:
    """Start a process that calls `target`.

    Args:
        arguments: arguments of `target`; they are pickled.
        daemon: the process ends when this one does.
        blocked_signals: signals blocked in the new process. In this process they are delayed until it has started.
        killed_with_parent: on Linux the process is killed when the calling thread ends for any reason.
    """
    if killed_with_parent:
        target, arguments = _dying_with_parent, (os.getpid(), target, *arguments)
    if sys.platform == "win32":  # signals cannot be blocked
        target, arguments = _ignoring, (tuple(blocked_signals), target, *arguments)
    process = spawn_context().Process(target=target, args=arguments, daemon=daemon)
    try:
        with _deferred(blocked_signals), _without_unguarded_script(), _without_current_folder():
            process.start()
    except BaseException:  # perhaps of a signal that came during the start; nobody else knows the process
        if process.pid is not None:
            process.kill()
            process.join()
        raise
    return process


def unblock_signal(number: int) -> None:
    """Let this process receive a signal that was blocked when it or its parent was started."""
    if sys.platform == "win32":
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    else:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})


def _dying_with_parent(parent: int, target: Callable[..., None], *arguments: Any) -> None:
    die_with_parent(parent)
    target(*arguments)


def _ignoring(signals: Collection[int], target: Callable[..., None], *arguments: Any) -> None:
    for number in signals:
        signal.signal(number, signal.SIG_IGN)
    target(*arguments)


@contextlib.contextmanager
def _deferred(signals: Collection[int]) -> Iterator[None]:
    """Context in which `signals` are blocked; a process started in it inherits this.

    Another thread may still receive a signal. Its handler would run in the main thread, or the default action would end
    this process before the new one has its data. So the signal is recorded, and raised again at the end. Python's
    resource tracker unblocks some signals when it starts, so `spawn_context` starts it first.
    """
    received: list[int] = []
    with contextlib.ExitStack() as after:
        after.callback(_raise_all, received)
        if threading.current_thread() is threading.main_thread():
            for number in signals:
                handler = signal.getsignal(number)
                if callable(handler) or handler is signal.SIG_DFL:
                    signal.signal(number, lambda number, frame: received.append(number))
                    after.callback(restore_handler, number, handler)
        if sys.platform != "win32":
            before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
            after.callback(signal.pthread_sigmask, signal.SIG_SETMASK, before)
        yield


def _raise_all(signals: Sequence[int]) -> None:
    for number in signals:
        signal.raise_signal(number)


@contextlib.contextmanager
def _without_current_folder() -> Iterator[None]:
    """Context in which new processes don't import from the current folder.

    They run `python -c`, which searches that folder first until it receives this process's `sys.path`.
    """
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
def _without_unguarded_script() -> Iterator[None]:
    """Context that hides an unguarded main module from new processes, which would import and so run it again."""
    main = sys.modules["__main__"]
    if not _is_guarded(main):
        sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _is_guarded(main: ModuleType) -> bool:
    """Whether another process may import `main`: the file contains `__main__`, or there is none."""
    file = getattr(main, "__file__", None)
    if file is None:
        return True
    try:
        return b"__main__" in Path(file).read_bytes()
    except OSError:  # the script comes from standard input or an archive
        return False
