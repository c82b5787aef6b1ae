"""Workers in processes of this machine, connected by pipes.

Each end of a pipe has a thread, so that no side waits for the other: a pipe holds 64 kB, and a message may be larger. A
process that stops in the middle of a message holds up one thread and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.reduction import ForkingPickler
from typing import Any

from athenan_spiel.system.processes import begin, context
from athenan_spiel.system.stopping import SIGNALS
from athenan_spiel.system.transport import Lost, Mailbox, MailboxClosedError, Ready

END_SECONDS = 30.0
"""Time for processes to end by themselves, in seconds."""
EXIT_SECONDS = 1.0
"""Time for a process whose pipe is closed to report its exit code."""


@dataclass(eq=False)
class ProcessWorker:
    """A worker.

    Attributes:
        process: its process.
        sender: sends it messages.
    """

    process: SpawnProcess
    sender: Sender


class Processes:
    """Starts workers in processes of this machine; see `transport.Transport`.

    Args:
        daemon: workers may not start processes of their own, and end when this process exits.
        exits: workers exit as soon as their mailbox is closed, whatever they are doing.
        bound: on Linux the system kills the workers if this thread ends, however it ends.
    """

    def __init__(self, *, daemon: bool = False, exits: bool = False, bound: bool = False) -> None:
        self._daemon = daemon
        self._exits = exits
        self._bound = bound
        self._received: queue.SimpleQueue[tuple[ProcessWorker, Any]] = queue.SimpleQueue()

    def start(self, target: Callable[..., None], *arguments: Any) -> ProcessWorker:
        """Starts a worker that calls `target(mailbox, *arguments)`.

        Raises:
            OSError: the process could not be started.
            pickle.PicklingError, AttributeError, TypeError: an argument cannot be sent.
        """
        pipes = context()
        received, orders = pipes.Pipe(duplex=False)
        reports, sent = pipes.Pipe(duplex=False)
        try:
            all_arguments = received, sent, self._exits, target, *arguments
            process = begin(_work, *all_arguments, daemon=self._daemon, deaf_to=SIGNALS, bound=self._bound)
        except BaseException:
            orders.close()
            reports.close()
            raise
        finally:
            received.close()
            sent.close()
        worker = ProcessWorker(process, Sender(orders))
        self._received.put((worker, Ready("", "", process.pid or 0)))
        Receiver(reports, lambda message: self._received.put((worker, message)))
        return worker

    def send(self, message: Any, *workers: ProcessWorker) -> None:
        """Sends a message to each of `workers`."""
        data = bytes(ForkingPickler.dumps(message))
        for worker in workers:
            worker.sender.send(data)

    def poll(self, seconds: float) -> list[tuple[ProcessWorker, Any]]:
        """Returns the messages that have arrived; if there are none, waits for one for at most `seconds`.

        Raises:
            Exception: a message cannot be read.
        """
        found = []
        for worker, message in taken(self._received, seconds):
            if isinstance(message, EOFError | OSError):
                message = Lost(_ending(worker.process))
            elif isinstance(message, Exception):
                raise message
            found.append((worker, message))
        return found

    def kill(self, worker: ProcessWorker, *, hangs: bool = False) -> None:
        """Ends a worker at once."""
        worker.process.kill()
        worker.process.join()
        worker.sender.close()

    def end(self, *workers: ProcessWorker) -> None:
        """Closes the mailboxes of `workers` and waits for their end; those that take too long are killed."""
        for worker in workers:
            worker.sender.finish()
        until = time.monotonic() + END_SECONDS
        for worker in workers:
            worker.process.join(max(0.0, until - time.monotonic()))
            self.kill(worker)


class Sender:
    """Sends pickled messages in their order from a thread, and closes the pipe after the last one."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._unsent: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._send_all, name="sender", daemon=True)
        self._thread.start()

    def send(self, data: bytes) -> None:
        """Adds a message to those to be sent."""
        self._unsent.put(data)

    def finish(self) -> None:
        """Closes the pipe once all are sent, or nobody receives any more."""
        self._unsent.put(None)

    def close(self) -> None:
        """As `finish`, and waits for it."""
        self.finish()
        self._thread.join()

    def _send_all(self) -> None:
        with self._pipe, contextlib.suppress(OSError):  # OSError: nobody receives any more
            while (data := self._unsent.get()) is not None:
                self._pipe.send_bytes(data)


class Receiver:
    """Receives messages in a thread until nobody sends any more, and closes the pipe.

    Args:
        take: called with each message, and at last with what has ended it: `EOFError` or `OSError` if nobody sends any
            more, another error if a message cannot be read.
    """

    def __init__(self, pipe: Connection, take: Callable[[Any], None]) -> None:
        self._pipe = pipe
        self._take = take
        threading.Thread(target=self._receive_all, name="receiver", daemon=True).start()

    def _receive_all(self) -> None:
        with self._pipe:
            try:
                while True:
                    self._take(self._pipe.recv())
            except Exception as error:
                self._take(error)


def taken(received: queue.SimpleQueue[Any], seconds: float) -> list[Any]:
    """Returns all that is queued; if nothing is, what comes first within `seconds`."""
    found = []
    with contextlib.suppress(queue.Empty):
        found.append(received.get(timeout=seconds))
        while True:
            found.append(received.get_nowait())
    return found


def _ending(process: SpawnProcess) -> str:
    """How a process has ended."""
    process.join(EXIT_SECONDS)
    code = process.exitcode
    if code is None or code >= 0:
        return f"ended with code {code}"
    with contextlib.suppress(ValueError):
        return f"ended by signal {-code} ({signal.Signals(-code).name})"
    return f"ended by signal {-code}"


def _work(received: Connection, sent: Connection, exits: bool, target: Callable[..., None], *arguments: Any) -> None:
    """Calls `target` in a worker's process."""
    sender = Sender(sent)
    mailbox = Mailbox(lambda message: sender.send(bytes(ForkingPickler.dumps(message))))

    def take(message: Any) -> None:
        if isinstance(message, EOFError | OSError):
            if exits:
                os._exit(0)
            mailbox.close()
        elif isinstance(message, Exception):  # a message cannot be read
            traceback.print_exception(message)
            os._exit(1)
        else:
            mailbox.put(message)

    Receiver(received, take)
    with contextlib.closing(sender), contextlib.suppress(MailboxClosedError):
        target(mailbox, *arguments)
