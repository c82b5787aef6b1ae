"""PUCT by hand calculations, noise at the root only, and results of a search with priors."""

from __future__ import annotations

import itertools
import math
import pickle
import random
from typing import Any

import numpy as np
import pytest
from fake_game import FakeGame, Recorder, first, score, second
from oracles.brute_force import load, solver
from oracles.evaluators import noise, truth
from priors import drawn, even, hand_node, of_names, with_priors

from athenan_spiel.errors import EvaluatorError, SearchError
from athenan_spiel.outcomes import Gain
from athenan_spiel.search import MCTS, UBFM, AlphaBeta, AlphaZeroMCTS, Budget, Descent, SearchResult, think
from athenan_spiel.search.choice import safest
from athenan_spiel.search.mcts_tree import MCTSNode, MCTSTree
from athenan_spiel.search.node import NodeKind
from athenan_spiel.search.puct import PUCT, DirichletNoise
from athenan_spiel.search.uct import UCT

GAME = load("tic_tac_toe")
START = GAME.new_initial_state()
KINDS = pytest.mark.parametrize("kind", [NodeKind.MAXIMISER, NodeKind.MINIMISER], ids=["maximiser", "minimiser"])


def chosen(
    rule: PUCT, node: MCTSNode, losses: dict[int, int] | None = None, scale: float = 1.0, seeds: int = 1
) -> set[int]:
    return {rule(node, losses or {}, scale, random.Random(seed)) for seed in range(seeds)}


# The formula


def formula(node: MCTSNode, i: int, c_init: float = 1.25, c_base: float = 19652) -> float:
    """Q + c(s) P sqrt(N) / (1 + n), as the pseudocode has it, with the state's own value where n = 0."""
    assert node.priors is not None
    n, sign = node.count(i), node.kind.won
    c = math.log((1 + node.simulations + c_base) / c_base) + c_init
    mean = sign * (node.totals[i] / n if n else node.own)
    return mean + c * node.priors[i] * math.sqrt(node.simulations) / (1 + n)


@KINDS
def test_it_maximises_the_formula(kind: NodeKind) -> None:
    met = set()
    for seed in range(300):
        rng = random.Random(seed)
        count = rng.randint(2, 8)
        weights = [rng.random() ** 3 for _ in range(count)]
        tried = {i: (rng.randint(1, 9), rng.uniform(-1, 1)) for i in range(count) if rng.random() < 0.6}
        node = hand_node([w / sum(weights) for w in weights], tried, own=rng.uniform(-0.5, 0.5), kind=kind)
        c_init, c_base = rng.choice([(1.25, 19652.0), (0.3, 10.0), (4.0, 1.0)])
        expected = max(range(count), key=lambda i: formula(node, i, c_init, c_base))
        assert chosen(PUCT(c_init, c_base), node) == {expected}
        met.add(expected in tried)
    assert met == {True, False}


def test_a_hand_calculation() -> None:
    """N = 8, c = ln(19661 / 19652) + 1.25 = 1.2505, c sqrt(8) = 3.5369.

    0.2 + 3.5369 · 0.5 / 6 = 0.4947; -0.1 + 3.5369 · 0.3 / 3 = 0.2537; untried 0 + 3.5369 · 0.2 = 0.7074, which an own
    value of -0.3 makes 0.4074.
    """
    assert chosen(PUCT(), hand_node([0.5, 0.3, 0.2], {0: (5, 0.2), 1: (2, -0.1)}, own=0.0)) == {2}
    assert chosen(PUCT(), hand_node([0.5, 0.3, 0.2], {0: (5, 0.2), 1: (2, -0.1)}, own=-0.3)) == {0}
    assert chosen(PUCT(reduction=0.2), hand_node([0.5, 0.3, 0.2], {0: (5, 0.2), 1: (2, -0.1)})) == {2}
    assert chosen(PUCT(reduction=0.22), hand_node([0.5, 0.3, 0.2], {0: (5, 0.2), 1: (2, -0.1)})) == {0}


def test_an_untried_action_counts_as_what_its_state_was_valued() -> None:
    """Not as the mean of the simulations: that is 0.5 here, and would be tried."""
    node = hand_node([0.9999, 0.0001], {0: (9, 0.6)}, own=-0.4)
    assert node.value == pytest.approx(0.5)
    assert chosen(PUCT(0.0, 1e6), node) == {0}
    assert chosen(PUCT(0.0, 1e6), hand_node([0.9999, 0.0001], {0: (9, 0.6)}, own=0.7)) == {1}


def test_values_are_in_units_of_the_scale() -> None:
    """By the scale 1 the better mean decides, by 100 the prior."""
    node = hand_node([0.1, 0.9], {0: (3, 10.0), 1: (3, 5.0)})
    assert chosen(PUCT(), node, scale=1.0) == {0}
    assert chosen(PUCT(), node, scale=100.0) == {1}


def test_c_grows_with_the_simulations() -> None:
    """N = 36: with c_base = 1, c is ln 38 + 0.1 = 3.74, and 0.9 + 11.2 / 31 = 1.26 < 0.1 + 11.2 / 6 = 1.97."""
    node = hand_node([0.5, 0.5], {0: (30, 0.9), 1: (5, 0.1)})
    assert chosen(PUCT(0.1, 1e5), node) == {0}
    assert chosen(PUCT(0.1, 1.0), node) == {1}


def test_a_virtual_loss_is_a_simulation_that_found_the_worst() -> None:
    """0.5 and a loss is (0.5 - 1) / 2; the same as a node that has simulated it, to each player."""
    for kind, sign in ((NodeKind.MAXIMISER, 1.0), (NodeKind.MINIMISER, -1.0)):
        for seed in range(100):
            rng = random.Random(seed)
            tried = {i: (rng.randint(1, 4), rng.uniform(-1, 1)) for i in range(3)}
            losses = {i: rng.randint(1, 3) for i in range(4) if rng.random() < 0.5}
            node, taken = (hand_node([0.4, 0.3, 0.2, 0.1], tried, own=0.1, kind=kind) for _ in range(2))
            for i, lost in losses.items():
                for _ in range(lost):
                    taken.add_simulation(i, -sign * 5.0)
            assert chosen(PUCT(), node, losses, scale=5.0) == chosen(PUCT(), taken, scale=5.0)


def test_even_priors_and_none_are_alike_and_ties_are_drawn() -> None:
    for priors in ([0.25] * 4, None):
        assert {next(iter(chosen(PUCT(), hand_node(priors, count=4, seed=s)))) for s in range(60)} == {0, 1, 2, 3}
        assert chosen(PUCT(), hand_node(priors, dict.fromkeys(range(4), (2, 0.5)), count=4), seeds=60) == {0, 1, 2, 3}
        tried = {0: (3, 0.5), 1: (1, 0.5), 2: (3, 0.5), 3: (3, 0.5)}
        assert chosen(PUCT(), hand_node(priors, tried, count=4), seeds=20) == {1}


# What a search comes to


def alphazero(game: FakeGame, **options: Any) -> AlphaZeroMCTS:
    return AlphaZeroMCTS(game, outcome=score, key=str, **options)  # type: ignore[arg-type]


def test_a_sharp_prior_is_followed_and_a_refuted_one_is_left() -> None:
    game = FakeGame(first(0.0, A=second(0.1, D=0.1, E=0.1), B=second(0.1, F=0.1, G=0.1), C=second(0.0, H=-1, I=-1)))
    recorder = Recorder()
    to_b, to_c = (
        think(
            alphazero(game),
            game.new_initial_state(),
            Budget(iterations=200),
            with_priors(recorder, of_names({"root": priors})),
        ).visits
        for priors in ([0.05, 0.9, 0.05], [0.05, 0.05, 0.9])
    )
    assert to_b[1] > 170
    assert 3 < to_c[2] < 80
    uct = think(MCTS(game, outcome=score, key=str), game.new_initial_state(), Budget(iterations=200), recorder)  # type: ignore[arg-type]
    assert uct.visits[1] < 130, "UCT has no prior to follow"


def test_without_priors_it_says_so_at_the_first_question() -> None:
    message = "AlphaZeroMCTS needs priors, and this evaluator returns only values: use a network"
    with pytest.raises(EvaluatorError, match=message) as raised:
        think(AlphaZeroMCTS(GAME), START, Budget(iterations=1), noise(0))
    assert "\n" not in str(raised.value)
    with pytest.raises(EvaluatorError, match="MCTS needs priors, and this evaluator returns only values"):
        think(MCTS(GAME, selection=PUCT()), START, Budget(iterations=1), noise(0))
    assert not MCTS(GAME).needs_priors


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("spec", ["tic_tac_toe", "hex(board_size=3)", "mnk(m=3,n=3,k=3)", "nim(pile_sizes=1;2;3)"])
def test_with_a_perfect_evaluator_it_plays_perfectly(spec: str, batch: int) -> None:
    game, oracle = load(spec), solver()
    search = AlphaZeroMCTS(game, virtual_loss_batch=batch)
    evaluator = with_priors(truth(oracle), even)
    for seed in range(6):
        rng = random.Random(seed)
        state, tree, player = game.new_initial_state(), search.new_tree(), seed % 2
        while not state.is_terminal():
            if state.current_player() == player:
                value = oracle.value(state)
                result = think(search, state, Budget(iterations=60), evaluator, tree=tree, rng=rng)
                state.apply_action(int(result.actions[safest(result.node, rng)]))
                assert oracle.value(state) == value
            else:
                state.apply_action(rng.choice(state.legal_actions()))


# The policy


def test_the_policy_is_the_share_of_simulations() -> None:
    for search in (AlphaZeroMCTS(GAME), AlphaZeroMCTS(GAME, virtual_loss_batch=4), MCTS(GAME)):
        for iterations in (1, 2, 50):
            result = think(search, START, Budget(iterations=iterations), with_priors(noise(0), drawn(0)))
            policy = search.policy(result.node)
            assert policy == pytest.approx(result.visits / result.visits.sum())
            assert sum(policy) == pytest.approx(1)
    assert search.tells_policy


def test_the_policy_without_simulations_is_a_distribution() -> None:
    search = AlphaZeroMCTS(GAME)
    assert search.policy(hand_node([0.7, 0.2, 0.1])) == [0.7, 0.2, 0.1]
    assert search.policy(hand_node(None, count=4)) == [0.25] * 4


def test_who_proves_tells_no_policy() -> None:
    for kind in (UBFM, Descent, AlphaBeta):
        search = kind(GAME)
        assert not search.tells_policy
        assert search.policy(think(search, START, Budget(iterations=3), noise(0)).node) is None


# Noise


def test_noise_is_a_mixture_with_a_dirichlet_distribution() -> None:
    """The mean of η is even and its variance (1/k)(1 - 1/k) / (α k + 1)."""
    node, rng = hand_node([0.7, 0.2, 0.1, 0.0]), random.Random(3)
    for share, alpha in ((0.25, 0.3), (0.25, None), (1.0, 2.0)):
        rows = np.array([DirichletNoise(share, alpha)(node, rng) for _ in range(8000)])
        assert rows.sum(axis=1) == pytest.approx(1)
        assert (rows >= (1 - share) * np.array(node.priors) - 1e-12).all()
        expected = (1 - share) * np.array(node.priors) + share / 4
        assert rows.mean(axis=0) == pytest.approx(expected, abs=0.015)
        variance = (1 / 4) * (3 / 4) / ((10 / 4 if alpha is None else alpha) * 4 + 1)
        assert rows.var(axis=0) == pytest.approx([share**2 * variance] * 4, rel=0.1)


def test_so_small_an_alpha_gives_all_to_one() -> None:
    rows = [DirichletNoise(1.0, 1e-6)(hand_node([0.5, 0.5]), random.Random(seed)) for seed in range(40)]
    assert {tuple(row) for row in rows} == {(1.0, 0.0), (0.0, 1.0)}


def nodes(tree: MCTSTree) -> list[MCTSNode]:
    return [node for node in tree.nodes if isinstance(node, MCTSNode)]


def test_noise_is_at_the_root_alone_and_drawn_once() -> None:
    search = AlphaZeroMCTS(GAME, root_noise=0.25)
    tree, rng, state = search.new_tree(), random.Random(1), START.clone()
    evaluator = with_priors(noise(0), drawn(0))
    seen = []
    for _ in range(3):
        result = think(search, state, Budget(iterations=60), evaluator, tree=tree, rng=rng)
        root = result.node
        assert isinstance(root, MCTSNode)
        assert isinstance(tree, MCTSTree)
        assert tree.root is root
        assert [node for node in nodes(tree) if node.noise is not None] == [root]
        kept = root.noise
        think(search, state, Budget(iterations=5), evaluator, tree=tree, rng=rng)
        assert root.noise is kept, "one thought goes on with the same noise"
        assert root.priors == drawn(0)(state), "the priors stay what they are"
        seen.append(kept)
        state.apply_action(int(result.actions[safest(root, rng)]))
    think(search, START, Budget(iterations=1), evaluator, tree=tree, rng=rng)
    assert tree.root.noise not in seen, "a root that becomes one again has other noise"


def test_no_noise_unless_asked() -> None:
    for options in ({}, {"root_noise": None}, {"root_noise": 0.0}):
        search = AlphaZeroMCTS(GAME, **options)
        tree = search.new_tree()
        think(search, START, Budget(iterations=60), with_priors(noise(0)), tree=tree)
        assert isinstance(tree, MCTSTree)
        assert not any(node.noise for node in nodes(tree))


def test_noise_is_what_puct_sees_of_a_node() -> None:
    node = hand_node([0.9, 0.1])
    assert chosen(PUCT(), node) == {0}
    node.noise = [0.2, 0.8]
    assert chosen(PUCT(), node) == {1}


def everything(result: SearchResult, tree: Any) -> object:
    return [(key, node.values, node.visits, node.value) for key, node in tree.table.items()]


@pytest.mark.parametrize("options", [{}, {"root_noise": 0.25}, {"virtual_loss_batch": 4}], ids=str)
def test_it_is_repeated_exactly_and_a_copied_tree_goes_on_as_the_first(options: dict[str, Any]) -> None:
    runs, evaluator = [], with_priors(noise(0), drawn(0))
    for copied in (False, True):
        search, rng = AlphaZeroMCTS(GAME, **options), random.Random(5)
        tree = search.new_tree()
        think(search, START, Budget(iterations=30), evaluator, tree=tree, rng=rng)
        if copied:
            original, tree = tree, tree.copy()
            assert isinstance(tree, MCTSTree)
            assert tree.root is tree.table[tree.key(START)]
            think(search, START, Budget(iterations=50), with_priors(noise(1)), tree=original)
        result = think(search, START, Budget(iterations=30), evaluator, tree=tree, rng=rng)
        runs.append(everything(result, tree))
    assert runs[0] == runs[1]
    other = think(AlphaZeroMCTS(GAME, **options), START, Budget(iterations=60), evaluator, rng=random.Random(6))
    assert (other.visits.tolist() == list(runs[0][0][2].values())) is False  # type: ignore[index]


def test_even_priors_are_no_uct() -> None:
    evaluator = with_priors(noise(0), even)
    one, other = (
        think(search, START, Budget(iterations=200), evaluator).visits.tolist()
        for search in (AlphaZeroMCTS(GAME), MCTS(GAME, selection=UCT(1.25, first_play_urgency=True)))
    )
    assert one != other


def test_a_search_with_noise_is_pickled() -> None:
    search = AlphaZeroMCTS(GAME, exploration_constant=2.0, root_noise=0.25, dirichlet_alpha=0.3, virtual_loss_batch=2)
    twin = pickle.loads(pickle.dumps(search))
    assert (twin.selection, twin.noise, twin.virtual_loss_batch) == (PUCT(2.0), DirichletNoise(0.25, 0.3), 2)


# Refusals


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PUCT(-0.1), "c_init of PUCT must be at least 0, got -0.1"),
        (lambda: PUCT(math.nan), "c_init of PUCT must be at least 0, got nan"),
        (lambda: PUCT(c_base=0.0), "c_base of PUCT must be more than zero, got 0.0"),
        (lambda: PUCT(reduction=math.inf), "reduction of PUCT must be at most 1,000,000, got inf"),
        (lambda: PUCT("1"), "c_init of PUCT must be a number, got '1'"),  # type: ignore[arg-type]
        (lambda: DirichletNoise(1.5), "the share of the root's noise must be at most 1, got 1.5"),
        (lambda: DirichletNoise(math.nan), "the share of the root's noise must be at least 0, got nan"),
        (lambda: DirichletNoise("x"), "the share of the root's noise must be a number, got 'x'"),  # type: ignore[arg-type]
        (lambda: DirichletNoise(0.25, 0.0), "alpha of the root's noise must be more than zero, got 0.0"),
        (lambda: AlphaZeroMCTS(GAME, root_noise=2.0), "share of the root's noise must be at most 1, got 2.0"),
        (
            lambda: MCTS(GAME, selection=PUCT(), rollouts=True),
            r"MCTS with playouts has no priors, and PUCT\(.*\) needs them",
        ),
        (lambda: MCTS(GAME, selection=PUCT(), exploration_constant=1.0), "a selection rule or arguments of UCT"),
    ],
)
def test_refusals(make: Any, message: str) -> None:
    with pytest.raises(SearchError, match=message):
        make()


def test_the_outcomes_scale_changes_no_choice() -> None:
    class Scaled(Gain):
        def __call__(self, state: Any) -> float:
            return 8 * super().__call__(state)

    for batch in (1, 3):
        plain, scaled = (
            think(
                AlphaZeroMCTS(GAME, outcome=outcome, root_noise=0.25, virtual_loss_batch=batch),
                START,
                Budget(iterations=100),
                with_priors(lambda states, factor=factor: factor * noise(0)(states), drawn(0)),  # type: ignore[misc]
            )
            for outcome, factor in ((Gain(), 1.0), (Scaled(scale=8.0), 8.0))
        )
        assert plain.visits.tolist() == scaled.visits.tolist()


def test_counts_and_totals_add_up() -> None:
    from hand_mcts import check_sums

    for spec, batch in itertools.product(("tic_tac_toe", "oware"), (1, 4)):
        search = AlphaZeroMCTS(load(spec), virtual_loss_batch=batch, root_noise=0.25)
        tree = search.new_tree()
        result = think(
            search, load(spec).new_initial_state(), Budget(iterations=60), with_priors(noise(0), drawn(2)), tree=tree
        )
        assert result.visits.sum() == 60 * batch
        check_sums(tree)
