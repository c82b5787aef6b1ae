"""Workers: functions that run in other processes, or beside other work in this one, and exchange messages with it.

1. A worker calls `target(mailbox, *arguments)`. `process_transport` runs it in a process of this machine,
   `ray_transport` in one of a Ray cluster, `inline_transport` in this process.
2. Messages arrive in the order in which they were sent. Neither side waits for the other.
3. `WorkerTransport.poll` receives `Ready` when a worker has started, then its messages, and `Lost` if it ends.
4. Workers end with the process that started them.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

W = TypeVar("W")
Receive: TypeAlias = Callable[[W, Any], None]
"""Function that is called with a worker and one of its messages."""


@dataclass(frozen=True)
class Ready:
    """First message of a worker.

    Attributes:
        host: name of its machine; empty: this machine.
        node: identifier of its node in a Ray cluster; empty: this machine.
        process: its process number on that machine.
    """

    host: str
    node: str
    process: int


@dataclass(frozen=True)
class Lost:
    """Last message of a worker that has ended, was killed, or whose node was lost.

    Attributes:
        reason: a verb phrase, such as "ended by signal 9 (SIGKILL)".
    """

    reason: str


class MailboxClosedError(Exception):
    """The worker must end: the process that started it asks for this, or has ended."""


class Mailbox:
    """Connection of a worker to the process that started it."""

    def __init__(self, send: Callable[[Any], None]) -> None:
        self._send = send
        self._received: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._closed = threading.Event()

    @property
    def is_closed(self) -> bool:
        """Whether the worker must end; `get` then raises."""
        return self._closed.is_set()

    def get(self, seconds: float | None = 0.0) -> Any | None:
        """Returns the next message; None if there is none within `seconds`. With `seconds=None` it waits for one.

        Raises:
            MailboxClosedError: the worker must end.
        """
        found = None
        if not self.is_closed and (seconds != 0.0 or not self._received.empty()):
            with contextlib.suppress(queue.Empty):
                found = self._received.get(timeout=seconds)
        if self.is_closed:
            raise MailboxClosedError
        return found

    def send(self, message: Any) -> None:
        """Sends a message, which is pickled before this returns."""
        self._send(message)

    def put(self, message: Any) -> None:
        """Delivers a message to the worker."""
        self._received.put(message)

    def close(self) -> None:
        """Asks the worker to end."""
        self._closed.set()
        self._received.put(None)


class WorkerTransport(Protocol[W]):
    """Starts workers of type `W` and exchanges messages with them."""

    def start(self, target: Callable[..., None], *arguments: Any) -> W:
        """Starts a worker that calls `target(mailbox, *arguments)`.

        Raises:
            OSError: the process could not be started.
            pickle.PicklingError, AttributeError, TypeError: an argument cannot be pickled.
        """

    def send(self, message: Any, *workers: W) -> None:
        """Sends a message to each of `workers`."""

    def poll(self, seconds: float, receive: Receive[W]) -> None:
        """Calls `receive` with all messages that have arrived; waits up to `seconds` for the first."""

    def kill(self, worker: W, *, hangs: bool = False) -> None:
        """Ends a worker at once. Has no effect if it has ended.

        Args:
            hangs: whether the worker may not respond, so that its process must be killed.
        """

    def end(self, *workers: W) -> None:
        """Closes the mailboxes of `workers`, waits for their end, and kills those that take too long."""
