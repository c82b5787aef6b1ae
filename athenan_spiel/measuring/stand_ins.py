"""Engines for measurements: one that times another engine, and one that returns prepared numbers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.config import EngineConfig
from athenan_spiel.engines import Answers, Deferred, Engine, Pending
from athenan_spiel.engines.base import answer_row
from athenan_spiel.networks import ValueNetwork

T = TypeVar("T")

NUMBERS = 1 << 20
"""Number of prepared numbers of an `InstantEngine`."""
MIN_ROWS = 4096
_STRIDE = 7919


class TimedEngine:
    """Engine that forwards calls to another one and times them.

    Attributes:
        seconds: time that callers waited for results. Computation during their own work is not included.
        states, calls: numbers of evaluated states and of batches.
    """

    def __init__(self, engine: Engine) -> None:
        self.seconds = 0.0
        self.states = self.calls = 0
        self._engine = engine

    @property
    def name(self) -> str:
        """Name of the other engine."""
        return self._engine.name

    @property
    def config(self) -> EngineConfig:
        """Settings of the other engine."""
        return self._engine.config

    def load(self, network: ValueNetwork) -> None:
        """Load a network, as `Engine.load`; this time is not counted."""
        self._engine.load(network)

    def infer(self, batch: NDArray[np.float32]) -> Answers:
        """Evaluate a batch, as `Engine.infer`."""
        self._count(batch)
        return self._timed(lambda: self._engine.infer(batch))

    def start(self, batch: NDArray[np.float32]) -> Pending[Answers]:
        """Start to evaluate a batch, as `Engine.start`."""
        self._count(batch)
        pending = self._timed(lambda: self._engine.start(batch))
        return Deferred(lambda: self._timed(pending.result))

    def _count(self, batch: NDArray[np.float32]) -> None:
        self.calls += 1
        self.states += len(batch)

    def _timed(self, work: Callable[[], T]) -> T:
        start = time.perf_counter()
        try:
            return work()
        finally:
            self.seconds += time.perf_counter() - start


class InstantEngine:
    """Engine that returns prepared random numbers in [-1, 1)."""

    name = "instant"
    config = EngineConfig()

    def __init__(self) -> None:
        self._at = 0
        self._answers = _random_answers(())

    def load(self, network: ValueNetwork) -> None:
        """Prepares answers with the shape of this network's output."""
        self._answers = _random_answers(answer_row(network))

    def infer(self, batch: NDArray[np.float32]) -> Answers:
        """Returns some of the numbers as a view, which must not be changed."""
        count = len(batch)
        if count > len(self._answers):
            self._answers = np.resize(self._answers, (count, *self._answers.shape[1:]))
        self._at = (self._at + _STRIDE) % (len(self._answers) - count + 1)
        return self._answers[self._at : self._at + count]

    def start(self, batch: NDArray[np.float32]) -> Pending[Answers]:
        """Returns a result that needs no waiting."""
        return Deferred(lambda: self.infer(batch))


def _random_answers(row: tuple[int, ...]) -> Answers:
    rows = max(MIN_ROWS, NUMBERS // (row[0] if row else 1))
    return np.random.default_rng(0).uniform(-1, 1, (rows, *row)).astype(np.float32)
