"""An evaluator that asks a value network.

Called, it answers at once. Through `submit` it answers later: states are encoded in the caller's thread, as
OpenSpiel's are not made for two threads, and valued in the evaluator's own, so that a driver can grow one group of
matches while another one's values are computed. It is never asked about terminal states: those are worth what the
outcome says, and a search does not ask for them. This is not checked.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.encoding import Encoder
from athenan_spiel.evaluators.engine import Engine

if TYPE_CHECKING:
    from athenan_spiel.networks import ValueNetwork

FEWEST_ROWS = 64
"""Rows of the smallest buffer."""


class NetworkEvaluator:
    """Values of states for player 0 from an engine; driven by one thread at a time.

    Batches are valued in the order in which they came, and by the weights that were loaded when they came.

    Args:
        encoder: of the game.
        engine: made for `encoder.shape`.
    """

    def __init__(self, encoder: Encoder, engine: Engine) -> None:
        self.encoder = encoder
        self.engine = engine
        self._engine_is_mine = threading.Lock()
        self._worker: ThreadPoolExecutor | None = None
        self._free: list[NDArray[np.float32]] = []

    def __call__(self, states: Sequence[pyspiel.State]) -> NDArray[np.float32]:
        """Values float32 [N] of N states that are not terminal.

        Raises:
            EvaluatorError: no network was loaded.
        """
        buffer, batch = self._encode(states)
        return self._infer(buffer, batch)

    def submit(self, states: Sequence[pyspiel.State]) -> Future[NDArray[np.float32]]:
        """Encode the states now and return a future of their values; the states may change afterwards."""
        buffer, batch = self._encode(states)
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, thread_name_prefix="network-evaluator")
        return self._worker.submit(self._infer, buffer, batch)

    def load(self, network: ValueNetwork) -> None:
        """Compute with a copy of this network's weights from now on; returns once batches before it are valued.

        Raises:
            ConfigError: the network is for encoded states of another shape.
        """
        if self._worker is None:
            self.engine.load(network)
        else:
            self._worker.submit(self.engine.load, network).result()

    def close(self) -> None:
        """Wait for what was submitted and end the thread; a later `submit` would start another."""
        if self._worker is not None:
            self._worker.shutdown()
            self._worker = None

    def __enter__(self) -> NetworkEvaluator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _encode(self, states: Sequence[pyspiel.State]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Encode into a buffer that is nobody else's until `_infer` gives it back: (buffer, batch in it)."""
        count = len(states)
        buffer = self._free.pop() if self._free else None
        if buffer is None or len(buffer) < count:
            rows = max(FEWEST_ROWS, 1 << (count - 1).bit_length())
            buffer = np.empty((rows, *self.encoder.shape), np.float32)
        return buffer, self.encoder.encode(states, buffer[:count])

    def _infer(self, buffer: NDArray[np.float32], batch: NDArray[np.float32]) -> NDArray[np.float32]:
        try:
            with self._engine_is_mine:
                return self.engine.infer(batch)
        finally:
            self._free.append(buffer)
