"""A function call in a process of its own, beside this one, which continues meanwhile.

1. The process is begun by `processes.begin`, so games that a script has registered are known to it.
2. It uses one processor core, as far as it asks how many there are.
3. Nothing that it writes to standard output or standard error is shown.
4. It ends with its object's `close`, and at the latest soon after this process, however that ends.
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
"""Time that a process has to end when it is asked to."""
PARENT_POLL_SECONDS = 0.5


@dataclass(frozen=True)
class CallResult:
    """Result of a call.

    Attributes:
        value: what the function returned; None where it failed.
        problem: why it failed, in one line; None where it did not.
    """

    value: Any = None
    problem: str | None = None


class Call:
    """A call that runs.

    Args:
        function: name of a function, "module:function". It may belong to a layer above the caller's.
        arguments: its arguments; they and its result are pickled.

    Raises:
        OSError: the process could not be started.
    """

    def __init__(self, function: str, *arguments: Any) -> None:
        self._ours, theirs = context().Pipe(duplex=False)
        self._result: CallResult | None = None
        try:
            # Ctrl-C and a closed terminal are this process's to hear: it ends the other one.
            self._process = begin(_serve, theirs, function, arguments, os.getpid(), daemon=True, deaf_to=OF_TERMINALS)
        except BaseException:
            self._ours.close()
            raise
        finally:
            theirs.close()

    def result(self, seconds: float = 0.0) -> CallResult | None:
        """Returns the result, or None while the function runs.

        Args:
            seconds: the longest to wait for its end.
        """
        if self._result is None and self._ours.poll(seconds):
            try:
                self._result = self._ours.recv()
            except (EOFError, OSError):  # it was killed, or has crashed
                self._process.join(END_SECONDS)
                self._result = CallResult(problem=f"its process ended with exit code {self._process.exitcode}")
        return self._result

    def terminate(self) -> None:
        """Ask the process to end, without waiting for that."""
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
    hear(signal.SIGTERM)  # the process that began this one may be deaf to it
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
