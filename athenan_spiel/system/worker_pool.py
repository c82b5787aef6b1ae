"""The common part of all pools of workers: receives their messages, and loses those that end or report nothing.

1. Messages of a worker that was removed are dropped.
2. The silence of a worker is the time without a message or other progress, as far as this process listened. Between two
   calls of `listen` at most `MAX_SILENCE_SECONDS` count, since this process may have been busy, or suspended with all
   workers, as by Ctrl-Z.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from athenan_spiel.system.transport import Lost, Ready, Receive

MAX_SILENCE_SECONDS = 1.0
"""Maximum silence counted per call of `listen`, in seconds."""


@dataclass(eq=False)
class PoolWorker:
    """State of a worker in a pool.

    Attributes:
        handle: the transport's object for it.
        ready: message that it has started, with its node; None: it has not started.
        silence: time without a message or other progress, in seconds.
    """

    handle: Any
    ready: Ready | None = None
    silence: float = 0.0


W = TypeVar("W", bound=PoolWorker)


class PoolTransport(Protocol):
    """The part of a transport that `WorkerPool` uses."""

    def poll(self, seconds: float, receive: Receive[Any]) -> None:
        """As `transport.WorkerTransport.poll`."""

    def kill(self, worker: Any, *, hangs: bool = False) -> None:
        """As `transport.WorkerTransport.kill`."""


class WorkerPool(Generic[W]):
    """Workers of one transport."""

    def __init__(self, transport: PoolTransport) -> None:
        self._transport = transport
        self._by_handle: dict[Any, W] = {}
        self._listened_at = time.monotonic()

    def listen(self, seconds: float) -> None:
        """Receives messages, for which it waits up to `seconds`, and loses workers that were silent for too long."""
        self._transport.poll(seconds, self._deliver)
        before, self._listened_at = self._listened_at, time.monotonic()
        silence = min(self._listened_at - before, MAX_SILENCE_SECONDS)
        for worker in list(self._by_handle.values()):
            worker.silence += silence
            if worker.silence > MAX_SILENCE_SECONDS and self._has_progressed(worker):
                worker.silence = 0.0
            limit = self._patience(worker)
            if limit is not None and worker.silence > limit:
                self._on_silent(worker, limit)

    def _register(self, worker: W) -> None:
        self._by_handle[worker.handle] = worker

    def _remove(self, worker: W, *, hangs: bool = False) -> None:
        """Ends a worker at once."""
        del self._by_handle[worker.handle]
        self._transport.kill(worker.handle, hangs=hangs)

    def _deliver(self, handle: Any, message: Any) -> None:
        worker = self._by_handle.get(handle)
        if worker is None:  # it was removed
            return
        worker.silence = 0.0
        if isinstance(message, Lost):
            self._on_lost(worker, message.reason)
            return
        if isinstance(message, Ready):
            worker.ready = message
        self._receive(worker, message)

    def _receive(self, worker: W, message: Any) -> None:
        """Handles a message of a worker, also `Ready`."""
        raise NotImplementedError

    def _on_lost(self, worker: W, reason: str) -> None:
        """Handles the loss of a worker.

        Args:
            reason: a verb phrase, as in `transport.Lost`.
        """
        raise NotImplementedError

    def _on_silent(self, worker: W, limit: float) -> None:
        """Handles a worker that was silent for more than `limit` seconds."""
        raise NotImplementedError

    def _patience(self, worker: W) -> float | None:
        """Returns the maximum silence of a worker, in seconds; None: any."""
        raise NotImplementedError

    def _has_progressed(self, worker: W) -> bool:
        """Whether a worker has made progress since the last call, of which it sends no message.

        Called when it was silent for more than `MAX_SILENCE_SECONDS`.
        """
        return False
