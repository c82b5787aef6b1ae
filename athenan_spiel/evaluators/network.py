"""Evaluator that runs a network.

A call evaluates the states at once. `submit` evaluates them asynchronously: it encodes the states and starts the
engine before it returns, so a driver can grow one group of games while another group is evaluated. Terminal states
must not be passed, which is not checked: their value is the outcome, and a search does not request it.

If the network has a policy, the evaluator can return priors: for each legal action the softmax of its logit over the
legal actions. A chance state has none.
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
from athenan_spiel.engines.base import Answers, Deferred, Engine, Pending, split_answers
from athenan_spiel.engines.choice import make_engine
from athenan_spiel.evaluators.base import Answer, Evaluation
from athenan_spiel.games.chance import is_chance

if TYPE_CHECKING:
    from athenan_spiel.networks import ValueNetwork

MIN_BUFFER_ROWS = 64
"""Number of rows of the smallest buffer."""


class NetworkEvaluator:
    """Evaluates states with a network on an engine, for use by one thread.

    Args:
        encoder: encoder of the game.
        engine: engine made for `encoder.shape`.
        priors: whether to return priors if the network has a policy.

    Attributes:
        in_turn: whether submitted states are evaluated when the result is requested, in the requesting thread. If all
            cores are busy, this needs less CPU time than the threads of an engine, which overlap with the search.
    """

    def __init__(self, encoder: Encoder, engine: Engine, *, priors: bool = True) -> None:
        self.encoder = encoder
        self.engine = engine
        self.priors = priors
        self.in_turn = False
        self._network: ValueNetwork | None = None
        self._free: list[NDArray[np.float32]] = []

    def __call__(self, states: Sequence[pyspiel.State]) -> Answer:
        """Evaluates N non-terminal states. Returns values, float32 [N], or an `Evaluation` with priors.

        Raises:
            EvaluatorError: no network was loaded.
            EncodingError, SearchError: the first of the states does not belong to the game.
        """
        self.encoder.require_states(states[:1] if isinstance(states, list | tuple) else states)
        legal = self._legal(states)
        buffer, batch = self._encode(states)
        answers = self.engine.infer(batch)
        self._free.append(buffer)
        return self._answer(answers, legal)

    def submit(self, states: Sequence[pyspiel.State]) -> Pending[Answer]:
        """Encodes the states now and evaluates them asynchronously. The states may change afterwards.

        Raises:
            EvaluatorError: no network was loaded. It is raised here or by the result.
        """
        legal = self._legal(states)
        buffer, batch = self._encode(states)
        pending = Deferred(lambda: self.engine.infer(batch)) if self.in_turn else self.engine.start(batch)

        def finish() -> Answer:
            answers = pending.result()
            self._free.append(buffer)
            return self._answer(answers, legal)

        return Deferred(finish)

    def _legal(self, states: Sequence[pyspiel.State]) -> list[list[int]] | None:
        """Returns the actions of each state that have a prior, or None if no priors are needed."""
        if not self.priors or self._network is None or self._network.policy is None:
            return None
        if self.encoder.has_chance:
            return [[] if is_chance(state) else state.legal_actions() for state in states]
        return [state.legal_actions() for state in states]

    def _answer(self, answers: Answers, legal: list[list[int]] | None) -> Answer:
        if answers.ndim == 1 or self._network is None:
            return answers
        values, logits = split_answers(answers, self._network.values)
        if legal is None or logits is None:
            return values
        return Evaluation(values.tolist(), softmax(logits, legal))

    def load(self, network: ValueNetwork) -> None:
        """Uses a copy of this network's weights from now on.

        Raises:
            ConfigError: the network expects encoded states of another shape.
        """
        self.engine.load(network)
        self._network = network

    def __reduce__(
        self,
    ) -> tuple[Callable[..., NetworkEvaluator], tuple[Encoder, EngineConfig, ValueNetwork | None, bool]]:
        """Returns the parts for `pickle`: the loaded network and the engine's configuration."""
        return _evaluator_of, (self.encoder, self.engine.config, self._network, self.priors)

    def _encode(self, states: Sequence[pyspiel.State]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Encodes states into a free buffer, which the caller puts back into `_free`. Returns (buffer, batch)."""
        count = len(states)
        buffer = self._free.pop() if self._free else None
        if buffer is None or len(buffer) < count:
            rows = max(MIN_BUFFER_ROWS, 1 << (count - 1).bit_length())
            buffer = np.empty((rows, *self.encoder.shape), np.float32)
        return buffer, self.encoder.encode(states, buffer[:count])


def softmax(logits: NDArray[np.float32], legal: Sequence[Sequence[int]]) -> list[list[float]]:
    """Returns the probabilities of the legal actions of N states, in order.

    Args:
        logits: logits of all A actions, [N, A]; those of illegal actions are ignored.
        legal: legal actions of each state. A state without any has no probabilities.
    """
    counts = np.fromiter(map(len, legal), np.int64, len(legal))
    if not len(counts):
        return []
    if not counts.all():
        found = iter(softmax(logits[counts > 0], [actions for actions in legal if actions]))
        return [next(found) if count else [] for count in counts]
    firsts = np.cumsum(counts) - counts
    actions = np.fromiter(itertools.chain.from_iterable(legal), np.int64, int(counts.sum()))
    flat = logits[np.repeat(np.arange(len(legal)), counts), actions].astype(np.float64)
    weights = np.exp(flat - np.repeat(np.maximum.reduceat(flat, firsts), counts))
    probabilities = (weights / np.repeat(np.add.reduceat(weights, firsts), counts)).tolist()
    return [probabilities[first : first + count] for first, count in zip(firsts.tolist(), counts.tolist(), strict=True)]


def _evaluator_of(
    encoder: Encoder, engine: EngineConfig, network: ValueNetwork | None, priors: bool
) -> NetworkEvaluator:
    evaluator = NetworkEvaluator(encoder, make_engine(engine, encoder.shape), priors=priors)
    if network is not None:
        evaluator.load(network)
    return evaluator
