"""Gumbel AlphaZero's search: its formulas by hand, how the root halves its simulations, and what it plays.

Quotes the rules of `search.gumbel`. `test_gumbel_mctx` holds the numbers against mctx's.
"""

from __future__ import annotations

import math
import pickle
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from fake_game import FakeGame, Place, Recorder, first, score, second
from hand_mcts import check_sums
from oracles.brute_force import load, solver
from oracles.evaluators import noise, truth
from priors import drawn, even, hand_node, of_names, with_priors

from athenan_spiel.errors import EvaluatorError, SearchError
from athenan_spiel.search import AlphaZeroMCTS, Budget, GumbelMCTS, think
from athenan_spiel.search.choice import safest
from athenan_spiel.search.gumbel import GumbelSelection, RootPlan, considered_visit, gumbel, gumbel_choice
from athenan_spiel.search.mcts_tree import MCTSNode, MCTSTree
from athenan_spiel.search.node import NodeKind
from athenan_spiel.search.puct import PUCT

GAME = load("tic_tac_toe")
START = GAME.new_initial_state()
KINDS = pytest.mark.parametrize("kind", [NodeKind.MAXIMISER, NodeKind.MINIMISER], ids=["maximiser", "minimiser"])
MCTX = GumbelSelection(c_scale=0.1, rescaled=True)
PAPER = GumbelSelection(c_scale=1.0)


def random_node(rng: random.Random, kind: NodeKind = NodeKind.MAXIMISER) -> MCTSNode:
    count = rng.randint(2, 8)
    weights = [rng.random() ** 3 + 1e-3 for _ in range(count)]
    tried = {i: (rng.randint(1, 9), rng.uniform(-1, 1)) for i in range(count) if rng.random() < 0.6}
    return hand_node([w / sum(weights) for w in weights], tried, own=rng.uniform(-0.5, 0.5), kind=kind)


def completed(node: MCTSNode, rule: GumbelSelection) -> np.ndarray:
    """σ of the completed q(a), written as the paper's Appendix D has it (eq. 33)."""
    priors = np.array(node.priors)
    n = np.array([node.count(i) for i in range(len(priors))])
    share = lambda v: (1 + node.kind.won * v) / 2  # noqa: E731
    q = np.array([share(node.totals[i] / n[i]) if n[i] else 0.0 for i in range(len(n))])
    own, tried = share(node.own), n > 0
    mean = (priors * q)[tried].sum() / priors[tried].sum() if tried.any() else 0.0
    values = np.where(tried, q, (own + n.sum() * mean) / (1 + n.sum()))
    if rule.rescaled:
        values = (values - values.min()) / max(values.max() - values.min(), 1e-8)
    return np.asarray((rule.c_visit + n.max()) * rule.c_scale * values)


def improved(node: MCTSNode, rule: GumbelSelection) -> np.ndarray:
    logits = np.log(np.array(node.priors)) + completed(node, rule)
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum())


# The formulas


@KINDS
@pytest.mark.parametrize("rule", [GumbelSelection(), PAPER, MCTX, GumbelSelection(5.0, 0.3)])
def test_completed_values_the_policy_and_the_choice_inside(rule: GumbelSelection, kind: NodeKind) -> None:
    for seed in range(200):
        node = random_node(random.Random(seed), kind)
        assert rule.sigma(node, 1.0) == pytest.approx(completed(node, rule).tolist(), rel=1e-9, abs=1e-9)
        policy = rule.policy(node, 1.0)
        assert policy == pytest.approx(improved(node, rule).tolist(), rel=1e-9, abs=1e-12)
        assert sum(policy) == pytest.approx(1)
        visits = np.array([node.count(i) for i in range(len(policy))])
        expected = int(np.argmax(improved(node, rule) - visits / (1 + visits.sum())))
        assert rule(node, {}, 1.0, random.Random(0)) == expected


def test_a_hand_calculation() -> None:
    """q = 0.75 and 0.25, own 0.5; v_mix = (0.5 + 4 · (0.5 · 0.75 + 0.25 · 0.25) / 0.75) / 5 = 0.56667; c = 50 + 3."""
    node = hand_node([0.5, 0.25, 0.25], {0: (3, 0.5), 1: (1, -0.5)}, own=0.0)
    assert PAPER.sigma(node, 1.0) == pytest.approx([53 * 0.75, 53 * 0.25, 53 * (0.5 + 7 / 3) / 5])
    assert MCTX.sigma(node, 1.0) == pytest.approx([5.3, 0.0, 5.3 * 0.95 / 1.5])


def test_values_are_in_units_of_the_scale() -> None:
    node, large = (hand_node([0.5, 0.3, 0.2], {0: (3, s * 0.5), 1: (1, -s * 0.5)}, own=s * 0.1) for s in (1.0, 8.0))
    assert GumbelSelection().sigma(node, 1.0) == pytest.approx(GumbelSelection().sigma(large, 8.0))


def test_a_virtual_loss_is_a_simulation_that_found_the_worst() -> None:
    for kind, sign in ((NodeKind.MAXIMISER, 1.0), (NodeKind.MINIMISER, -1.0)):
        for seed in range(60):
            rng = random.Random(seed)
            tried = {i: (rng.randint(1, 4), rng.uniform(-1, 1)) for i in range(3)}
            losses = {i: rng.randint(1, 3) for i in range(4) if rng.random() < 0.5}
            node, taken = (hand_node([0.4, 0.3, 0.2, 0.1], tried, own=0.1, kind=kind) for _ in range(2))
            for i, lost in losses.items():
                for _ in range(lost):
                    taken.add_simulation(i, -sign * 5.0)
            for rule in (GumbelSelection(), MCTX):
                one, other = rule(node, losses, 5.0, random.Random(0)), rule(taken, {}, 5.0, random.Random(0))
                assert one == other


@pytest.mark.parametrize("rule", [GumbelSelection(), PAPER, MCTX])
def test_priors_of_zero_none_and_even_ones(rule: GumbelSelection) -> None:
    node = hand_node([0.0, 1.0, 0.0], {0: (1, 1.0), 1: (1, -1.0)})
    assert sum(rule.policy(node, 1.0)) == pytest.approx(1)
    assert rule(node, {}, 1.0, random.Random(0)) in range(3)
    for priors in ([0.25] * 4, None):
        assert {rule(hand_node(priors, count=4, seed=s), {}, 1.0, random.Random(s)) for s in range(60)} == {0, 1, 2, 3}
        assert rule.policy(hand_node(priors, count=4), 1.0) == pytest.approx([0.25] * 4)
    for priors in ([1.0, 0.0], [0.0, 1.0]):
        huge = hand_node(priors, {0: (900, -1e300), 1: (2, 1e300)})
        assert sum(rule.policy(huge, 1.0)) == pytest.approx(1)
        assert rule(huge, {}, 1.0, random.Random(0)) == 1


# Sequential halving


@pytest.mark.parametrize(
    ("considered", "simulations", "counts"),
    [
        (4, 16, [6, 6, 2, 2]),
        (16, 32, [4] * 4 + [2] * 4 + [1] * 8),
        (16, 16, [1] * 16),
        (16, 5, [1] * 5 + [0] * 11),
        (7, 20, [7, 6, 3, 1, 1, 1, 1]),  # 7 · 1, 3 · 2, 2 · 3, and one more of two
        (2, 7, [4, 3]),
        (1, 7, [7]),
    ],
)
def test_the_schedule_of_visits(considered: int, simulations: int, counts: list[int]) -> None:
    visits = [0] * considered
    for index in range(simulations):
        visits[visits.index(considered_visit(considered, simulations, index))] += 1
    assert sorted(visits, reverse=True) == counts


def test_a_budget_of_a_billion_is_planned_at_once() -> None:
    assert considered_visit(16, 10**9, 10**9 - 1) > 10**7


def star(worths: Sequence[float], own: float = 0.0) -> FakeGame:
    """A root whose actions lead to states of these values, as is all below them."""
    children = {f"S{i}": second(worth, **{f"T{i}": worth, f"U{i}": worth}) for i, worth in enumerate(worths)}
    return FakeGame(Place(0, own, children))


def gumbel_search(game: FakeGame, **options: Any) -> GumbelMCTS:
    return GumbelMCTS(game, outcome=score, key=str, **options)  # type: ignore[arg-type]


def visits_after(
    game: FakeGame, iterations: int, priors: Sequence[float] | None = None, seed: int = 0, **options: Any
) -> list[int]:
    evaluator = with_priors(Recorder(), of_names({"root": priors} if priors else {}))
    search = gumbel_search(game, **options)
    budget = Budget(iterations=iterations)
    return think(search, game.new_initial_state(), budget, evaluator, rng=random.Random(seed)).visits.tolist()  # type: ignore[no-any-return]


def test_the_root_halves_its_simulations() -> None:
    """Eight actions, m = 4, n = 16: of the four of the largest priors the two of the best values get 6 each."""
    worths = [0.0, 0.1, 0.2, 0.3, 0.9, 0.9, 0.9, 0.9]
    priors = [0.16, 0.17, 0.18, 0.19, 0.06, 0.07, 0.08, 0.09]
    assert visits_after(star(worths), 16, priors, considered_actions=4) == [2, 2, 6, 6, 0, 0, 0, 0]
    assert visits_after(star(worths[::-1]), 16, priors[::-1], considered_actions=4) == [0, 0, 0, 0, 6, 6, 2, 2]


@pytest.mark.parametrize(("iterations", "batch"), [(16, 1), (8, 2), (4, 4)])
def test_a_batch_is_halved_by_its_simulations(iterations: int, batch: int) -> None:
    worths = [0.0, 0.1, 0.2, 0.3]
    assert sorted(visits_after(star(worths), iterations, virtual_loss_batch=batch)) == [2, 2, 6, 6]


def test_without_iterations_the_root_goes_by_the_policy() -> None:
    """The counts come near π', where halving would give equal ones to the best two."""
    game = star([0.0, 0.1, 0.2, 0.3])
    search = gumbel_search(game, selection=GumbelSelection(0.0, 0.0))
    evaluator = with_priors(Recorder(), of_names({"root": [0.1, 0.2, 0.3, 0.4]}))
    result = think(search, game.new_initial_state(), Budget(evaluations=200), evaluator)
    assert result.visits / result.visits.sum() == pytest.approx([0.1, 0.2, 0.3, 0.4], abs=0.02)
    assert gumbel_choice(result.node, random.Random(0)) == 3


def test_halving_counts_from_when_the_state_became_the_root() -> None:
    search, evaluator, rng = GumbelMCTS(GAME, considered_actions=4), with_priors(noise(0), drawn(0)), random.Random(0)
    tree, state = search.new_tree(), START.clone()
    think(search, state, Budget(iterations=200), evaluator, tree=tree, rng=rng)
    root = tree.root
    assert isinstance(root, MCTSNode)
    i = max(root.children, key=root.count)
    state.apply_action(root.actions[i])
    child = root.children[i]
    before = dict(child.visits)
    assert sum(before.values()) > 10
    think(search, state, Budget(iterations=16), evaluator, tree=tree, rng=rng)
    since = [child.count(i) - before.get(i, 0) for i in range(8)]
    assert sorted(since) == [0, 0, 0, 0, 2, 2, 6, 6]
    assert since[gumbel_choice(child, rng)] == 6
    assert root.plan is root.noise is None, "the plan is the root's alone"
    think(search, state, Budget(iterations=30), evaluator, tree=tree, rng=rng)
    assert sum(child.visits.values()) == sum(before.values()) + 46, "what is beyond the plan goes by the policy"


# Noise


def test_gumbel_numbers() -> None:
    """Mean γ, variance π² / 6."""
    rng = random.Random(0)
    drawn_ = np.array([gumbel(rng) for _ in range(40_000)])
    assert drawn_.mean() == pytest.approx(0.5772, abs=0.02)
    assert drawn_.var() == pytest.approx(math.pi**2 / 6, rel=0.03)


def test_with_noise_the_first_action_is_drawn_from_the_priors() -> None:
    """Gumbel-max: with one simulation the action is a draw from π."""
    priors = [0.1, 0.2, 0.3, 0.4]
    shares = np.mean([visits_after(star([0.0] * 4), 1, priors, seed, root_noise=1.0) for seed in range(1200)], axis=0)
    assert shares == pytest.approx(priors, abs=0.045)
    assert visits_after(star([0.0] * 4), 1, priors) == [0, 0, 0, 1]


def test_in_seconds_the_noise_goes_into_the_policy_of_the_root() -> None:
    game, evaluator = star([0.0] * 4), with_priors(Recorder(), of_names({"root": [0.1, 0.2, 0.3, 0.4]}))
    chosen = set()
    for seed in range(40):
        search = gumbel_search(game, root_noise=1.0)
        result = think(search, game.new_initial_state(), Budget(evaluations=20), evaluator, rng=random.Random(seed))
        choice = gumbel_choice(result.node, random.Random(0))
        assert result.visits[choice] == result.visits.max()
        chosen.add(choice)
    assert chosen == {0, 1, 2, 3}


def test_noise_is_at_the_root_alone_drawn_once_and_only_if_asked() -> None:
    evaluator = with_priors(noise(0), drawn(0))
    for options, expected in (({"root_noise": 1.0}, 1), ({"root_noise": 0.0}, 0), ({}, 0)):
        search, rng, state = GumbelMCTS(GAME, **options), random.Random(1), START.clone()
        tree = search.new_tree()
        for _ in range(3):
            result = think(search, state, Budget(iterations=40), evaluator, tree=tree, rng=rng)
            noisy = [node for node in tree.nodes if isinstance(node, MCTSNode) and node.noise is not None]
            assert len(noisy) == expected
            assert noisy in ([], [result.node])
            kept = [node.noise for node in noisy]
            think(search, state, Budget(iterations=5), evaluator, tree=tree, rng=rng)
            assert [node.noise for node in noisy] == kept
            assert [node for node in tree.nodes if isinstance(node, MCTSNode) and node.plan] == [result.node]
            state.apply_action(int(result.actions[gumbel_choice(result.node, rng)]))


def test_the_policy_to_learn_has_no_noise() -> None:
    search = GumbelMCTS(GAME, root_noise=1.0)
    node = think(search, START, Budget(iterations=30), with_priors(noise(0), drawn(0))).node
    assert isinstance(node, MCTSNode)
    assert search.policy(node) == pytest.approx(improved(node, GumbelSelection()).tolist())
    assert search.policy(node) != pytest.approx([node.count(i) / 30 for i in range(9)], abs=0.01), "no visit shares"


# The decision


def test_of_the_most_visited_the_best_score_is_played() -> None:
    """By values alone it is 1, by visits 0 or 2, of which the prior and the noise decide."""
    node = hand_node([0.5, 0.1, 0.4], {0: (3, 0.1), 1: (1, 0.9), 2: (3, 0.1)})
    rng = random.Random(0)
    node.plan = RootPlan(GumbelSelection(), 1.0, 7, 16, {})
    assert gumbel_choice(node, rng) == 0
    node.noise = [0.0, 0.0, 1.0]
    assert gumbel_choice(node, rng) == 2
    node.plan = RootPlan(GumbelSelection(), 1.0, 7, 16, {0: 3, 2: 3})
    assert gumbel_choice(node, rng) == 1, "visits from before do not count"


def test_a_node_that_is_no_root_is_decided_by_visits() -> None:
    node = hand_node([0.5, 0.1, 0.4], {0: (3, 0.1), 1: (1, 0.9), 2: (3, 0.2)})
    assert gumbel_choice(node, random.Random(0)) == safest(node, random.Random(0)) == 2


# What a search comes to


def test_a_refuted_prior_is_left() -> None:
    game = FakeGame(first(0.0, A=second(0.3, D=0.3, E=0.3), B=second(0.1, F=0.1, G=0.1), C=second(0.0, H=-1, I=-1)))
    evaluator = with_priors(Recorder(), of_names({"root": [0.05, 0.05, 0.9]}))
    for budget in (Budget(iterations=64), Budget(evaluations=64)):
        result = think(gumbel_search(game), game.new_initial_state(), budget, evaluator)
        assert gumbel_choice(result.node, random.Random(0)) == 0


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("rule", [GumbelSelection(), PAPER, MCTX], ids=["default", "paper", "mctx"])
@pytest.mark.parametrize("spec", ["tic_tac_toe", "hex(board_size=3)", "mnk(m=3,n=3,k=3)", "nim(pile_sizes=1;2;3)"])
def test_with_a_perfect_evaluator_it_plays_perfectly(spec: str, rule: GumbelSelection, batch: int) -> None:
    game, oracle = load(spec), solver()
    search = GumbelMCTS(game, selection=rule, virtual_loss_batch=batch)
    evaluator = with_priors(truth(oracle), even)
    for seed in range(6):
        rng = random.Random(seed)
        state, tree, player = game.new_initial_state(), search.new_tree(), seed % 2
        while not state.is_terminal():
            if state.current_player() == player:
                value = oracle.value(state)
                result = think(search, state, Budget(iterations=60), evaluator, tree=tree, rng=rng)
                state.apply_action(int(result.actions[gumbel_choice(result.node, rng)]))
                assert oracle.value(state) == value
            else:
                state.apply_action(rng.choice(state.legal_actions()))


def test_it_is_not_puct() -> None:
    evaluator = with_priors(noise(0), drawn(0))
    counts = [
        think(search, START, budget, evaluator).visits.tolist()
        for budget in (Budget(iterations=100), Budget(evaluations=100))
        for search in (GumbelMCTS(GAME), AlphaZeroMCTS(GAME))
    ]
    assert len({tuple(count) for count in counts}) >= 3


def test_without_priors_it_says_so() -> None:
    with pytest.raises(EvaluatorError, match="GumbelMCTS needs priors, and this evaluator returns only values"):
        think(GumbelMCTS(GAME), START, Budget(iterations=1), noise(0))


@pytest.mark.parametrize("budget", [Budget(iterations=60), Budget(evaluations=60)], ids=["iterations", "evaluations"])
@pytest.mark.parametrize("options", [{}, {"root_noise": 1.0}, {"virtual_loss_batch": 4}], ids=str)
def test_it_is_repeated_exactly_and_a_copied_tree_goes_on_as_the_first(options: dict[str, Any], budget: Budget) -> None:
    runs, evaluator = [], with_priors(noise(0), drawn(0))
    for copied in (False, True):
        search, rng = GumbelMCTS(GAME, **options), random.Random(5)
        tree = search.new_tree()
        think(search, START, budget, evaluator, tree=tree, rng=rng)
        if copied:
            original, tree = tree, tree.copy()
            think(search, START.child(0), budget, with_priors(noise(1)), tree=original)
        think(search, START, budget, evaluator, tree=tree, rng=rng)
        assert isinstance(tree, MCTSTree)
        check_sums(tree)
        runs.append([(key, node.values, node.visits, node.value) for key, node in tree.table.items()])
    assert runs[0] == runs[1]


def test_a_gumbel_search_is_pickled() -> None:
    search = GumbelMCTS(GAME, considered_actions=4, root_noise=1.0, selection=MCTX, virtual_loss_batch=2)
    twin = pickle.loads(pickle.dumps(search))
    assert (twin.considered_actions, twin.root_noise, twin.selection) == (4, 1.0, MCTX)
    assert think(twin, START, Budget(iterations=9), with_priors(noise(0))).iterations == 9


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GumbelSelection(-1.0), "c_visit of Gumbel must be at least 0, got -1.0"),
        (lambda: GumbelSelection(c_scale=math.nan), "c_scale of Gumbel must be at least 0, got nan"),
        (lambda: GumbelSelection(rescaled=1), "rescaled must be"),  # type: ignore[arg-type]
        (
            lambda: GumbelMCTS(GAME, considered_actions=0),
            "that Gumbel considers must be at least 1, got 0",
        ),
        (lambda: GumbelMCTS(GAME, considered_actions=1.5), "must be a whole number, got 1.5"),  # type: ignore[arg-type]
        (lambda: GumbelMCTS(GAME, root_noise=1.5), "the root's noise must be at most 1, got 1.5"),
        (lambda: GumbelMCTS(GAME, root_noise="1"), "the root's noise must be a number, got '1'"),  # type: ignore[arg-type]
        (lambda: GumbelMCTS(GAME, selection=PUCT()), "selection must be a GumbelSelection"),  # type: ignore[arg-type]
    ],
)
def test_refusals(make: Any, message: str) -> None:
    with pytest.raises(SearchError, match=message):
        make()
