"""Evaluators reuse their buffers safely; those without a network return their documented values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyspiel
import pytest
import torch
from numpy.typing import NDArray

from athenan_spiel.config import EngineConfig, NetworkConfig
from athenan_spiel.encoding import Encoder
from athenan_spiel.engines import make_engine
from athenan_spiel.engines.base import Answers, Deferred, Pending
from athenan_spiel.engines.torch_engine import TorchEngine
from athenan_spiel.errors import ConfigError, EvaluatorError
from athenan_spiel.evaluators import NetworkEvaluator, UniformRandomEvaluator, ZeroEvaluator
from athenan_spiel.games import load_game
from athenan_spiel.networks import make_network


class SumEngine:
    """Engine that returns a weighted sum, different for each row. Started batches run when the result is requested."""

    name = "sum"

    def __init__(self) -> None:
        self.weight = 1.0
        self.buffers: list[int] = []

    def load(self, network: Any) -> None:
        self.weight = network

    def infer(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        self.buffers.append(batch.ctypes.data)
        rows = batch.reshape(len(batch), math.prod(batch.shape[1:]))
        return rows @ self.factors(rows.shape[1]) * self.weight

    def start(self, batch: NDArray[np.float32]) -> Pending[Answers]:
        return Deferred(lambda: self.infer(batch))

    @staticmethod
    def factors(size: int) -> NDArray[np.float32]:
        return np.arange(1, size + 1, dtype=np.float32)


@pytest.fixture
def game() -> pyspiel.Game:
    return load_game("tic_tac_toe")


def children(state: pyspiel.State) -> list[pyspiel.State]:
    return [state.child(action) for action in state.legal_actions()]


def expected_values(game: pyspiel.Game, states: list[pyspiel.State], weight: float = 1.0) -> NDArray[np.float32]:
    rows = Encoder(game).encode(states).reshape(len(states), -1)
    return rows @ SumEngine.factors(rows.shape[1]) * weight


@pytest.fixture
def engine() -> SumEngine:
    return SumEngine()


def test_a_called_evaluator_answers_at_once(game: pyspiel.Game, engine: SumEngine) -> None:
    evaluator = NetworkEvaluator(Encoder(game), engine)
    states = children(game.new_initial_state())
    np.testing.assert_array_equal(evaluator(states), expected_values(game, states))
    assert evaluator([]).shape == (0,)


def test_a_network_values_states_through_the_evaluator(game: pyspiel.Game) -> None:
    encoder = Encoder(game)
    network = make_network(encoder.shape, NetworkConfig(), bounded=True, seed=0)
    states = children(game.new_initial_state())
    evaluator = NetworkEvaluator(encoder, make_engine(EngineConfig(name="torch"), encoder.shape))
    evaluator.load(network)
    with torch.inference_mode():
        expected = network(torch.from_numpy(encoder.encode(states))).numpy()
    np.testing.assert_allclose(evaluator(states), expected, atol=1e-6)
    np.testing.assert_allclose(evaluator.submit(states).result(), expected, atol=1e-6)


def test_batches_submitted_together_do_not_share_a_buffer(game: pyspiel.Game, engine: SumEngine) -> None:
    root = game.new_initial_state()
    groups = [children(child) for child in children(root)]
    evaluator = NetworkEvaluator(Encoder(game), engine)
    pending = [evaluator.submit(group) for group in groups]
    for state in groups[0]:
        state.apply_action(state.legal_actions()[0])  # encoded already: no matter
    values = [later.result() for later in pending]
    for child, group_values in zip(children(root), values, strict=True):
        np.testing.assert_array_equal(group_values, expected_values(game, children(child)))
    assert len(set(engine.buffers)) == len(groups)


def test_what_is_submitted_in_turn_is_valued_by_who_waits_for_it(game: pyspiel.Game, engine: SumEngine) -> None:
    engine.start = None  # type: ignore[method-assign, assignment]
    evaluator = NetworkEvaluator(Encoder(game), engine)
    evaluator.in_turn = True
    states = children(game.new_initial_state())
    pending = evaluator.submit(states)
    assert not engine.buffers
    np.testing.assert_array_equal(pending.result(), expected_values(game, states))


def test_buffers_are_used_again(game: pyspiel.Game, engine: SumEngine) -> None:
    states = children(game.new_initial_state())
    evaluator = NetworkEvaluator(Encoder(game), engine)
    for _ in range(10):
        evaluator(states)
        evaluator.submit(states).result()
    assert len(set(engine.buffers)) == 1


def test_a_batch_larger_than_any_before_fits(game: pyspiel.Game, engine: SumEngine) -> None:
    evaluator = NetworkEvaluator(Encoder(game), engine)
    states = children(game.new_initial_state())
    for times in (1, 30, 2):
        np.testing.assert_array_equal(evaluator(states * times), expected_values(game, states * times))


def test_an_engines_error_reaches_who_asked(game: pyspiel.Game) -> None:
    encoder = Encoder(game)
    states = children(game.new_initial_state())
    evaluator = NetworkEvaluator(encoder, TorchEngine(encoder.shape))
    with pytest.raises(EvaluatorError, match="call load"):
        evaluator(states)
    with pytest.raises(EvaluatorError, match="call load"):
        evaluator.submit(states).result()
    with pytest.raises(ConfigError, match="expected a network for"):
        evaluator.load(make_network((40,), NetworkConfig(), bounded=True, seed=0))
    evaluator.load(make_network(encoder.shape, NetworkConfig(), bounded=True, seed=0))
    assert np.isfinite(evaluator(states)).all()


# --- evaluators without a network ---


def test_the_zero_evaluator_knows_nothing(game: pyspiel.Game) -> None:
    assert ZeroEvaluator()(children(game.new_initial_state())).tolist() == [0.0] * 9


def test_random_values_depend_on_seed_and_history_alone(game: pyspiel.Game) -> None:
    states = children(game.new_initial_state())
    values = UniformRandomEvaluator(7)(states)
    assert values.dtype == np.float64
    assert len(set(values.tolist())) == 9
    assert UniformRandomEvaluator(7)(states[::-1]).tolist() == values[::-1].tolist()
    assert not set(UniformRandomEvaluator(8)(states).tolist()) & set(values.tolist())


def test_random_values_are_the_same_in_every_process(game: pyspiel.Game) -> None:
    assert UniformRandomEvaluator(7)([game.new_initial_state()]).tolist() == [-0.2097646987013746]


def test_random_values_are_uniform() -> None:
    game = load_game("hex(board_size=11)")
    states = [pair for child in children(game.new_initial_state()) for pair in children(child)]
    values = np.sort(UniformRandomEvaluator(2**64 - 1)(states))
    uniform = np.linspace(-1.0, 1.0, len(values))
    assert np.abs(values - uniform).max() < 2 * 1.63 / np.sqrt(len(values))  # Kolmogorov-Smirnov at 1 %
