"""A function call in a separate process.

1. The process is started by `processes.start_process`, so it knows games that a script has registered.
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
from typing import Any

from athenan_spiel.errors import AthenanError, shown
from athenan_spiel.system.machine import limit_cores
from athenan_spiel.system.process_transport import ProcessTransport, ProcessWorker
from athenan_spiel.system.processes import unblock_signal
from athenan_spiel.system.stopping import StopRequests
from athenan_spiel.system.transport import Lost, Mailbox, MailboxClosedError

END_SECONDS = 2.0
"""Time between a request to end and a kill, in seconds."""


@dataclass(frozen=True)
class CallResult:
    """Result of a call.

    Attributes:
        value: return value of the function; None after an error.
        problem: error message in one line; None without an error.
    """

    value: Any = None
    problem: str | None = None


class ProcessCall:
    """A running call.

    Args:
        function: name of the function, "module:function". Any package of this library may contain it.
        arguments: arguments of the function. They and the result are pickled.

    Raises:
        OSError: the process could not be started.
    """

    def __init__(self, function: str, *arguments: Any) -> None:
        self._transport = ProcessTransport(daemon=True)
        self._worker = self._transport.start(_serve, function, arguments)
        self._result: CallResult | None = None
        self._transport.poll(0.0, self._receive)  # `Ready`

    def result(self, seconds: float = 0.0) -> CallResult | None:
        """Return the result, or None while the function runs.

        Args:
            seconds: maximum time to wait.
        """
        if self._result is None:
            self._transport.poll(seconds, self._receive)
        return self._result

    def terminate(self) -> None:
        """Ask the process to end, without waiting."""
        self._worker.process.terminate()

    def close(self) -> None:
        """End the process if it has not ended."""
        self.terminate()
        self._worker.process.join(END_SECONDS)
        self._transport.kill(self._worker)

    def _receive(self, worker: ProcessWorker, message: Any) -> None:
        if isinstance(message, CallResult):
            self._result = message
        elif isinstance(message, Lost) and self._result is None:  # it crashed or was killed
            self._result = CallResult(problem=f"its process {message.reason}")


def _serve(mailbox: Mailbox, function: str, arguments: tuple[Any, ...]) -> None:
    """Call the function and send its result."""
    unblock_signal(signal.SIGTERM)
    threading.Thread(target=_end_with_parent, args=(mailbox,), daemon=True).start()
    limit_cores(1)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    try:
        with StopRequests() as stops, stops.droppable():
            result = CallResult(value=pkgutil.resolve_name(function)(*arguments))
    except (AthenanError, RuntimeError) as error:  # Ludii raises RuntimeError
        result = CallResult(problem=" ".join(str(error).split()))
    except Exception as error:
        result = CallResult(problem=f"{type(error).__name__}: {shown(str(error))}")
    mailbox.send(result)


def _end_with_parent(mailbox: Mailbox) -> None:
    """Ends this process soon after the process that started it has ended."""
    with contextlib.suppress(MailboxClosedError):
        mailbox.get(None)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(END_SECONDS)
    os._exit(1)
