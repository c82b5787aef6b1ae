"""Gumbel AlphaZero's selections and numbers compared with mctx, the library of the paper's authors.

Skipped if mctx is not installed: `pip install mctx jax`.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from priors import hand_node

from athenan_spiel.search.gumbel import GumbelSelection, RootPlan, considered_visit, gumbel, gumbel_choice
from athenan_spiel.search.mcts_tree import MCTSNode
from athenan_spiel.search.node import NodeKind

pytest.importorskip("mctx", reason="mctx is not installed: pip install mctx jax")
jax = pytest.importorskip("jax", reason="jax is not installed: pip install mctx jax")
from mctx._src import action_selection, qtransforms, seq_halving  # noqa: E402

SIZES = (2, 5, 20)
RULES = {
    "mctx's defaults": (GumbelSelection(c_scale=0.1, rescaled=True), {}),
    "the paper's": (GumbelSelection(c_scale=1.0), {"value_scale": 1.0, "rescale_values": False}),
    "others": (GumbelSelection(10.0, 0.3), {"value_scale": 0.3, "maxvisit_init": 10.0, "rescale_values": False}),
}
BOTH = pytest.mark.parametrize("name", RULES)


@pytest.fixture(scope="module", autouse=True)
def _in_float64() -> Any:
    with jax.enable_x64(True):
        yield


def tree_of(numbers: dict[str, Any]) -> Any:
    """What mctx's functions look at of a tree with one node."""
    return SimpleNamespace(
        qvalues=lambda index: numbers["q"],
        children_visits=numbers["visits"][None],
        raw_values=numbers["own"][None],
        children_prior_logits=numbers["logits"][None],
        root_invalid_actions=jax.numpy.zeros_like(numbers["visits"]),
        num_actions=numbers["visits"].shape[0],
        extra_data=SimpleNamespace(root_gumbel=numbers["gumbel"]),
    )


def numbers_of(node: MCTSNode) -> dict[str, Any]:
    """The same statistics, of values as shares of the points for the mover."""
    count, won = len(node.actions), node.kind.won
    assert node.priors is not None
    return {
        "q": np.array([(1 + won * node.values[i]) / 2 if node.count(i) else 0.0 for i in range(count)]),
        "visits": np.array([node.count(i) for i in range(count)]),
        "own": np.array((1 + won * node.own) / 2),
        "logits": np.log(np.array(node.priors)),
        "gumbel": np.array(node.noise or [0.0] * count),
    }


@functools.cache
def compiled(name: str, what: str, simulations: int = 0, most: int = 0) -> Callable[[dict[str, Any]], Any]:
    transform = functools.partial(qtransforms.qtransform_completed_by_mix_value, **RULES[name][1])
    makers: dict[str, Callable[[Any], Any]] = {
        "sigma": lambda tree: transform(tree, 0),
        "inside": lambda tree: action_selection.gumbel_muzero_interior_action_selection(
            jax.random.PRNGKey(0), tree, 0, 1, qtransform=transform
        ),
        "root": lambda tree: action_selection.gumbel_muzero_root_action_selection(
            jax.random.PRNGKey(0),
            tree,
            0,
            num_simulations=simulations,
            max_num_considered_actions=most,
            qtransform=transform,
        ),
        "decision": lambda tree: seq_halving.score_considered(
            jax.numpy.max(tree.children_visits[0]),
            tree.extra_data.root_gumbel,
            tree.children_prior_logits[0],
            transform(tree, 0),
            tree.children_visits[0],
        ).argmax(),
        "policy": lambda tree: jax.nn.softmax(tree.children_prior_logits[0] + transform(tree, 0)),
    }
    return jax.jit(lambda numbers: makers[what](tree_of(numbers)))  # type: ignore[no-any-return]


def random_node(rng: random.Random, count: int) -> MCTSNode:
    weights = [rng.random() ** 3 + 1e-3 for _ in range(count)]
    share = rng.choice([0.0, 0.3, 0.7, 1.0])
    tried = {i: (rng.randint(1, 9), rng.uniform(-1, 1)) for i in range(count) if rng.random() < share}
    kind = rng.choice([NodeKind.MAXIMISER, NodeKind.MINIMISER])
    return hand_node([w / sum(weights) for w in weights], tried, own=rng.uniform(-1, 1), kind=kind)


@BOTH
def test_completed_values_policies_and_choices_inside_are_mctxs(name: str) -> None:
    rule = RULES[name][0]
    for seed in range(400):
        rng = random.Random(seed)
        node = random_node(rng, rng.choice(SIZES))
        numbers = numbers_of(node)
        assert rule.sigma(node, 1.0) == pytest.approx(compiled(name, "sigma")(numbers).tolist(), rel=1e-9, abs=1e-9)
        assert rule.policy(node, 1.0) == pytest.approx(compiled(name, "policy")(numbers).tolist(), rel=1e-6, abs=1e-9)
        assert rule(node, {}, 1.0, rng) == int(compiled(name, "inside")(numbers))


@BOTH
@pytest.mark.parametrize(("simulations", "most"), [(16, 4), (32, 16), (50, 7), (5, 16), (12, 1)])
def test_every_choice_of_a_root_and_its_decision_are_mctxs(name: str, simulations: int, most: int) -> None:
    rule = RULES[name][0]
    for seed in range(12):
        rng = random.Random(seed)
        count = rng.choice(SIZES)
        node = random_node(rng, count)
        node = hand_node(node.priors, own=node.own, kind=node.kind)
        node.noise = [gumbel(rng) for _ in range(count)]
        node.plan = RootPlan(rule, 1.0, simulations, most, {})
        means = [rng.uniform(-1, 1) for _ in range(count)]
        for _ in range(simulations):
            chosen = rule(node, {}, 1.0, rng)
            assert chosen == int(compiled(name, "root", simulations, most)(numbers_of(node)))
            node.add_simulation(chosen, rng.gauss(means[chosen], 0.2))
        assert gumbel_choice(node, rng) == int(compiled(name, "decision")(numbers_of(node)))


def test_the_schedule_is_mctxs() -> None:
    for considered in range(1, 40):
        for simulations in (1, 2, 7, 16, 50, 200, 333):
            expected = seq_halving.get_sequence_of_considered_visits(considered, simulations)
            assert tuple(considered_visit(considered, simulations, i) for i in range(simulations)) == expected
