"""Networks that answer a policy beside the value, and the engines and the evaluator that run them."""

from __future__ import annotations

import itertools
import math
import pickle
from dataclasses import replace

import numpy as np
import pyspiel
import pytest
import torch
from every_engine import CONNECT_FOUR, FLAT, assert_close, every_engine, loaded, reference, some_batch
from numpy.typing import NDArray

from athenan_spiel.config import EngineConfig, NetworkConfig, NetworkName, PolicyName
from athenan_spiel.encoding import Encoder
from athenan_spiel.engines import make_engine
from athenan_spiel.errors import ConfigError
from athenan_spiel.evaluators import Evaluation, NetworkEvaluator
from athenan_spiel.evaluators.base import checked
from athenan_spiel.evaluators.network import softmax
from athenan_spiel.networks import DenseHead, PlanesHead, PolicyShape, ValueNetwork, make_network, playing_bytes

CELLS = 6 * 7
ON_PLANES = PolicyShape(2 * CELLS + 1, 2, (*(cell % 2 * CELLS + cell // 2 for cell in range(2 * CELLS)), -1))
"""Two kinds of actions on each cell, the numbers of a cell's next to each other, and a pass."""
SEVEN = PolicyShape(7)
HEADS: list[tuple[NetworkName, PolicyName, int | None, tuple[int, ...], PolicyShape]] = [
    ("auto", "auto", None, CONNECT_FOUR, ON_PLANES),
    ("r1", "planes", None, CONNECT_FOUR, ON_PLANES),
    ("r3", "auto", None, CONNECT_FOUR, ON_PLANES),
    ("r2", "dense", 2, CONNECT_FOUR, ON_PLANES),
    ("auto", "auto", None, CONNECT_FOUR, SEVEN),
    ("c", "dense", 1, (4, 9, 8), SEVEN),
    ("mlp", "auto", None, FLAT, SEVEN),
]


def network(
    architecture: NetworkName,
    policy: PolicyName,
    filters: int | None,
    shape: tuple[int, ...],
    actions: PolicyShape | None,
    *,
    seed: int = 0,
    scale: float | None = None,
) -> ValueNetwork:
    layers = 2 if architecture == "r2" else None
    config = NetworkConfig(
        architecture=architecture, filters=32, layers=layers, neurons=50, policy=policy, policy_filters=filters
    )
    return make_network(shape, config, bounded=scale is None, scale=scale or 1.0, seed=seed, policy=actions)


ARGUMENTS = ("architecture", "policy", "filters", "shape", "actions")
each_head = pytest.mark.parametrize(ARGUMENTS, HEADS)


@each_head
def test_a_value_and_a_logit_for_each_action(
    architecture: NetworkName, policy: PolicyName, filters: int | None, shape: tuple[int, ...], actions: PolicyShape
) -> None:
    made = network(architecture, policy, filters, shape, actions)
    answers = reference(made, some_batch(shape, 9))
    assert answers.shape == (9, 1 + actions.actions)
    assert made.actions == actions.actions
    assert f"a policy of {actions.actions} actions" in made.description
    assert (np.abs(answers[:, 0]) < 1).all()
    assert 0 < np.abs(answers[:, 1:]).max() < 1, "first policies are near uniform, and not all equal"


@pytest.mark.parametrize(ARGUMENTS, HEADS[1:])  # for planes 'auto' pads more, so the first is another network
def test_the_values_are_those_of_the_same_network_without_it(
    architecture: NetworkName, policy: PolicyName, filters: int | None, shape: tuple[int, ...], actions: PolicyShape
) -> None:
    made = network(architecture, policy, filters, shape, actions)
    alone = network(architecture, "none", None, shape, None)
    batch = some_batch(shape, 9)
    np.testing.assert_array_equal(reference(made, batch)[:, 0], reference(alone, batch))


def assert_logits_close(kind: str, logits: NDArray[np.float32], expected: NDArray[np.float32]) -> None:
    """The error is small against the size of the logits: they are compared within a state, and need no float32."""
    tolerance = 0.02 if "bfloat16" in kind else 1e-4
    assert logits.shape == expected.shape
    assert np.sqrt(np.mean((logits - expected) ** 2)) < tolerance * np.sqrt(np.mean(expected**2))


@every_engine
@each_head
def test_every_engine_answers_what_the_network_does(
    kind: str,
    architecture: NetworkName,
    policy: PolicyName,
    filters: int | None,
    shape: tuple[int, ...],
    actions: PolicyShape,
) -> None:
    scale = 30.0 if architecture == "r1" else None
    made = network(architecture, policy, filters, shape, actions, scale=scale)
    engine = loaded(kind, made)
    for rows in (1, 50):
        batch = some_batch(shape, rows)
        expected = reference(made, batch)
        pending, answers = engine.start(batch), engine.infer(batch)
        np.testing.assert_array_equal(pending.result(), answers)
        if rows > 1:
            assert_close(kind, answers[:, 0], expected[:, 0])
            assert_logits_close(kind, answers[:, 1:], expected[:, 1:])
    assert engine.infer(np.empty((0, *shape), np.float32)).shape == (0, 1 + actions.actions)


@every_engine
def test_an_engine_goes_from_one_head_to_another(kind: str) -> None:
    """The layers of the value are the same, and so is the number of actions: only the places differ."""
    turned = replace(ON_PLANES, indices=(*reversed(ON_PLANES.indices[:-1]), -1))
    batch = some_batch(CONNECT_FOUR, 12)
    engine = loaded(kind, network("r1", "none", None, CONNECT_FOUR, None))
    assert engine.infer(batch).shape == (12,)
    for actions in (ON_PLANES, turned, SEVEN):
        made = network("r1", "auto", None, CONNECT_FOUR, actions)
        engine.load(made)
        answers = engine.infer(batch)
        assert_logits_close(kind, answers[:, 1:], reference(made, batch)[:, 1:])
    engine.load(network("r1", "none", None, CONNECT_FOUR, None))
    assert engine.infer(batch).shape == (12,)


def test_an_action_is_where_its_index_says() -> None:
    """The head alone, with weights by hand: a plane is a multiple of the tower's, the pass their mean."""
    head = PlanesHead((1, 6, 7), ON_PLANES)
    assert head.beside is not None
    with torch.no_grad():
        for layer, weights in ((head.planes, [1.0, -10.0]), (head.beside, [100.0])):
            layer.weight.copy_(torch.tensor(weights).reshape(layer.weight.shape))
            assert layer.bias is not None
            layer.bias.zero_()
        tower = torch.arange(CELLS, dtype=torch.float32).reshape(1, 1, 6, 7)
        (logits,) = head(tower).tolist()
    expected = list(itertools.chain.from_iterable((float(cell), -10.0 * cell) for cell in range(CELLS)))
    assert logits == pytest.approx([*expected, 100 * (CELLS - 1) / 2])


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"network.policy='planes' needs actions on the cells of the board"):
        network("r1", "planes", None, CONNECT_FOUR, SEVEN)
    with pytest.raises(ConfigError, match=r"needs a tower with the board's size \(9, 8\), got \(3, 2\)"):
        network("c", "planes", None, (4, 9, 8), ON_PLANES)
    with pytest.raises(ConfigError, match=r"network.policy_filters must be none for observations that are not boards"):
        network("mlp", "dense", 2, FLAT, SEVEN)
    with pytest.raises(ConfigError, match=r"network.policy_filters must be none, unless for a policy that is dense"):
        NetworkConfig(policy_filters=2)
    for policy, actions in (("none", SEVEN), ("auto", None)):
        with pytest.raises(ConfigError, match=r"network.policy='\w+' contradicts the policy's actions"):
            network("r1", policy, None, CONNECT_FOUR, actions)


def test_its_weights_are_counted() -> None:
    config = NetworkConfig(architecture="r1", filters=16, neurons=20, policy="auto")
    made = make_network(CONNECT_FOUR, config, bounded=True, seed=0, policy=ON_PLANES)
    assert playing_bytes(CONNECT_FOUR, config, ON_PLANES) == 2 * sum(weight.nbytes for weight in made.parameters())
    assert isinstance(make_network(CONNECT_FOUR, config, bounded=True, seed=0, policy=SEVEN).policy, DenseHead)


def test_softmax_is_over_legal_actions_alone() -> None:
    logits = np.array([[0.0, 1.0, 100.0], [2.0, 2.0, 2.0], [-1e4, 0.0, 3.0]], np.float32)
    first, second, third = softmax(logits, [[0, 1], [2], [2, 0]])
    assert first == pytest.approx([1 / (1 + math.e), math.e / (1 + math.e)])
    assert second == [1.0]
    assert third == pytest.approx([1.0, 0.0])
    assert softmax(np.empty((0, 3), np.float32), []) == []


def evaluator(game: pyspiel.Game, *, priors: bool = True) -> NetworkEvaluator:
    encoder = Encoder(game)
    made = NetworkEvaluator(encoder, make_engine(EngineConfig(name="torch"), encoder.shape), priors=priors)
    config = NetworkConfig(filters=4, neurons=8, policy="auto")
    shape = PolicyShape(game.num_distinct_actions())
    made.load(make_network(encoder.shape, config, bounded=True, seed=0, policy=shape))
    return made


def test_an_evaluator_answers_priors_of_the_legal_actions() -> None:
    game = pyspiel.load_game("connect_four")
    state = game.new_initial_state()
    for action in (3, 3, 3, 3, 3, 3):
        state.apply_action(action)
    states = [state, game.new_initial_state()]
    asked = evaluator(game)
    answer = asked(states)
    assert isinstance(answer, Evaluation)
    assert checked(answer, states) == answer
    assert answer.priors is not None
    assert [len(prior) for prior in answer.priors] == [6, 7]
    assert all(sum(prior) == pytest.approx(1) for prior in answer.priors)
    later = asked.submit(states)
    state.apply_action(0)  # those that were asked about
    assert later.result() == answer
    again = pickle.loads(pickle.dumps(asked))
    assert isinstance(again, NetworkEvaluator)
    (prior,) = again([states[1]]).priors
    assert prior == pytest.approx(answer.priors[1])


def test_priors_are_left_out_where_nobody_wants_them() -> None:
    game = pyspiel.load_game("connect_four")
    states = [game.new_initial_state()]
    values = evaluator(game, priors=False)(states)
    assert isinstance(values, np.ndarray)
    assert values.shape == (1,)
    assert checked(values, states).values == evaluator(game)(states).values
