"""Algorithms 1 and 9 as printed: nothing is proven, values alone travel, and what they settle on may be wrong.

What holds of them on a game that is small enough:

- a root's value settles, on the worth of a terminal state at the end of the best line;
- it is then the minimax value of the partial game tree, whose leaves the evaluator has valued;
- where there are no draws, and the evaluator stays strictly between a loss and a win, it is the game's value: what is
  worth 1 is won for certain, and whatever is not lost for certain is looked at before it is given up (Remark 18);
- with draws it may be another one: a mover content with a draw never looks at a win that the evaluator calls worse
  (Section 5.2). Completion finds it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pyspiel
import pytest
from numpy.typing import NDArray
from oracles.brute_force import BruteForce, load, same_history
from oracles.evaluators import Evaluator, lie, noise, truth

from athenan_spiel.search import UBFM, Budget, Descent, Search, SearchResult, think
from athenan_spiel.search.node import Node
from athenan_spiel.search.tree import Tree

SEARCHES = [Descent, UBFM]
WITHOUT_DRAWS = [
    "nim(pile_sizes=1;2;3,is_misere=true)",
    "hex(board_size=3)",
    "clobber(rows=3,columns=3)",
    "breakthrough(rows=4,columns=2)",
    "dots_and_boxes(num_rows=1,num_cols=1)",
]
LONG, SETTLED = 3_000, 300
"""Iterations after which nothing new is asked in the games here, and over which that is looked at."""


def settle(
    kind: type[Search], state: pyspiel.State, evaluator: Evaluator, *, seed: int = 0, merged: bool = True
) -> tuple[SearchResult, Tree]:
    """Search without completion until nothing new is asked any more."""
    search = kind(state.get_game(), completion=False, key=None if merged else same_history)
    tree, rng = search.new_tree(), random.Random(seed)
    result = think(search, state, Budget(iterations=LONG), evaluator, tree=tree, rng=rng)
    for _ in range(20):
        value = result.value
        result = think(search, state, Budget(iterations=SETTLED), evaluator, tree=tree, rng=rng)
        if result.evaluations == 0 and result.value == value:
            return result, tree
    raise AssertionError("the value does not settle")


def partial_minimax(tree: Tree, state: pyspiel.State, evaluator: Evaluator) -> float:
    """Minimax over the expanded states, where the others are worth what they say."""
    if state.is_terminal():
        return float(state.player_return(0))
    node = tree.table.get(tree.key(state))
    if node is None:
        return float(evaluator([state])[0])
    values = [partial_minimax(tree, state.child(action), evaluator) for action in node.actions]
    return max(values) if state.current_player() == 0 else min(values)


def nothing_is_proven(node: Node) -> bool:
    return not (node.resolved or node.completion or any(node.completions) or any(node.resolutions))


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("spec", ["tic_tac_toe", *WITHOUT_DRAWS])
def test_nothing_is_proven(spec: str, kind: type[Search]) -> None:
    search = kind(load(spec), completion=False)
    tree = search.new_tree()
    result = think(search, load(spec).new_initial_state(), Budget(iterations=200), noise(0), tree=tree)
    assert result.iterations == 200
    assert all(nothing_is_proven(node) for node in tree.nodes)
    assert not result.is_resolved
    assert not result.resolved.any()


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("spec", WITHOUT_DRAWS)
def test_without_draws_the_value_settles_on_the_games(spec: str, kind: type[Search]) -> None:
    state, oracle = load(spec).new_initial_state(), BruteForce()
    for seed in range(3):
        result, _ = settle(kind, state, noise(seed), seed=seed)
        assert result.value == oracle.value(state)
        assert oracle.value(state.child(result.best_action)) == result.value


@pytest.mark.parametrize("kind", SEARCHES)
def test_an_evaluator_surer_than_the_rules_is_believed(kind: type[Search]) -> None:
    """Why "between": an action that is called worse than a loss is never looked at, be it won."""
    state, oracle = load("hex(board_size=3)").new_initial_state(), BruteForce()

    def overdone_lie(states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        return 2.0 * lie(oracle)(states)

    openings = [state.child(action) for action in state.legal_actions()]
    assert any(settle(kind, opening, overdone_lie)[0].value != oracle.value(opening) for opening in openings)


@pytest.mark.parametrize("kind", SEARCHES)
def test_with_draws_it_may_settle_on_a_wrong_value_and_completion_does_not(kind: type[Search]) -> None:
    state = load("tic_tac_toe").new_initial_state()
    for action in (4, 1):
        state.apply_action(action)
    oracle = BruteForce()
    assert oracle.value(state) == 1
    settled = []
    for seed in range(8):
        settled.append(settle(kind, state, noise(seed), seed=seed)[0].value)
        completed = think(kind(state.get_game()), state, Budget(iterations=100_000), noise(seed))
        assert completed.is_resolved
        assert completed.value == completed.completion == 1
    assert any(value != 1 for value in settled)


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("evaluator", [noise(0), noise(1), noise(2)])
@pytest.mark.parametrize("opening", [(0, 4, 8), (4, 1), (0, 1, 2, 4)])
def test_what_it_settles_on(opening: tuple[int, ...], evaluator: Evaluator, kind: type[Search]) -> None:
    """Without transpositions: the worth of the end of the best line, and the minimax value of the partial tree."""
    state = load("tic_tac_toe").new_initial_state()
    for action in opening:
        state.apply_action(action)
    result, tree = settle(kind, state, evaluator, merged=False)
    assert result.value == partial_minimax(tree, state, evaluator)
    for action in result.principal_variation:
        state.apply_action(action)
    assert state.is_terminal()
    assert state.player_return(0) == result.value


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("spec", ["tic_tac_toe", "hex(board_size=3)", "dots_and_boxes(num_rows=1,num_cols=2)"])
def test_a_perfect_evaluator_makes_every_value_perfect(spec: str, kind: type[Search]) -> None:
    state, oracle = load(spec).new_initial_state(), BruteForce()
    search = kind(load(spec), completion=False)
    tree = search.new_tree()
    for _ in range(10):
        result = think(search, state, Budget(iterations=5), truth(oracle), tree=tree)
        assert result.value == oracle.value(state)
        assert dict(zip(result.actions.tolist(), result.values.tolist(), strict=True)) == oracle.action_values(state)
