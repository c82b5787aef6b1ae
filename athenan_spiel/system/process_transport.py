"""Workers in processes of this machine, connected by pipes.

Each end of a pipe has a thread, so that neither side waits for the other: a pipe holds 64 kB, and a message may be
larger. A process that is suspended in the middle of a message blocks only one thread.
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

from athenan_spiel.system.processes import spawn_context, start_process
from athenan_spiel.system.stopping import SIGNALS
from athenan_spiel.system.transport import Lost, Mailbox, MailboxClosedError, Ready, Receive

END_SECONDS = 30.0
"""Time for workers to end by themselves, in seconds."""
EXIT_SECONDS = 1.0
"""Time for a process whose pipe is closed to report its exit code, in seconds."""


@dataclass(eq=False)
class ProcessWorker:
    """A worker's process, and the sender of its messages."""

    process: SpawnProcess
    sender: Sender


class ProcessTransport:
    """Starts workers in processes of this machine; see `transport.WorkerTransport`.

    Args:
        daemon: workers may not start processes, and end when this process exits.
        exits: workers exit as soon as their mailbox is closed, even in the middle of a call.
        killed_with_parent: on Linux, workers are killed when the thread that started them ends for any reason.
    """

    def __init__(self, *, daemon: bool = False, exits: bool = False, killed_with_parent: bool = False) -> None:
        self._exits = exits
        self._options: dict[str, Any] = {
            "daemon": daemon,
            "blocked_signals": SIGNALS,
            "killed_with_parent": killed_with_parent,
        }
        self._received: queue.SimpleQueue[tuple[ProcessWorker, Any]] = queue.SimpleQueue()

    def start(self, target: Callable[..., None], *arguments: Any) -> ProcessWorker:
        """As `WorkerTransport.start`."""
        pipes = spawn_context()
        received, orders = pipes.Pipe(duplex=False)
        reports, sent = pipes.Pipe(duplex=False)
        try:
            process = start_process(_work, received, sent, self._exits, target, *arguments, **self._options)
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
        """As `WorkerTransport.send`."""
        data = bytes(ForkingPickler.dumps(message))
        for worker in workers:
            worker.sender.send(data)

    def poll(self, seconds: float, receive: Receive[ProcessWorker]) -> None:
        """As `WorkerTransport.poll`.

        Raises:
            Exception: a message cannot be unpickled.
        """
        for worker, message in taken(self._received, seconds):
            if isinstance(message, EOFError | OSError):
                message = Lost(_ending(worker.process))
            elif isinstance(message, Exception):
                raise message
            receive(worker, message)

    def kill(self, worker: ProcessWorker, *, hangs: bool = False) -> None:
        """As `WorkerTransport.kill`."""
        worker.process.kill()
        worker.process.join()
        worker.sender.close()

    def end(self, *workers: ProcessWorker) -> None:
        """As `WorkerTransport.end`, within `END_SECONDS`."""
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
        """Queues a message."""
        self._unsent.put(data)

    def finish(self) -> None:
        """Closes the pipe when all messages are sent, or when its other end is closed."""
        self._unsent.put(None)

    def close(self) -> None:
        """Closes the pipe as `finish` does, and waits for that."""
        self.finish()
        self._thread.join()

    def _send_all(self) -> None:
        with self._pipe, contextlib.suppress(OSError):  # the other end is closed
            while (data := self._unsent.get()) is not None:
                self._pipe.send_bytes(data)


class Receiver:
    """Receives messages in a thread until the other end of the pipe is closed, and closes the pipe.

    Args:
        take: called with each message, and finally with the error that ended the thread: `EOFError` or `OSError` if the
            other end is closed, another error if a message cannot be unpickled.
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
    """Returns everything in the queue; if it is empty, waits for an item for at most `seconds`."""
    found = []
    with contextlib.suppress(queue.Empty):
        found.append(received.get(timeout=seconds))
        while True:
            found.append(received.get_nowait())
    return found


def _ending(process: SpawnProcess) -> str:
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
        elif isinstance(message, Exception):
            traceback.print_exception(message)
            os._exit(1)
        else:
            mailbox.put(message)

    Receiver(received, take)
    with contextlib.closing(sender), contextlib.suppress(MailboxClosedError):
        target(mailbox, *arguments)
