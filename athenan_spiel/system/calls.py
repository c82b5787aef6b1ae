"""A function call in a separate process.

1. The process is started by `processes.begin`, so it knows games that a script has registered.
2. `machine.cores` is 1 in it.
3. Its standard output and standard error are discarded.
4. It ends when its object is closed, and at the latest soon after this process has ended.
"""

from __future__ import annotations

import contextlib
import os
import pkgutil
import signal
import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from athenan_spiel.errors import AthenanError, shown
from athenan_spiel.system.machine import use_cores
from athenan_spiel.system.portable import is_orphan
from athenan_spiel.system.processes import begin, context, hear
from athenan_spiel.system.stopping import OF_TERMINALS, StopRequests

END_SECONDS = 2.0
"""Time between a request to end and a kill."""
PARENT_POLL_SECONDS = 0.5


@dataclass(frozen=True)
class CallResult:
    """Result of a call.

    Attributes:
        value: return value of the function; None after an error.
        problem: error message in one line; None without an error.
    """

    value: Any = None
    problem: str | None = None


class Call:
    """A running call.

    Args:
        function: name of a function, "module:function", of any layer.
        arguments: its arguments; they and its result are pickled.

    Raises:
        OSError: the process could not be started.
    """

    def __init__(self, function: str, *arguments: Any) -> None:
        self._ours, theirs = context().Pipe(duplex=False)
        self._result: CallResult | None = None
        try:
            # This process handles Ctrl-C and a closed terminal, and ends the other one.
            self._process = begin(_serve, theirs, function, arguments, os.getpid(), daemon=True, deaf_to=OF_TERMINALS)
        except BaseException:
            self._ours.close()
            raise
        finally:
            theirs.close()

    def result(self, seconds: float = 0.0) -> CallResult | None:
        """Return the result, or None while the function runs.

        Args:
            seconds: maximum time to wait.
        """
        if self._result is None and self._ours.poll(seconds):
            try:
                self._result = self._ours.recv()
            except (EOFError, OSError):  # it was killed, or has crashed
                self._process.join(END_SECONDS)
                self._result = CallResult(problem=f"its process ended with exit code {self._process.exitcode}")
        return self._result

    def terminate(self) -> None:
        """Ask the process to end, without waiting."""
        if self._process.is_alive():
            self._process.terminate()

    def close(self) -> None:
        """End the process if it has not ended."""
        self.terminate()
        self._process.join(END_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._ours.close()


def _serve(connection: Connection, function: str, arguments: tuple[Any, ...], parent: int) -> None:
    """Call the function and send its result."""
    hear(signal.SIGTERM)  # the parent may block it
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    use_cores(1)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    try:
        with StopRequests() as stops, stops.droppable():
            result = CallResult(value=pkgutil.resolve_name(function)(*arguments))
    except (AthenanError, RuntimeError) as error:  # the latter is Ludii's
        result = CallResult(problem=" ".join(str(error).split()))
    except Exception as error:
        result = CallResult(problem=f"{type(error).__name__}: {shown(str(error))}")
    with contextlib.suppress(OSError):  # nobody listens any more
        connection.send(result)


def _end_with(parent: int) -> None:
    """End this process soon after `parent`, whose child it is."""
    while not is_orphan(parent):
        time.sleep(PARENT_POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(END_SECONDS)
    os._exit(1)
