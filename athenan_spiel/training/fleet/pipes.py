"""The ends of the pipes between the learner and an actor: each has a thread, so that neither waits for the other.

A pipe holds 64 kB, and the record of a match, or what is proven, may be more. Whoever stops in the middle of such a
message holds up a thread, and no more.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any


class Sender:
    """Sends messages in their order, and closes the pipe after the last one.

    Args:
        instead: made of a `MemoryError`, what is sent in place of a message for which there is no memory.
    """

    def __init__(self, pipe: Connection, instead: Callable[[MemoryError], Any] | None = None) -> None:
        self._pipe = pipe
        self._instead = instead
        self._unsent: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._send_on, name="sender", daemon=True)
        self._thread.start()

    def send(self, message: Any) -> None:
        """Let it be sent after those before it; None is no message."""
        self._unsent.put(message)

    def close(self) -> None:
        """Wait until all are sent, or nobody receives any more."""
        self._unsent.put(None)
        self._thread.join()

    def _send_on(self) -> None:
        with self._pipe, contextlib.suppress(OSError):  # OSError: nobody receives any more
            while (message := self._unsent.get()) is not None:
                try:
                    self._pipe.send(message)
                except MemoryError as error:
                    if self._instead is None:
                        raise
                    self._pipe.send(self._instead(error))


class Receiver:
    """Receives messages until nobody sends any more, and closes the pipe.

    Args:
        take: called in a thread with each message, and at last with what has ended it: `EOFError` or `OSError` where
            nobody sends any more, another error where a message cannot be read.
    """

    def __init__(self, pipe: Connection, take: Callable[[Any], None]) -> None:
        self._pipe = pipe
        self._take = take
        threading.Thread(target=self._receive_on, name="receiver", daemon=True).start()

    def _receive_on(self) -> None:
        with self._pipe:
            try:
                while True:
                    self._take(self._pipe.recv())
            except Exception as error:
                self._take(error)


def taken(received: queue.SimpleQueue[Any], seconds: float) -> list[Any]:
    """All that is there; where there is nothing, what comes first within so many seconds."""
    found = []
    with contextlib.suppress(queue.Empty):
        found.append(received.get(timeout=seconds))
        while True:
            found.append(received.get_nowait())
    return found
