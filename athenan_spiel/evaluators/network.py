"""An evaluator that asks a network.

Called, it answers at once. Through `submit` it answers later: the states are encoded and the engine started before
it returns, so that a driver can grow one group of matches while another one's values are computed. It is never asked
about terminal states: those are worth what the outcome says, and a search does not ask for them. This is not checked.

Of a network with a policy it answers priors, too, if it is to: for each legal action the softmax of its logit among
those of the legal ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.config import EngineConfig
from athenan_spiel.encoding import Encoder
from athenan_spiel.engines.base import Answers, Deferred, Engine, Pending
from athenan_spiel.engines.choice import make_engine
from athenan_spiel.evaluators.base import Answer, Evaluation

if TYPE_CHECKING:
    from athenan_spiel.networks import ValueNetwork

FEWEST_ROWS = 64
"""Rows of the smallest buffer."""


class NetworkEvaluator:
    """Values of states for player 0 from an engine, and priors; driven by one thread.

    Args:
        encoder: of the game.
        engine: made for `encoder.shape`.
        priors: answer them, where the network has a policy.

    Attributes:
        in_turn: what is submitted is valued when it is waited for, by the thread that waits. Where all cores have work
            anyway that takes less of them than an engine's threads, which overlap with the search.
    """

    def __init__(self, encoder: Encoder, engine: Engine, *, priors: bool = True) -> None:
        self.encoder = encoder
        self.engine = engine
        self.priors = priors
        self.in_turn = False
        self._network: ValueNetwork | None = None
        self._free: list[NDArray[np.float32]] = []

    def __call__(self, states: Sequence[pyspiel.State]) -> Answer:
        """Values float32 [N] of N states that are not terminal, or an `Evaluation` with priors, too.

        Raises:
            EvaluatorError: no network was loaded.
            EncodingError, SearchError: they are no states of the game; of a list's, the first is looked at.
        """
        self.encoder.require_states(states[:1] if isinstance(states, list | tuple) else states)
        legal = self._legal(states)
        buffer, batch = self._encode(states)
        answers = self.engine.infer(batch)
        self._free.append(buffer)
        return self._answer(answers, legal)

    def submit(self, states: Sequence[pyspiel.State]) -> Pending[Answer]:
        """Encode the states now and value them while the caller goes on; the states may change afterwards.

        Raises:
            EvaluatorError: no network was loaded; here or by the result.
        """
        legal = self._legal(states)
        buffer, batch = self._encode(states)
        pending = Deferred(lambda: self.engine.infer(batch)) if self.in_turn else self.engine.start(batch)

        def waited_for() -> Answer:
            answers = pending.result()
            self._free.append(buffer)
            return self._answer(answers, legal)

        return Deferred(waited_for)

    def _legal(self, states: Sequence[pyspiel.State]) -> list[list[int]] | None:
        """The legal actions of each state, if priors are wanted and there are any."""
        if not self.priors or self._network is None or self._network.policy is None:
            return None
        return [state.legal_actions() for state in states]

    def _answer(self, answers: Answers, legal: list[list[int]] | None) -> Answer:
        if answers.ndim == 1:
            return answers
        if legal is None:
            return answers[:, 0]
        return Evaluation(answers[:, 0].tolist(), softmax(answers[:, 1:], legal))

    def load(self, network: ValueNetwork) -> None:
        """Compute with a copy of this network's weights from now on.

        Raises:
            ConfigError: the network is for encoded states of another shape.
        """
        self.engine.load(network)
        self._network = network

    def __reduce__(
        self,
    ) -> tuple[Callable[..., NetworkEvaluator], tuple[Encoder, EngineConfig, ValueNetwork | None, bool]]:
        """For `pickle`: the network that was loaded, and what an engine like this one is made of."""
        return _evaluator_of, (self.encoder, self.engine.config, self._network, self.priors)

    def _encode(self, states: Sequence[pyspiel.State]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Encode into a buffer that is not used elsewhere until it is back in `_free`: (buffer, batch in it)."""
        count = len(states)
        buffer = self._free.pop() if self._free else None
        if buffer is None or len(buffer) < count:
            rows = max(FEWEST_ROWS, 1 << (count - 1).bit_length())
            buffer = np.empty((rows, *self.encoder.shape), np.float32)
        return buffer, self.encoder.encode(states, buffer[:count])


def softmax(logits: NDArray[np.float32], legal: Sequence[Sequence[int]]) -> list[list[float]]:
    """For each of N states the probabilities of its legal actions, in their order.

    Args:
        logits: [N, A]; those of illegal actions have no part in it.
        legal: the legal actions of each state, one at least.
    """
    counts = np.fromiter(map(len, legal), np.int64, len(legal))
    if not len(counts):
        return []
    firsts = np.cumsum(counts) - counts
    actions = np.fromiter(itertools.chain.from_iterable(legal), np.int64, int(counts.sum()))
    flat = logits[np.repeat(np.arange(len(legal)), counts), actions].astype(np.float64)
    weights = np.exp(flat - np.repeat(np.maximum.reduceat(flat, firsts), counts))
    shares = (weights / np.repeat(np.add.reduceat(weights, firsts), counts)).tolist()
    return [shares[first : first + count] for first, count in zip(firsts.tolist(), counts.tolist(), strict=True)]


def _evaluator_of(
    encoder: Encoder, engine: EngineConfig, network: ValueNetwork | None, priors: bool
) -> NetworkEvaluator:
    evaluator = NetworkEvaluator(encoder, make_engine(engine, encoder.shape), priors=priors)
    if network is not None:
        evaluator.load(network)
    return evaluator
