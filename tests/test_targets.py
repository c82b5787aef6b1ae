"""What is learned of a match: Algorithm 3's states, with the values that the tree holds."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel
import pytest
from numpy.typing import NDArray

from athenan_spiel.encoding.compact import ObservationStore
from athenan_spiel.errors import LearningError
from athenan_spiel.learning.targets import tree_targets
from athenan_spiel.tree import Node, Tree


class TensorEncoder:
    """Stands for an `Encoder`: OpenSpiel's observation of player 0, and whether player 1 is to move."""

    size = 28

    def encode_into(self, state: pyspiel.State, row: NDArray[np.float32]) -> None:
        row[:-1] = state.observation_tensor(0)
        row[-1] = state.current_player() == 1


def worth(state: pyspiel.State) -> float:
    return 10.0 * float(state.returns()[0])


def expand(tree: Tree, state: pyspiel.State, rng: random.Random) -> Node:
    """Add `state` to the tree; its non-terminal children have random values."""
    actions = state.legal_actions()
    children = [state.child(action) for action in actions]
    estimates = [rng.uniform(-1, 1) for child in children if not child.is_terminal()]
    return tree.add(str(state), state, actions, children, estimates)


def random_match(store: Any, seed: int) -> tuple[Tree, dict[str, pyspiel.State]]:
    """Expand the states of a random match of Tic-Tac-Toe; return the tree and the expanded states by their text."""
    rng = random.Random(seed)
    tree = Tree(outcome=worth, key=str, store=store)
    state = pyspiel.load_game("tic_tac_toe").new_initial_state()
    states = {}
    while not state.is_terminal():
        expand(tree, state, rng)
        states[str(state)] = state.clone()
        state.apply_action(rng.choice(state.legal_actions()))
    return tree, states


def rows_of(states: Sequence[pyspiel.State]) -> list[list[float]]:
    rows = np.empty((len(states), TensorEncoder.size), np.float32)
    for state, row in zip(states, rows, strict=True):
        TensorEncoder().encode_into(state, row)
    return rows.tolist()


@pytest.mark.parametrize("seed", range(20))
def test_targets_are_the_expanded_and_the_terminal_states(seed: int) -> None:
    tree, states = random_match(ObservationStore(TensorEncoder(), chunk=4), seed)  # type: ignore[arg-type]
    targets = tree_targets(tree)
    terminal = {
        str(child): child
        for state in states.values()
        for child in map(state.child, state.legal_actions())
        if child.is_terminal()
    }
    expected = rows_of([*states.values(), *terminal.values()])
    learned = np.concatenate([pack.unpack() for pack in targets.rows]).tolist()
    assert len(targets) == len(learned) == len(states) + len(terminal)
    assert sorted(learned) == sorted(expected)


@pytest.mark.parametrize("seed", range(20))
def test_each_state_is_learned_with_its_own_value(seed: int) -> None:
    tree, states = random_match(ObservationStore(TensorEncoder(), chunk=4), seed)  # type: ignore[arg-type]
    targets = tree_targets(tree)
    rows = np.concatenate([pack.unpack() for pack in targets.rows]).tolist()
    learned = {tuple(row): value for row, value in zip(rows, targets.values.tolist(), strict=True)}
    for text, state in states.items():
        assert learned[tuple(rows_of([state])[0])] == np.float32(tree.table[text].value)
        for child in map(state.child, state.legal_actions()):
            if child.is_terminal():
                assert learned[tuple(rows_of([child])[0])] == worth(child)


def test_a_resolved_state_is_learned_with_its_value_as_stored() -> None:
    tree, _ = random_match(ObservationStore(TensorEncoder()), seed=3)  # type: ignore[arg-type]
    node = next(iter(tree.nodes))
    node.resolved, node.completion, node.value = True, 1, 7.5
    assert tree_targets(tree).values[node.observation] == 7.5


def test_values_after_the_last_backup_are_learned_not_those_at_expansion() -> None:
    tree, _ = random_match(ObservationStore(TensorEncoder()), seed=0)  # type: ignore[arg-type]
    for i, node in enumerate(tree.nodes):
        node.value = float(i)
    values = tree_targets(tree).values
    assert [values[node.observation] for node in tree.nodes] == list(range(len(tree.nodes)))


def test_a_tree_without_observations_is_refused() -> None:
    tree, _ = random_match(None, seed=0)
    with pytest.raises(LearningError, match="keeps observations, got store=None: give it an ObservationStore"):
        tree_targets(tree)


def test_an_observation_that_no_state_owns_is_refused() -> None:
    store = ObservationStore(TensorEncoder())  # type: ignore[arg-type]
    tree, states = random_match(store, seed=0)
    store.append(next(iter(states.values())))
    count = len(store)
    with pytest.raises(LearningError, match=f"a state for each of {count} observations, got {count - 1}"):
        tree_targets(tree)
