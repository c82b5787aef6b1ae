"""An evaluator that asks a value network.

Called, it answers at once. Through `submit` it answers later: the states are encoded and the engine started before
it returns, so that a driver can grow one group of matches while another one's values are computed. It is never asked
about terminal states: those are worth what the outcome says, and a search does not ask for them. This is not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.config import EngineConfig
from athenan_spiel.encoding import Encoder
from athenan_spiel.engines.base import Deferred, Engine, Pending, Values
from athenan_spiel.engines.choice import make_engine

if TYPE_CHECKING:
    from athenan_spiel.networks import ValueNetwork

FEWEST_ROWS = 64
"""Rows of the smallest buffer."""


class NetworkEvaluator:
    """Values of states for player 0 from an engine; driven by one thread.

    Args:
        encoder: of the game.
        engine: made for `encoder.shape`.
    """

    def __init__(self, encoder: Encoder, engine: Engine) -> None:
        self.encoder = encoder
        self.engine = engine
        self._network: ValueNetwork | None = None
        self._free: list[NDArray[np.float32]] = []

    def __call__(self, states: Sequence[pyspiel.State]) -> NDArray[np.float32]:
        """Values float32 [N] of N states that are not terminal.

        Raises:
            EvaluatorError: no network was loaded.
            EncodingError, SearchError: they are no states of the game; of a list's, the first is looked at.
        """
        self.encoder.require_states(states[:1] if isinstance(states, list | tuple) else states)
        buffer, batch = self._encode(states)
        values = self.engine.infer(batch)
        self._free.append(buffer)
        return values

    def submit(self, states: Sequence[pyspiel.State]) -> Pending[Values]:
        """Encode the states now and value them while the caller goes on; the states may change afterwards.

        Raises:
            EvaluatorError: no network was loaded; here or by the result.
        """
        buffer, batch = self._encode(states)
        pending = self.engine.start(batch)

        def waited_for() -> NDArray[np.float32]:
            values = pending.result()
            self._free.append(buffer)
            return values

        return Deferred(waited_for)

    def load(self, network: ValueNetwork) -> None:
        """Compute with a copy of this network's weights from now on.

        Raises:
            ConfigError: the network is for encoded states of another shape.
        """
        self.engine.load(network)
        self._network = network

    def __reduce__(self) -> tuple[Callable[..., NetworkEvaluator], tuple[Encoder, EngineConfig, ValueNetwork | None]]:
        """For `pickle`: the network that was loaded, and what an engine like this one is made of."""
        return _evaluator_of, (self.encoder, self.engine.config, self._network)

    def _encode(self, states: Sequence[pyspiel.State]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Encode into a buffer that is not used elsewhere until it is back in `_free`: (buffer, batch in it)."""
        count = len(states)
        buffer = self._free.pop() if self._free else None
        if buffer is None or len(buffer) < count:
            rows = max(FEWEST_ROWS, 1 << (count - 1).bit_length())
            buffer = np.empty((rows, *self.encoder.shape), np.float32)
        return buffer, self.encoder.encode(states, buffer[:count])


def _evaluator_of(encoder: Encoder, engine: EngineConfig, network: ValueNetwork | None) -> NetworkEvaluator:
    evaluator = NetworkEvaluator(encoder, make_engine(engine, encoder.shape))
    if network is not None:
        evaluator.load(network)
    return evaluator
