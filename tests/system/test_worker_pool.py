"""A pool loses workers that end or are silent for too long, and time in which it did not listen is no silence."""

from __future__ import annotations

from typing import Any

import pytest
from clocks import Clock

from athenan_spiel.system import worker_pool
from athenan_spiel.system.transport import Lost, Ready, Receive
from athenan_spiel.system.worker_pool import PoolWorker, WorkerPool


class Transport:
    """Delivers `messages`; a poll takes all of its time."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.messages: list[tuple[Any, Any]] = []
        self.killed: list[tuple[Any, bool]] = []

    def poll(self, seconds: float, receive: Receive[Any]) -> None:
        self.clock.now += seconds
        while self.messages:
            receive(*self.messages.pop(0))

    def kill(self, worker: Any, *, hangs: bool = False) -> None:
        self.killed.append((worker, hangs))


class Pool(WorkerPool[PoolWorker]):
    """Two workers that may be silent for 5 seconds, once they have started; `progress` are those that make some."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.progress: set[str] = set()
        self.received: list[Any] = []
        for name in "ab":
            self._register(PoolWorker(name))

    def _receive(self, worker: PoolWorker, message: Any) -> None:
        self.received.append((worker.handle, message))

    def _on_lost(self, worker: PoolWorker, reason: str) -> None:
        self.received.append((worker.handle, reason))
        self._remove(worker)

    def _on_silent(self, worker: PoolWorker, limit: float) -> None:
        self.received.append((worker.handle, limit))
        self._remove(worker, hangs=True)

    def _patience(self, worker: PoolWorker) -> float | None:
        return None if worker.ready is None else 5.0

    def _has_progressed(self, worker: PoolWorker) -> bool:
        return worker.handle in self.progress


@pytest.fixture
def transport(monkeypatch: pytest.MonkeyPatch) -> Transport:
    clock = Clock(now=0.0)
    monkeypatch.setattr(worker_pool, "time", clock)
    return Transport(clock)


READY = Ready("", "", 1)


def test_a_silent_worker_is_lost_once(transport: Transport) -> None:
    pool = Pool(transport)
    transport.messages = [("a", READY)]
    for _ in range(20):
        pool.listen(0.5)
    assert pool.received == [("a", READY), ("a", 5.0)], "the other has not started"
    assert transport.killed == [("a", True)]


def test_messages_and_progress_are_signs_of_life(transport: Transport) -> None:
    pool = Pool(transport)
    transport.messages = [("a", READY), ("b", READY)]
    pool.progress = {"b"}
    for _ in range(10):
        pool.listen(1.0)
        pool.listen(1.0)
        transport.messages = [("a", "here")]
    assert transport.killed == []
    pool.progress = set()
    for _ in range(10):
        pool.listen(1.0)
    assert sorted(transport.killed) == [("a", True), ("b", True)]


def test_time_in_which_nobody_listens_is_no_silence(transport: Transport) -> None:
    pool = Pool(transport)
    transport.messages = [("a", READY), ("b", READY)]
    for _ in range(5):
        transport.clock.now += 1000.0
        pool.listen(0.0)
    assert transport.killed == []
    pool.listen(1000.0)
    assert transport.killed == [("a", True), ("b", True)], "that was the sixth second"


def test_messages_of_a_lost_worker_are_dropped(transport: Transport) -> None:
    pool = Pool(transport)
    transport.messages = [("a", "first"), ("a", Lost("ended")), ("a", "second"), ("b", "third")]
    pool.listen(0.1)
    assert pool.received == [("a", "first"), ("a", "ended"), ("b", "third")]
    assert transport.killed == [("a", False)]
