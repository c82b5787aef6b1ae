"""Workers in this process.

1. `poll` calls the function of each worker, which runs until it returns or waits for a message. So the function is
   called again and again, and keeps its state elsewhere.
2. A message of a worker is received while the worker sends it. Messages are not pickled.
3. Everything happens in a fixed order, so work that depends on no clock is reproducible. `poll` raises the exceptions
   of workers.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

from athenan_spiel.system.transport import Mailbox, MailboxClosedError, Ready, Receive


class InlineWorker:
    """A worker: its function, and its mailbox."""

    def __init__(self, target: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self._target = target
        self._arguments = arguments
        self._is_ready = False
        self.mailbox = _InlineMailbox(self._send)

    def run(self, receive: Receive[InlineWorker]) -> None:
        """Calls the function until it waits. `receive` gets its messages."""
        self._receive = receive
        if not self._is_ready:
            self._is_ready = True
            self._send(Ready("", "", os.getpid()))
        with contextlib.suppress(MailboxClosedError):
            self._target(self.mailbox, *self._arguments)

    def _send(self, message: Any) -> None:
        self._receive(self, message)


class InlineTransport:
    """Runs workers in this process; see `transport.WorkerTransport`."""

    def __init__(self) -> None:
        self._workers: list[InlineWorker] = []

    def start(self, target: Callable[..., None], *arguments: Any) -> InlineWorker:
        """As `WorkerTransport.start`; nothing is pickled, and no process is started."""
        worker = InlineWorker(target, arguments)
        self._workers.append(worker)
        return worker

    def send(self, message: Any, *workers: InlineWorker) -> None:
        """As `WorkerTransport.send`."""
        for worker in workers:
            worker.mailbox.put(message)

    def poll(self, seconds: float, receive: Receive[InlineWorker]) -> None:
        """As `WorkerTransport.poll`. With `seconds=0.0` no worker runs; otherwise each runs until it waits."""
        if seconds:
            for worker in list(self._workers):
                worker.run(receive)

    def kill(self, worker: InlineWorker, *, hangs: bool = False) -> None:
        """As `WorkerTransport.kill`."""
        if worker in self._workers:
            self._workers.remove(worker)

    def end(self, *workers: InlineWorker) -> None:
        """As `WorkerTransport.end`."""
        for worker in workers:
            self.kill(worker)


class _InlineMailbox(Mailbox):
    """Mailbox whose `get` ends the worker's function instead of waiting."""

    def get(self, seconds: float | None = 0.0) -> Any | None:
        if seconds != 0.0 and self._received.empty():
            raise MailboxClosedError
        return super().get()
