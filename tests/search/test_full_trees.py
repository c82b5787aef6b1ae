"""Trees with a maximum size: no search exceeds it, each still finds a move, and pruned states become samples."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyspiel
import pytest
from oracles.evaluators import constant, noise
from priors import drawn, with_priors

from athenan_spiel.encoding import Encoder, ObservationStore
from athenan_spiel.errors import SearchError
from athenan_spiel.evaluators import Evaluation
from athenan_spiel.games.transpositions import Key
from athenan_spiel.learning.targets import PlayoutEndsStore, coefficient, tree_targets
from athenan_spiel.outcomes import Gain
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.self_play import SelfPlayGame, Thinking, self_play
from athenan_spiel.search import (
    MCTS,
    UBFM,
    AlphaBeta,
    AlphaZeroMCTS,
    Budget,
    Descent,
    ExItMCTS,
    GumbelMCTS,
    Search,
    think,
)
from athenan_spiel.search.choice import completed, ordinal, uniform_exploitation
from athenan_spiel.search.drive import answered
from athenan_spiel.search.sizes import bytes_of, node_bytes, sample_trees
from athenan_spiel.search.tree import MAX_ROWS_PER_STATE, PrunedStates, Tree

THREE = "connect_four(rows=4,columns=5,x_in_row=3)"
BREAKTHROUGH = "breakthrough(rows=5,columns=4)"
LONG = Budget(iterations=40)
EVALUATOR = with_priors(noise(1), drawn(2))
DECISION = completed(ordinal(uniform_exploitation))

SEARCHES: dict[str, Callable[..., Search]] = {
    "descent": Descent,
    "descent without completion": lambda *a, **o: Descent(*a, completion=False, **o),
    "descent, bounded": lambda *a, **o: Descent(*a, longest=2, **o),
    "ubfm": UBFM,
    "ubfm without completion": lambda *a, **o: UBFM(*a, completion=False, **o),
    "ubfm with uct": lambda *a, **o: UBFM(*a, exploration_constant=1.4, **o),
    "alphabeta": AlphaBeta,
    "alphabeta without completion": lambda *a, **o: AlphaBeta(*a, completion=False, depth=4, **o),
    "mcts": MCTS,
    "mcts in batches": lambda *a, **o: MCTS(*a, virtual_loss_batch=4, **o),
    "mcts with rollouts": lambda *a, **o: MCTS(*a, rollouts=True, **o),
    "puct": lambda *a, **o: AlphaZeroMCTS(*a, root_noise=0.25, **o),
    "gumbel": lambda *a, **o: GumbelMCTS(*a, root_noise=1.0, **o),
    "exit": ExItMCTS,
}
BY_NAME = pytest.mark.parametrize("name", SEARCHES)


class Bounded:
    """A search whose trees are checked at every request.

    Attributes:
        trees: all trees created.
    """

    def __init__(self, name: str, spec: str, most: int | None) -> None:
        self.most = most
        self.trees: list[Tree] = []
        self.search = SEARCHES[name](spec, most_states=most)
        new_tree = self.search.new_tree

        def kept(store: Any = None) -> Tree:
            self.trees.append(new_tree(store))
            return self.trees[-1]

        self.search.new_tree = kept  # type: ignore[method-assign]

    def check(self) -> None:
        assert all(tree.most == self.most for tree in self.trees)
        if self.most is not None:
            assert all(len(tree.table) <= self.most for tree in self.trees)

    def evaluate(self, states: Sequence[pyspiel.State]) -> Evaluation:
        self.check()
        return EVALUATOR(states)

    def play(self, store: Any = None, seed: int = 0, budget: Budget = LONG) -> SelfPlayGame:
        requests = self_play(self.search.game, Thinking(self.search, budget), DECISION, seed, store)
        match = answered(requests, self.evaluate)
        self.check()
        return match


# No tree passes its bound, and a move is found all the same


@BY_NAME
@pytest.mark.parametrize("most", [1, 2, 7, 30])
@pytest.mark.parametrize("spec", [THREE, BREAKTHROUGH])
def test_matches_are_played_to_their_ends(name: str, most: int, spec: str) -> None:
    bounded = Bounded(name, spec, most)
    match = bounded.play()
    assert match.states[-1].is_terminal(), "every action was legal"
    assert match.tree.curtailed > 0
    assert len(match.tree.pruned.values) == 0, "nothing is learned"


@BY_NAME
def test_a_bound_that_is_not_reached_changes_nothing(name: str) -> None:
    one, other = Bounded(name, THREE, None).play(seed=3), Bounded(name, THREE, 10**6).play(seed=3)
    assert (one.history, one.values, one.evaluations) == (other.history, other.values, other.evaluations)
    assert other.tree.curtailed == 0


@pytest.mark.parametrize("name", ["ubfm", "ubfm without completion", "ubfm with uct", "mcts", "puct", "exit"])
def test_a_search_that_fills_its_tree_is_one_of_as_many_iterations(name: str) -> None:
    """The results are bit-identical: a limit removes iterations, and changes no result of those before it."""
    state = pyspiel.load_game(BREAKTHROUGH).new_initial_state()
    full = think(SEARCHES[name](BREAKTHROUGH, most_states=30), state, Budget(iterations=5000), EVALUATOR)
    assert 0 < full.iterations < 5000
    same = think(SEARCHES[name](BREAKTHROUGH), state, Budget(iterations=full.iterations), EVALUATOR)
    assert full.values.tolist() == same.values.tolist()
    assert full.visits.tolist() == same.visits.tolist()
    assert (full.best_action, full.safest_action, full.value) == (same.best_action, same.safest_action, same.value)


@pytest.mark.parametrize("name", [name for name in SEARCHES if "completion" not in name])
def test_a_win_in_one_move_is_seen_in_a_tree_that_others_have_filled(name: str) -> None:
    """Between two searches all states become unreachable, so the new root has room."""
    search = SEARCHES[name]("tic_tac_toe", most_states=12)
    tree, rng = search.new_tree(), random.Random(0)
    state = search.game.new_initial_state()
    think(search, state, Budget(iterations=500), EVALUATOR, tree=tree, rng=rng)
    assert tree.is_full
    for action in (0, 3, 1, 4):
        state.apply_action(action)
    result = think(search, state, Budget(iterations=500), EVALUATOR, tree=tree, rng=rng)
    assert len(tree.table) <= 12
    assert result.best_action == 2
    assert set(result.actions.tolist()) == {2, 5, 6, 7, 8}


def test_a_search_by_the_clock_ends_when_its_tree_is_full() -> None:
    start = time.perf_counter()
    for name in SEARCHES:
        search = SEARCHES[name](THREE, most_states=20)
        agent = Agent(THREE, search, EVALUATOR, budget=Budget(seconds=600))
        state = search.game.new_initial_state()
        for _ in range(3):
            state.apply_action(agent.step(state))
            assert len(agent.tree.table) <= 20
    assert time.perf_counter() - start < 300


# What is let go


def reachable(tree: Tree, root: Any) -> set[int]:
    found: dict[int, Any] = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        found[id(node)] = node
        waiting += [child for child in node.children.values() if id(child) not in found]
    return set(found)


@pytest.mark.parametrize("name", ["descent", "ubfm", "alphabeta", "mcts", "puct"])
def test_what_can_be_reached_stays(name: str) -> None:
    search = SEARCHES[name](THREE, most_states=60)
    tree, state = search.new_tree(), search.game.new_initial_state()
    root = think(search, state, LONG, EVALUATOR, tree=tree).node
    child = max(root.children.values(), key=lambda node: len(reachable(tree, node)))
    kept = reachable(tree, child)
    assert 1 < len(kept) < len(tree.table)
    keys = {key for key, node in tree.table.items() if id(node) in kept}
    twin = tree.copy()
    tree.prune(child, random.Random(0))
    assert {id(node) for node in tree.table.values()} == kept
    assert tree.table.keys() == keys
    assert twin.table.keys() > keys, "a copy is another tree"
    tree.prune(None, random.Random(0))
    assert not tree.table


def stored_values(tree: Tree) -> dict[int, float]:
    """Returns the training target of each observation of a tree."""
    found = {node.observation: node.value for node in tree.nodes}
    found |= dict(tree.terminals) | {leaf.observation: leaf.value for leaf in tree.leaves.values()}
    return found | dict(zip(tree.pruned.observations, tree.pruned.values, strict=True))


@BY_NAME
@pytest.mark.parametrize("leaves", [False, True])
@pytest.mark.parametrize("spec", [THREE, BREAKTHROUGH])
def test_all_that_was_stored_is_learned_with_its_value(name: str, leaves: bool, spec: str) -> None:
    encoder = Encoder(pyspiel.load_game(spec))
    match = Bounded(name, spec, 25).play(ObservationStore(encoder, leaves=leaves))
    tree, store = match.tree, match.tree.store
    assert isinstance(store, ObservationStore)
    assert len(tree.pruned.values) > 0
    targets = tree_targets(tree, coefficients=True)
    assert len(targets) == len(store)
    values = stored_values(tree)
    assert sorted(values) == list(range(len(store)))
    np.testing.assert_array_equal(targets.labels.values, np.float32([values[i] for i in range(len(store))]))
    weights = targets.labels.weights
    assert weights is not None
    assert weights[np.array(tree.pruned.observations)].tolist() == list(map(coefficient, tree.pruned.updates))
    assert weights.max() > 1 or (leaves and tree.pruned.chance < 1), "of nodes alone, and few are drawn among leaves"
    assert len(store) <= MAX_ROWS_PER_STATE * 25 + len(match.states[0].legal_actions())


def test_of_a_long_match_no_more_is_stored_than_it_may() -> None:
    encoder = Encoder(pyspiel.load_game("breakthrough"))
    bounded = Bounded("descent", "breakthrough", 3)
    match = bounded.play(ObservationStore(encoder), budget=Budget(iterations=5))
    assert len(match.history) > 20
    assert len(tree_targets(match.tree)) <= MAX_ROWS_PER_STATE * 3 + len(match.states[0].legal_actions())


class Keys:
    """A store of states by their keys."""

    def __init__(self, key: Key, keys: Sequence[Any] = (), *, leaves: bool = False) -> None:
        self.key, self.keys, self.leaves = key, list(keys), leaves

    def append(self, state: pyspiel.State) -> int:
        self.keys.append(self.key(state))
        return len(self.keys) - 1

    def __len__(self) -> int:
        return len(self.keys)

    def kept(self, indices: Sequence[int]) -> Keys:
        assert list(indices) == sorted(set(indices))
        return Keys(self.key, [self.keys[i] for i in indices], leaves=self.leaves)


@BY_NAME
@pytest.mark.parametrize("leaves", [False, True])
def test_where_states_are_let_go_again_and_again_each_that_stays_keeps_its_observation(name: str, leaves: bool) -> None:
    search = SEARCHES[name]("breakthrough", most_states=15)
    tree, state, rng = (
        search.new_tree(Keys(search.key, leaves=leaves)),
        search.game.new_initial_state(),
        random.Random(2),
    )
    while not state.is_terminal():
        think(search, state, Budget(iterations=50), EVALUATOR, tree=tree, rng=rng)
        store = tree.store
        assert isinstance(store, Keys)
        assert all(store.keys[node.observation] == key for key, node in tree.table.items())
        assert all(store.keys[leaf.observation] == key for key, leaf in tree.leaves.items())
        assert sorted(stored_values(tree)) == list(range(len(store)))
        state.apply_action(rng.choice(state.legal_actions()))
    assert tree.pruned.chance < 1


def test_what_is_let_go_is_kept_with_the_same_chance_whenever_that_was() -> None:
    past, rng = PrunedStates(), random.Random(3)
    for first in range(0, 100_000, 1000):
        past.add(((i, i / 7, 2 * i) for i in range(first, first + 1000)), rng)
        past.thin_out(3000, rng)
    kept = np.array(past.observations)
    assert 1000 < len(kept) <= 3000
    assert past.chance == 1 / 64
    np.testing.assert_array_equal(np.array(past.values), kept / 7)
    np.testing.assert_array_equal(np.array(past.updates), 2 * kept)
    counts = np.histogram(kept, bins=4, range=(0, 100_000))[0]
    assert abs(counts - 25_000 / 64).max() < 100
    past.add([(-1, 0.0, 0)] * 1000, rng)
    assert len(past.values) == len(kept), "nothing can be learned without an observation"


@pytest.mark.parametrize("name", ["descent", "ubfm"])
def test_all_moves_of_a_long_match_are_searched_though_its_trees_are_full(name: str) -> None:
    search = SEARCHES[name]("breakthrough", most_states=100)
    tree, state = search.new_tree(ObservationStore(Encoder(search.game))), search.game.new_initial_state()
    for _ in range(30):
        result = think(search, state, Budget(iterations=300), EVALUATOR, tree=tree)
        assert result.evaluations > 100
        state.apply_action(result.best_action if not result.is_resolved else result.safest_action)
        if state.is_terminal() or result.is_resolved:
            break
    assert tree.curtailed > 3


def test_ends_of_playouts_are_learned_all_the_same() -> None:
    game = pyspiel.load_game(THREE)
    store = PlayoutEndsStore(Encoder(game), Gain(), 5)
    match = Bounded("descent", THREE, 25).play(store)
    assert len(match.tree.pruned.values) > 0
    assert len(tree_targets(match.tree)) == len(store) + len(store.terminal_values)


def test_ends_of_playouts_go_with_their_states() -> None:
    game = pyspiel.load_game("breakthrough")
    store = PlayoutEndsStore(Encoder(game), Gain(), 5)
    match = Bounded("descent", "breakthrough", 10).play(store)
    kept = match.tree.store
    assert isinstance(kept, PlayoutEndsStore)
    assert match.tree.pruned.chance < 1
    assert len(kept) <= MAX_ROWS_PER_STATE * 10 + 30
    assert 0.25 * len(kept) < len(kept.terminal_values) == len(kept.ends) < 0.75 * len(kept)
    assert len(tree_targets(match.tree)) == len(kept) + len(kept.terminal_values)
    few = kept.kept([1, 4, 5]).kept([0, 2])
    rows = [row.tobytes() for pack in kept.chunks() for row in pack.unpack()]
    assert [row.tobytes() for pack in few.chunks() for row in pack.unpack()] == [rows[1], rows[5]]
    assert len(few.terminal_values) == len(few.ends) <= 2


def test_a_copy_grows_on_its_own() -> None:
    search = UBFM(THREE, most_states=30)
    tree, state = search.new_tree(ObservationStore(Encoder(search.game))), search.game.new_initial_state()
    think(search, state, LONG, EVALUATOR, tree=tree)
    twin = tree.copy()
    assert twin.most == 30
    state.apply_action(0)
    think(search, state, LONG, EVALUATOR, tree=tree)
    assert len(tree.pruned.values) > len(twin.pruned.values) == 0


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "5", True, 10**10])
def test_a_bound_is_a_number_of_states(wrong: Any) -> None:
    with pytest.raises(SearchError, match="the states of a tree"):
        MCTS("tic_tac_toe", most_states=wrong)


# What a state takes


def test_what_is_held_counts_once() -> None:
    shared = [1.5] * 1000
    assert sys.getsizeof(shared) < bytes_of([shared, shared]) < sys.getsizeof(shared) + 200
    assert bytes_of({"a": bytes(5000)}) > 5000


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        pytest.param("descent", "hex(board_size=7)", marks=pytest.mark.slow("many children: seventeen seconds")),
        ("mcts", "connect_four"),
        ("puct", "breakthrough"),
    ],
)
def test_the_bytes_of_a_node_are_about_those_of_a_large_tree(name: str, spec: str) -> None:
    search = SEARCHES[name](spec)
    measured = node_bytes(sample_trees(search, priors=True))
    assert measured == node_bytes(sample_trees(search, priors=True)), "it is always the same"
    tree = search.new_tree()
    think(search, search.game.new_initial_state(), Budget(iterations=600), EVALUATOR, tree=tree)
    large = bytes_of(tree.table) / len(tree.table)
    assert 0.8 * large < measured < 3 * large


GROWING = """
import random, sys
from athenan_spiel.evaluators import Evaluation
from athenan_spiel.games.transpositions import Key
from athenan_spiel.search import Budget, think, make_search
from athenan_spiel.search.sizes import node_bytes, sample_trees
from athenan_spiel.config import SEARCH_CONFIGS
from athenan_spiel.games import load_game
from athenan_spiel.outcomes import Gain
from athenan_spiel.solving.solver import resident_megabytes
game = load_game(sys.argv[2])
search = make_search(game, SEARCH_CONFIGS[sys.argv[1]](), Gain())
each = node_bytes(sample_trees(search, priors=False))
rng = random.Random(0)
def evaluate(states):
    return Evaluation([rng.uniform(-1, 1) for _ in states])
tree, state = search.new_tree(), game.new_initial_state()
tree.most = 150_000_000 // each
before = resident_megabytes()
think(search, state, Budget(iterations=10**7), evaluate, tree=tree)
print(len(tree.table), tree.most, (resident_megabytes() - before) * 1e6 / len(tree.table) / each)
"""


@pytest.mark.slow(reason="grows trees of 150 MB in processes of their own")
@pytest.mark.parametrize(
    ("algorithm", "spec"),
    [("ubfm", "hex(board_size=11)"), ("descent", "connect_four"), ("descent", "breakthrough"), ("mcts", "othello")],
)
def test_a_process_grows_by_no_more_than_is_reckoned(algorithm: str, spec: str) -> None:
    words = [sys.executable, "-c", GROWING, algorithm, spec]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert int(said[0]) == int(said[1]), "the tree is full"
    assert 0.3 < float(said[2]) < 1.0


def test_a_search_that_knows_all_is_not_curtailed() -> None:
    """A state that is proven ends the search as ever, in a tree that is full as well."""
    search = UBFM("tic_tac_toe", most_states=5)
    tree, state = search.new_tree(), search.game.new_initial_state()
    for action in (0, 3, 1, 4):
        state.apply_action(action)
    result = think(search, state, LONG, constant(0.0), tree=tree)
    assert (result.is_resolved, result.best_action, tree.curtailed) == (True, 2, 0)
