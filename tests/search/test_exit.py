"""ExIt's rule of selection by hand calculations, and what its search backs up."""

from __future__ import annotations

import itertools
import math
import pickle
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel
import pytest
from hand_mcts import check_sums
from numpy.typing import NDArray
from oracles.brute_force import load, solver
from oracles.evaluators import noise, truth
from priors import drawn, even, hand_node, with_priors

from athenan_spiel.errors import EvaluatorError, SearchError
from athenan_spiel.outcomes import Gain
from athenan_spiel.search import MCTS, AlphaZeroMCTS, Budget, ExItMCTS, think
from athenan_spiel.search.exit import ExItUCT
from athenan_spiel.search.mcts_tree import MCTSNode
from athenan_spiel.search.node import NodeKind
from athenan_spiel.search.puct import PUCT
from athenan_spiel.search.uct import UCT, Selection

GAME = load("tic_tac_toe")
START = GAME.new_initial_state()
KINDS = pytest.mark.parametrize("kind", [NodeKind.MAXIMISER, NodeKind.MINIMISER], ids=["maximiser", "minimiser"])


def chosen(
    rule: Selection, node: MCTSNode, losses: dict[int, int] | None = None, scale: float = 1.0, seeds: int = 1
) -> set[int]:
    return {rule(node, losses or {}, scale, random.Random(seed)) for seed in range(seeds)}


# The formula


def guided(
    priors: Sequence[float], found: Sequence[Sequence[tuple[float, float]]], value_weight: float, kind: NodeKind
) -> MCTSNode:
    """A node whose simulations through each action have found these results z and values v."""
    node = hand_node(priors, kind=kind)
    for i, pairs in enumerate(found):
        for z, v in pairs:
            node.add_simulation(i, (z + value_weight * v) / (1 + value_weight))
    return node


def formula(
    node: MCTSNode, i: int, found: Sequence[tuple[float, float]], c: float, prior_weight: float, value_weight: float
) -> float:
    """UCT(s, a) + w_a π(a|s) / (n(s, a) + 1) + w_v Q̂(s, a), term by term."""
    assert node.priors is not None
    n, sign = len(found), node.kind.won
    uct = sign * sum(z for z, _ in found) / n + c * math.sqrt(math.log(node.simulations) / n)
    values = sign * sum(v for _, v in found) / n
    return uct + prior_weight * node.priors[i] / (n + 1) + value_weight * values


@KINDS
@pytest.mark.parametrize("value_weight", [0.0, 0.75])
def test_it_maximises_the_formula(kind: NodeKind, value_weight: float) -> None:
    others: dict[str, Selection] = {"puct": PUCT(), "uct": UCT(0.3), "without values": ExItUCT(0.3, 2.0, 0.0)}
    differ = dict.fromkeys(others, 0)
    for seed in range(200):
        rng = random.Random(seed)
        count = rng.randint(2, 6)
        weights = [rng.random() ** 3 for _ in range(count)]
        found = [
            [(rng.choice([-1.0, 0.0, 1.0]), rng.uniform(-1, 1)) for _ in range(rng.randint(1, 9))] for _ in range(count)
        ]
        node = guided([w / sum(weights) for w in weights], found, value_weight, kind)
        scores = [formula(node, i, pairs, 0.3, 2.0, value_weight) for i, pairs in enumerate(found)]
        expected = scores.index(max(scores))
        assert chosen(ExItUCT(0.3, 2.0, value_weight), node) == {expected}
        for name, rule in others.items():
            differ[name] += chosen(rule, node) != {expected}
    assert differ["puct"] > 20
    assert differ["uct"] > 20
    assert (differ["without values"] > 5) == bool(value_weight)


def test_a_hand_calculation() -> None:
    """N = 6, c = 0.05, w_a = 1: 0.5 + c sqrt(ln 6 / 2) + 0.1 / 3 = 0.581; 0.2 + c sqrt(ln 6 / 3) + 0.9 / 4 = 0.464.

    With w_a = 2 they are 0.614 and 0.689. With w_v = 0.5, and values of 0 and 0.3, 0.581 and 0.614.
    """
    results = [[(0.5, 0.0)] * 2, [(0.2, 0.3)] * 3]
    without, with_values = (guided([0.1, 0.9], results, w, NodeKind.MAXIMISER) for w in (0.0, 0.5))
    assert chosen(ExItUCT(0.05, 1.0, 0.0), without) == {0}
    assert chosen(ExItUCT(0.05, 2.0, 0.0), without) == {1}
    assert chosen(ExItUCT(0.05, 1.0, 0.5), with_values) == {1}


def test_untried_actions_come_first_the_likeliest_before_the_others() -> None:
    node = hand_node([0.5, 0.1, 0.3, 0.1], {0: (1, 1.0)})
    assert chosen(ExItUCT(), node) == {2}
    assert chosen(ExItUCT(), node, losses={2: 1}) <= {1, 3}
    assert chosen(ExItUCT(0.05, 0.0, 0.0), node) == {2}
    of_even = {next(iter(chosen(ExItUCT(), hand_node([0.25] * 4, seed=seed)))) for seed in range(60)}
    assert of_even == {0, 1, 2, 3}, "equal ones are in random order"


def test_with_urgency_an_untried_action_is_worth_its_state_and_its_prior() -> None:
    """1.75 · 0.1 + 2 · 0.2 = 0.575, against 1.75 · mean + 0.05 sqrt(ln 3 / 2) + 2 · 0.8 / 3 = 1.75 · mean + 0.570."""
    rule = ExItUCT(0.05, 2.0, 0.75, first_play_urgency=True)
    assert chosen(rule, hand_node([0.8, 0.2], {0: (2, 0.02)}, own=0.1)) == {0}
    assert chosen(rule, hand_node([0.8, 0.2], {0: (2, -0.02)}, own=0.1)) == {1}


@KINDS
def test_a_virtual_loss_is_a_simulation_that_found_the_worst(kind: NodeKind) -> None:
    for seed in range(60):
        rng = random.Random(seed)
        tried = {i: (rng.randint(1, 4), rng.uniform(-5, 5)) for i in range(4)}
        losses = {i: rng.randint(1, 3) for i in range(4) if rng.random() < 0.5}
        node, taken = (hand_node([0.4, 0.3, 0.2, 0.1], tried, kind=kind) for _ in range(2))
        for i, lost in losses.items():
            for _ in range(lost):
                taken.add_simulation(i, -kind.won * 5.0)
        rule = ExItUCT(0.3, 2.0, 0.75)
        assert chosen(rule, node, losses, scale=5.0) == chosen(rule, taken, scale=5.0)


def test_ties_are_drawn() -> None:
    node = hand_node([0.25] * 4, dict.fromkeys(range(4), (2, 0.5)))
    assert chosen(ExItUCT(), node, seeds=60) == {0, 1, 2, 3}


# What it backs up


def constant(value: float) -> Any:
    def values(states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        return np.full(len(states), value)

    return values


def test_a_leaf_is_worth_the_result_of_a_playout_and_the_networks_value() -> None:
    """Results are -1, 0 and 1, and w_v = 3 with v = 0.2 makes (z + 0.6) / 4 of them."""
    for batch in (1, 4):
        search = ExItMCTS(GAME, value_weight=3.0, virtual_loss_batch=batch)
        tree = search.new_tree()
        think(search, START, Budget(iterations=1), with_priors(constant(0.2)), tree=tree)
        root = tree.table[tree.key(START)]
        assert isinstance(root, MCTSNode)
        found = {round(root.totals[i], 9) for i in root.visits} | {round(root.own, 9)}
        assert found <= {-0.1, 0.15, 0.4}
    means = [
        think(ExItMCTS(GAME, value_weight=w), START, Budget(iterations=300), with_priors(constant(0.2))).value
        for w in (0, 1e6)
    ]
    assert means[1] == pytest.approx(0.2, abs=1e-4), "the results weigh nothing"
    assert means[0] > 0.25, "the first player wins most of the random matches"


def test_without_their_weight_the_networks_values_change_nothing() -> None:
    runs = [
        think(ExItMCTS(GAME, value_weight=0.0), START, Budget(iterations=100), with_priors(values, drawn(0)))
        for values in (noise(0), noise(1), constant(0.9))
    ]
    assert len({tuple(run.visits) for run in runs}) == 1
    others = [
        think(ExItMCTS(GAME), START, Budget(iterations=100), with_priors(values, drawn(0)))
        for values in (noise(0), noise(1))
    ]
    assert len({tuple(run.visits) for run in others}) == 2


def test_priors_draw_the_visits() -> None:
    def corner(state: pyspiel.State) -> list[float]:
        actions = state.legal_actions()
        if 2 not in actions or len(actions) == 1:
            return even(state)
        return [0.92 if action == 2 else 0.08 / (len(actions) - 1) for action in actions]

    budget, values = Budget(iterations=200), constant(0.0)
    light, heavy = (
        think(ExItMCTS(GAME, prior_weight=w), START, budget, with_priors(values, corner)).visits for w in (0.0, 100.0)
    )
    assert heavy[2] > 80 > light[2]


def test_it_asks_once_for_each_new_leaf_and_not_for_terminal_states() -> None:
    asked: list[str] = []

    def recorded(states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        asked.extend(map(str, states))
        assert not any(state.is_terminal() for state in states)
        return np.zeros(len(states))

    result = think(ExItMCTS(GAME), START, Budget(iterations=60), with_priors(recorded))
    assert len(asked) == result.evaluations <= 61


@pytest.mark.parametrize("spec", ["tic_tac_toe", "nim(pile_sizes=1;2;3)", "hex(board_size=3)"])
def test_it_finds_what_keeps_the_result(spec: str) -> None:
    """With a network that knows the truth, of which it is told beside playouts."""
    game, oracle = load(spec), solver()
    search = ExItMCTS(game, prior_weight=1.0, value_weight=3.0)
    for seed in range(4):
        rng, state = random.Random(seed), game.new_initial_state()
        while not state.is_terminal():
            value = oracle.value(state)
            evaluator = with_priors(truth(oracle), even)
            result = think(search, state, Budget(iterations=150), evaluator, rng=rng)
            state.apply_action(result.safest_action)
            assert oracle.value(state) == value


def test_counts_and_totals_add_up() -> None:
    for spec, batch in itertools.product(("tic_tac_toe", "oware"), (1, 4)):
        game = load(spec)
        search = ExItMCTS(game, virtual_loss_batch=batch)
        tree = search.new_tree()
        result = think(
            search, game.new_initial_state(), Budget(iterations=40), with_priors(noise(0), drawn(2)), tree=tree
        )
        assert result.visits.sum() == 40 * batch
        assert search.policy(result.node) == pytest.approx(result.visits / result.visits.sum())
        check_sums(tree)


def test_it_is_none_of_the_others() -> None:
    visits = [
        think(search, START, Budget(iterations=200), with_priors(noise(0), drawn(0))).visits.tolist()
        for search in (ExItMCTS(GAME), AlphaZeroMCTS(GAME), MCTS(GAME), MCTS(GAME, rollouts=True))
    ]
    assert len(set(map(tuple, visits))) == 4


def test_the_outcomes_scale_changes_no_choice() -> None:
    class Scaled(Gain):
        def __call__(self, state: Any) -> float:
            return 8 * super().__call__(state)

    for batch in (1, 3):
        plain, scaled = (
            think(
                ExItMCTS(GAME, outcome=outcome, virtual_loss_batch=batch),
                START,
                Budget(iterations=100),
                with_priors(lambda states, factor=factor: factor * noise(0)(states), drawn(0)),  # type: ignore[misc]
            )
            for outcome, factor in ((Gain(), 1.0), (Scaled(scale=8.0), 8.0))
        )
        assert plain.visits.tolist() == scaled.visits.tolist()


def test_a_search_is_pickled() -> None:
    search = ExItMCTS(GAME, exploration_constant=0.2, prior_weight=5.0, value_weight=0.5, first_play_urgency=True)
    twin = pickle.loads(pickle.dumps(search))
    assert twin.selection == search.selection == ExItUCT(0.2, 5.0, 0.5, first_play_urgency=True)
    runs = [
        think(s, START, Budget(iterations=50), with_priors(noise(0), drawn(0))).visits.tolist() for s in (search, twin)
    ]
    assert runs[0] == runs[1]


# Refusals


def test_without_priors_it_says_so() -> None:
    with pytest.raises(EvaluatorError, match="ExItMCTS needs priors, and this evaluator returns only values"):
        think(ExItMCTS(GAME), START, Budget(iterations=1), noise(0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"prior_weight": -1.0}, "prior_weight of ExIt must be at least 0, got -1.0"),
        ({"value_weight": math.nan}, "value_weight of ExIt must be at least 0, got nan"),
        ({"value_weight": "1"}, "value_weight of ExIt must be a number, got '1'"),
        ({"exploration_constant": -0.1}, "the exploration constant of MCTS must be at least 0, got -0.1"),
        ({"first_play_urgency": 1}, "first_play_urgency must be"),
    ],
)
def test_refusals(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(SearchError, match=message):
        ExItMCTS(GAME, **arguments)
