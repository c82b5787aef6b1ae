"""The laws of `search.node` hold for the tree of every search, and one of two players moves in each node."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pyspiel
import pytest
from drivers import answered
from fake_game import FakeGame, Place, first, score
from oracles.brute_force import BruteForce, load
from oracles.evaluators import constant, noise
from oracles.proofs import check_proofs, nodes_below

from athenan_spiel.encoding import Encoder
from athenan_spiel.encoding.compact import ObservationStore
from athenan_spiel.errors import SearchError
from athenan_spiel.search import MCTS, UBFM, AlphaBeta, Budget, Descent, Search, think
from athenan_spiel.search.node import NodeKind, kind_of
from athenan_spiel.search.proven_states import ResolvedStates
from athenan_spiel.search.tree import Tree

SEARCHES: dict[str, Callable[..., Search]] = {
    "Descent": Descent,
    "Descent, bounded": partial(Descent, longest=2),
    "Descent without completion": partial(Descent, completion=False),
    "UBFM": UBFM,
    "UBFM without completion": partial(UBFM, completion=False),
    "alpha-beta": AlphaBeta,
    "alpha-beta without completion": partial(AlphaBeta, completion=False),
    "MCTS": MCTS,
    "MCTS, in batches": partial(MCTS, first_play_urgency=True, virtual_loss_batch=5),
    "MCTS, by playouts": partial(MCTS, rollouts=True),
}
SPECS = ["tic_tac_toe", "dots_and_boxes(num_rows=1,num_cols=2)", "clobber(rows=3,columns=3)", "nim(pile_sizes=1;2;3)"]
EVERY = pytest.mark.parametrize("make", SEARCHES.values(), ids=SEARCHES)
EVERYWHERE = pytest.mark.parametrize("spec", SPECS)


def grown(make: Callable[..., Search], spec: str, *, leaves: bool | None = None) -> tuple[Search, Tree, pyspiel.State]:
    """A search with the tree that it has grown over the first moves of a match, and the initial state."""
    game = load(spec)
    search = make(game)
    tree = search.new_tree(None if leaves is None else ObservationStore(Encoder(game), leaves=leaves))
    state, rng = game.new_initial_state(), random.Random(1)
    for _ in range(3):
        action = think(search, state, Budget(iterations=25), noise(0), tree=tree, rng=rng).best_action
        state.apply_action(action)
        if state.is_terminal():
            break
    return search, tree, game.new_initial_state()


def contents(tree: Tree) -> list[Any]:
    return [
        (key, node.values[:], node.visits.copy(), node.value, node.completion, node.resolved)
        for key, node in tree.table.items()
    ]


@EVERYWHERE
@EVERY
def test_proofs_are_those_of_the_resolved_nodes_and_true(make: Callable[..., Search], spec: str) -> None:
    _, tree, start = grown(make, spec)
    proofs = list(tree.proofs())
    resolved = [(key, (node.completion, node.value)) for key, node in tree.table.items() if node.resolved]
    assert [(key, pair) for key, _, pair in proofs] == resolved
    plies = {tree.key(state): state.move_number() for _, state in nodes_below(tree, start)}
    assert {key: ply for key, ply, _ in proofs} == {key: plies[key] for key, _ in resolved}
    check_proofs(tree, start, BruteForce().value)
    ResolvedStates().add(proofs)


def test_some_of_these_trees_have_proofs() -> None:
    counts = {name: sum(len([*grown(make, spec)[1].proofs()]) for spec in SPECS) for name, make in SEARCHES.items()}
    proving = {name for name in SEARCHES if "without" not in name and "MCTS" not in name}
    assert {name for name, count in counts.items() if count} == proving


@EVERYWHERE
@EVERY
def test_a_copy_is_the_same_and_grows_on_its_own(make: Callable[..., Search], spec: str) -> None:
    search, tree, start = grown(make, spec)
    twin, before = tree.copy(), contents(tree)
    assert type(twin) is type(tree)
    assert contents(twin) == before
    assert list(twin.proofs()) == list(tree.proofs())
    assert not {id(node) for node in twin.nodes} & {id(node) for node in tree.nodes}
    budget = Budget(iterations=20)
    of_twin = think(search, start, budget, noise(0), tree=twin, rng=random.Random(2))
    assert contents(tree) == before
    of_tree = think(search, start, budget, noise(0), tree=tree, rng=random.Random(2))
    assert contents(tree) == contents(twin)
    assert of_tree.values.tolist() == of_twin.values.tolist()
    assert list(twin.proofs()) == list(tree.proofs())


@EVERYWHERE
@EVERY
def test_every_node_has_the_kind_and_the_actions_of_its_state(make: Callable[..., Search], spec: str) -> None:
    _, tree, start = grown(make, spec)
    reached = list(nodes_below(tree, start))
    assert len(reached) == len(tree.nodes) > 1
    for node, state in reached:
        assert node.kind is kind_of(state)
        assert list(node.actions) == state.legal_actions()


@pytest.mark.parametrize("leaves", [False, True])
@EVERYWHERE
@EVERY
def test_every_state_that_is_learned_has_one_observation(make: Callable[..., Search], spec: str, leaves: bool) -> None:
    _, tree, _ = grown(make, spec, leaves=leaves)
    stored = [node.observation for node in tree.nodes] + [index for index, _ in tree.terminals]
    stored += [leaf.observation for leaf in tree.leaves.values()]
    assert sorted(stored) == list(range(len(stored)))
    assert not tree.leaves.keys() & tree.table.keys()
    assert bool(tree.leaves) <= leaves


# Who moves


def nobody(mover: int) -> Place:
    return Place(mover, 0.5, {"X": 1.0, "Y": -1.0})


@pytest.mark.parametrize(
    ("mover", "who"),
    [(-1, "chance moves"), (-2, "all players move at once"), (-5, "the mover is -5"), (2, "the mover is 2")],
)
@pytest.mark.parametrize("search", ["Descent", "UBFM", "alpha-beta", "MCTS", "MCTS, in batches"])
def test_a_state_of_another_mover_is_refused_wherever_it_is_met(search: str, mover: int, who: str) -> None:
    game: Any = FakeGame(first(0.0, A=nobody(mover), B=-1.0))
    with pytest.raises(SearchError, match=f"^expected a state in which one player is to move, got one where {who}$"):
        think(
            SEARCHES[search](game, outcome=score, key=str),
            game.new_initial_state(),
            Budget(iterations=30),
            constant(0.5),
        )


@pytest.mark.parametrize("search", ["Descent", "UBFM", "alpha-beta", "MCTS"])
def test_a_root_of_another_mover_is_refused_by_the_iteration_itself(search: str) -> None:
    game: Any = FakeGame(nobody(-1))
    grower = SEARCHES[search](game, outcome=score, key=str)
    with pytest.raises(SearchError, match="one player is to move, got one where chance moves"):
        answered(grower.iteration(grower.new_tree(), game.new_initial_state(), random.Random(0)), constant(0.0))


def test_the_end_of_a_match_has_no_kind() -> None:
    state = load("nim(pile_sizes=1;1)").new_initial_state()
    assert kind_of(state) is NodeKind.MAXIMISER
    state.apply_action(state.legal_actions()[0])
    assert kind_of(state) is NodeKind.MINIMISER
    state.apply_action(state.legal_actions()[0])
    with pytest.raises(SearchError, match="expected a state with an action to choose, got a terminal one"):
        kind_of(state)
