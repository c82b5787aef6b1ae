"""MCTS by hand calculations: selection, requests and means. Test names quote the laws of `search.mcts`."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter

import pyspiel
import pytest
from fake_game import FakeGame, FakeState, Recorder, first, score, second
from hand_mcts import check_sums, counts_after, mcts
from oracles.brute_force import load, same_history, solver, who_won
from oracles.evaluators import noise, truth

from athenan_spiel.encoding import Encoder
from athenan_spiel.encoding.compact import ObservationStore
from athenan_spiel.errors import LearningError, SearchError
from athenan_spiel.outcomes import Gain
from athenan_spiel.outcomes.infinite import InfiniteTerminal
from athenan_spiel.search import MCTS, UBFM, Budget, Descent, SearchResult, think
from athenan_spiel.search.choice import best, greedy, safest
from athenan_spiel.search.mcts_tree import MCTSNode
from athenan_spiel.search.tree import Tree
from athenan_spiel.search.uct import UCT

# UCT


def test_visit_counts_of_a_hand_calculation() -> None:
    """With Q(A) = 1, Q(B) = 0 and c = 1, B is selected again only once 1 + sqrt(ln N / n(A)) < sqrt(ln N).

    With n(A) = 8, N = 10 that is 1.537 < 1.517, which is false; with n(A) = 9, N = 11 it is 1.516 < 1.549. N counts the
    simulation that valued the root.
    """
    game = FakeGame(first(0.3, A=1, B=0))
    for seed in range(4):
        counts = counts_after(mcts(game, exploration_constant=1.0), game.new_initial_state(), 11, seed)
        assert counts[1] == [1, 1]
        assert counts[9] == [9, 1]
        assert counts[10] == [9, 2]


def test_the_exploration_constant_is_the_articles() -> None:
    """c = 0.4: B is tried again as soon as 0.2 < 0.4 (sqrt(ln N) - sqrt(ln N / n(A))), first for n(A) = 3, N = 5.

    sqrt(ln 5) = 1.2686, sqrt(ln 5 / 3) = 0.7324: the difference is 0.536 > 0.5. For n(A) = 2, N = 4 it is 0.345.
    """
    game = FakeGame(first(0.3, A=0.2, B=0.0))
    search = mcts(game)
    assert search.selection == UCT(0.4)
    counts = counts_after(search, game.new_initial_state(), 5)
    assert counts[3:] == [[3, 1], [3, 2]]


def test_the_second_player_minimises() -> None:
    game = FakeGame(second(0.3, A=-1, B=0))
    assert counts_after(mcts(game, exploration_constant=1.0), game.new_initial_state(), 11)[9:] == [[9, 1], [9, 2]]


def test_zero_exploration_follows_the_best_mean() -> None:
    game = FakeGame(first(0.3, A=1, B=0.999))
    assert counts_after(mcts(game, exploration_constant=0.0), game.new_initial_state(), 60)[-1] == [59, 1]


def test_each_untried_action_comes_first_and_in_random_order() -> None:
    game = FakeGame(first(0.0, A=1, B=-1, C=0))
    orders = set()
    for seed in range(60):
        counts = counts_after(mcts(game, exploration_constant=0.0), game.new_initial_state(), 3, seed)
        assert counts[2] == [1, 1, 1]
        orders.add(tuple(map(tuple, counts[:2])))
    assert len(orders) == 6


class Scaled:
    """Returns the gain times 8."""

    scale = 8.0

    def __call__(self, state: pyspiel.State) -> float:
        return 8 * who_won(state)


def test_the_outcomes_scale_changes_no_choice() -> None:
    """8 is a power of two, so even the last bits agree."""
    game = load("tic_tac_toe")
    state = game.new_initial_state()
    for constant, fpu in itertools.product((0.0, 0.4, 2.0), (False, True)):
        options = {"exploration_constant": constant, "first_play_urgency": fpu}
        plain = think(MCTS(game, **options), state, Budget(iterations=200), noise(0))  # type: ignore[arg-type]
        scaled = think(
            MCTS(game, outcome=Scaled(), **options),  # type: ignore[arg-type]
            state,
            Budget(iterations=200),
            lambda states: 8 * noise(0)(states),
        )
        assert plain.visits.tolist() == scaled.visits.tolist()
        assert (8 * plain.values).tolist() == scaled.values.tolist()
        assert 8 * plain.value == scaled.value


# Leaves


GAME = FakeGame(
    first(
        0.1,
        A=second(0.5, C=first(0.9, I=1), D=first(-0.3, J=-1)),
        B=second(0.25, E=first(0.2, K=0), F=first(0.6, L=1)),
    )
)


def test_a_simulation_values_one_leaf_and_a_state_enters_on_the_second_visit() -> None:
    recorder = Recorder()
    search = mcts(GAME, exploration_constant=0.0)
    tree = search.new_tree()
    sizes = []
    for _ in range(3):
        result = think(search, GAME.new_initial_state(), Budget(iterations=1), recorder, tree=tree)
        sizes.append(len(tree.table))
    assert recorder.asked[0] == "root"
    assert set(recorder.asked[1:3]) == {"A", "B"}
    assert recorder.asked[3] in ("C", "D")
    assert sizes == [1, 1, 2]
    node = tree.table["A"]
    assert isinstance(node, MCTSNode)
    last = {"C": 0.9, "D": -0.3}[recorder.asked[3]]
    assert (node.own, node.simulations) == (0.5, 2)
    assert node.value == pytest.approx((0.5 + last) / 2)
    assert result.values.tolist() == pytest.approx([(0.5 + last) / 2, 0.25])
    assert result.value == pytest.approx((0.1 + 0.5 + last + 0.25) / 4)


def test_means_are_not_minimax() -> None:
    """UBFM and Descent give A the value of one of the states below it; a mean is not one."""
    worths = {0.5, 0.9, 1, -0.3, -1}
    values = {}
    for name, search in {
        "mcts": mcts(GAME, exploration_constant=0.0),
        "ubfm": UBFM(GAME, outcome=score, key=str, completion=False),
        "descent": Descent(GAME, outcome=score, key=str, completion=False),
    }.items():
        values[name] = think(search, GAME.new_initial_state(), Budget(iterations=5), Recorder()).values.tolist()
    assert {name for name in values if values[name][0] in worths} == {"ubfm", "descent"}


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("spec", ["tic_tac_toe", "hex(board_size=4)", "dots_and_boxes(num_rows=1,num_cols=2)", "oware"])
def test_counts_and_totals_add_up(spec: str, batch: int) -> None:
    for fpu, rollouts in itertools.product((False, True), (False, True)):
        search = MCTS(load(spec), virtual_loss_batch=batch, first_play_urgency=fpu, rollouts=rollouts)
        tree = search.new_tree()
        result = think(search, load(spec).new_initial_state(), Budget(iterations=60), noise(0), tree=tree)
        assert result.visits.sum() == 60 * batch
        assert (result.evaluations == 0) == rollouts
        check_sums(tree)


def test_without_transpositions_an_actions_totals_are_those_of_its_state() -> None:
    search = MCTS(load("tic_tac_toe"), key=same_history)
    tree = search.new_tree()
    think(search, load("tic_tac_toe").new_initial_state(), Budget(iterations=300), noise(0), tree=tree)
    met = 0
    for node in tree.table.values():
        for i, child in node.children.items():
            assert isinstance(child, MCTSNode)
            assert child.simulations == node.count(i)
            assert child.value == pytest.approx(node.values[i])
            met += 1
    assert met > 50


def test_a_state_reached_otherwise_shares_its_node_and_not_its_edge() -> None:
    spec = "tic_tac_toe"
    search = MCTS(load(spec))
    tree = search.new_tree()
    think(search, load(spec).new_initial_state(), Budget(iterations=1500), noise(0), tree=tree)
    edges = Counter(id(child) for node in tree.table.values() for child in node.children.values())
    shared = [node for node in tree.table.values() if edges[id(node)] > 1]
    assert len(shared) > 20
    for node in shared:
        passed = sum(
            parent.count(i) for parent in tree.table.values() for i, child in parent.children.items() if child is node
        )
        assert passed >= node.simulations - 1  # type: ignore[attr-defined]


def test_untried_actions_are_never_preferred() -> None:
    game = load("connect_four")
    for seed, iterations in itertools.product(range(10), (1, 2, 5)):
        result = think(
            MCTS(game), game.new_initial_state(), Budget(iterations=iterations), noise(seed), rng=random.Random(seed)
        )
        tried = result.visits > 0
        assert tried.sum() == iterations
        assert set(result.values[~tried]) == {result.values[tried].min()}
        for decision in (best, safest):
            assert tried[decision(result.node, random.Random(seed))]
        if iterations > 1:
            assert tried[greedy(result.node, range(7), random.Random(seed))]


# Rollouts


def test_rollouts_ask_nothing_and_find_the_mean_of_random_play() -> None:
    """From A half of the matches are won, from B a quarter: 0 and -1/2 at the leaf, whatever an evaluator says."""
    game = FakeGame(
        first(
            0.9,
            A=second(-0.9, C=first(0.9, I=1, J=-1), D=first(0.9, K=1, L=-1)),
            B=second(0.9, E=first(0.9, M=-1, N=-1), F=first(0.9, O=1, P=-1)),
        )
    )
    recorder = Recorder()
    leaf_values: dict[str, list[float]] = {"A": [], "B": []}
    for seed in range(400):
        search = mcts(game, rollouts=True)
        result = think(search, game.new_initial_state(), Budget(iterations=2), recorder, rng=random.Random(seed))
        for name, value in zip("AB", result.values.tolist(), strict=True):
            leaf_values[name].append(value)
    assert recorder.asked == []
    assert abs(sum(leaf_values["A"]) / 400) < 0.2
    assert abs(sum(leaf_values["B"]) / 400 + 0.5) < 0.2
    assert set(leaf_values["A"]) == {-1, 1}


@pytest.mark.parametrize(
    "budget", [Budget(seconds=0.05), Budget(iterations=50), Budget(evaluations=50)], ids=["time", "iterations", "asked"]
)
def test_every_budget_ends_a_search_that_asks_nothing(budget: Budget) -> None:
    game = load("connect_four")
    result = think(MCTS(game, rollouts=True), game.new_initial_state(), budget, noise(0))
    assert result.evaluations == 0
    assert result.visits.sum() == result.iterations
    assert result.iterations == 50 or budget.seconds is not None


@pytest.mark.parametrize("search", [MCTS, UBFM, Descent])
def test_a_budget_of_evaluations_ends_where_every_line_has(search: type[MCTS] | type[UBFM] | type[Descent]) -> None:
    """Without completion the only simulation left, of one action that ends the game, never makes a request."""
    game = FakeGame(first(0.5, A=1, B=0))
    options = {} if search is MCTS else {"completion": False}
    made = search(game, outcome=score, key=str, **options)  # type: ignore[arg-type]
    assert think(made, game.new_initial_state(), Budget(evaluations=9), Recorder()).iterations in (9, 10)


# Strength


@pytest.mark.parametrize("decision", [best, safest])
@pytest.mark.parametrize("options", [{}, {"virtual_loss_batch": 3}, {"first_play_urgency": True}], ids=str)
@pytest.mark.parametrize("spec", ["tic_tac_toe", "hex(board_size=3)", "nim(pile_sizes=1;2;3)"])
def test_with_a_perfect_evaluator_and_no_exploration_it_plays_perfectly(
    spec: str, options: dict[str, int], decision: object
) -> None:
    """From openings of either worth, against every reply that a random opponent finds."""
    game, oracle = load(spec), solver()
    search = MCTS(game, exploration_constant=0.0, **options)  # type: ignore[arg-type]
    for seed in range(6):
        rng = random.Random(seed)
        state, tree, player = game.new_initial_state(), search.new_tree(), seed % 2
        while not state.is_terminal():
            if state.current_player() == player:
                value = oracle.value(state)
                result = think(search, state, Budget(iterations=40), truth(oracle), tree=tree, rng=rng)
                state.apply_action(int(result.actions[decision(result.node, rng)]))  # type: ignore[operator]
                assert oracle.value(state) == value
            else:
                state.apply_action(rng.choice(state.legal_actions()))


def test_nothing_is_proven() -> None:
    game = load("nim(pile_sizes=1;2)")
    result = think(MCTS(game), game.new_initial_state(), Budget(iterations=500), noise(0))
    assert not result.is_resolved
    assert not result.resolved.any()
    assert not result.completions.any()


def everything(result: SearchResult, tree: Tree) -> object:
    return result.best_action, [(key, node.values, node.visits, node.value) for key, node in tree.table.items()]


@pytest.mark.parametrize("options", [{}, {"virtual_loss_batch": 4}, {"rollouts": True}], ids=str)
def test_it_is_repeated_exactly_and_a_copied_tree_goes_on_as_the_first(options: dict[str, int]) -> None:
    game = load("tic_tac_toe")
    state = game.new_initial_state()
    runs = []
    for copied in (False, True):
        search, rng = MCTS(game, **options), random.Random(5)  # type: ignore[arg-type]
        tree = search.new_tree()
        think(search, state, Budget(iterations=30), noise(0), tree=tree, rng=rng)
        if copied:
            original, tree = tree, tree.copy()
            think(search, state, Budget(iterations=50), noise(1), tree=original)
        result = think(search, state, Budget(iterations=30), noise(0), tree=tree, rng=rng)
        runs.append(everything(result, tree))
    assert runs[0] == runs[1]


# What is learned


@pytest.mark.parametrize("leaves", [False, True])
def test_each_state_of_the_tree_is_stored_once(leaves: bool) -> None:
    game = load("tic_tac_toe")
    store = ObservationStore(Encoder(game), leaves=leaves)
    search = MCTS(game)
    tree = search.new_tree(store)
    think(search, game.new_initial_state(), Budget(iterations=800), noise(0), tree=tree)
    indices = [node.observation for node in tree.nodes] + [index for index, _ in tree.terminals]
    indices += [leaf.observation for leaf in tree.leaves.values()]
    assert sorted(indices) == list(range(len(store)))
    assert tree.terminals
    assert bool(tree.leaves) == leaves
    assert not set(tree.leaves) & set(tree.table)


@pytest.mark.parametrize("kind", [UBFM, Descent])
def test_infinite_worth_is_not_learned(kind: type[UBFM] | type[Descent]) -> None:
    game = load("tic_tac_toe")
    search = kind(game, outcome=InfiniteTerminal(), completion=False)
    with pytest.raises(
        LearningError, match=r"outcome with finite values to learn, got InfiniteTerminal\(.*use it only to play"
    ):
        search.new_tree(ObservationStore(Encoder(game)))


def test_infinite_worth() -> None:
    ends = {"x wins": "0 3 1 4 2", "o wins": "0 3 1 4 8 5", "draw": "0 1 2 4 3 5 7 6 8"}
    worths = {}
    for name, moves in ends.items():
        state = load("tic_tac_toe").new_initial_state()
        for move in moves.split():
            state.apply_action(int(move))
        worths[name] = InfiniteTerminal()(state)
    assert worths == {"x wins": math.inf, "o wins": -math.inf, "draw": 0.0}
    assert InfiniteTerminal(drawn=lambda state: 0.25)(state) == 0.25


# Refusals


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"exploration_constant": -0.1}, "exploration constant of MCTS must be at least 0, got -0.1"),
        ({"exploration_constant": math.inf}, "at most 1,000,000, got inf"),
        ({"exploration_constant": math.nan}, "at least 0, got nan"),
        ({"virtual_loss_batch": 0}, "batch of MCTS must be at least 1, got 0"),
        (
            {"outcome": InfiniteTerminal(drawn=Gain())},
            "MCTS averages values, so its outcome must be finite, got Infinite",
        ),
    ],
)
def test_refusals(options: dict[str, object], message: str) -> None:
    with pytest.raises(SearchError, match=message):
        MCTS(load("tic_tac_toe"), **options)  # type: ignore[arg-type]


def test_a_fake_state_is_all_it_needs() -> None:
    state = GAME.new_initial_state()
    assert isinstance(state, FakeState)
    think(mcts(GAME), state, Budget(iterations=30), Recorder())
    assert state.history() == []
