"""What is learned of a match: by tree, root and terminal learning, with coefficients, with leaves."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyspiel
import pytest
from fake_game import FakeGame, FakeState, Recorder, first, score, second
from numpy.typing import NDArray

from athenan_spiel.config import TargetsConfig
from athenan_spiel.encoding import Encoder
from athenan_spiel.encoding.compact import CompactRows, ObservationStore
from athenan_spiel.errors import LearningError
from athenan_spiel.games import load_game
from athenan_spiel.learning.labels import Labels
from athenan_spiel.learning.targets import Targets, coefficient, make_targets, tree_targets
from athenan_spiel.outcomes import gain
from athenan_spiel.play.self_play import Round, SelfPlayGame
from athenan_spiel.search import UBFM, Budget, Descent
from athenan_spiel.search.choice import best
from athenan_spiel.search.minimax_tree import MinimaxTree
from athenan_spiel.search.node import Node
from athenan_spiel.search.tree import Tree


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
    ended = [child.is_terminal() for child in children]
    estimates = [rng.uniform(-1, 1) for end in ended if not end]
    return tree.add(str(state), state, actions, children, ended, estimates)


def random_match(store: Any, seed: int) -> tuple[Tree, dict[str, pyspiel.State]]:
    """Expand the states of a random match of Tic-Tac-Toe; return the tree and the expanded states by their text."""
    rng = random.Random(seed)
    tree = MinimaxTree(outcome=worth, key=str, store=store)
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
    learned = {tuple(row): value for row, value in zip(rows, targets.labels.values.tolist(), strict=True)}
    for text, state in states.items():
        assert learned[tuple(rows_of([state])[0])] == np.float32(tree.table[text].value)
        for child in map(state.child, state.legal_actions()):
            if child.is_terminal():
                assert learned[tuple(rows_of([child])[0])] == worth(child)


def test_a_resolved_state_is_learned_with_its_value_as_stored() -> None:
    tree, _ = random_match(ObservationStore(TensorEncoder()), seed=3)  # type: ignore[arg-type]
    node = next(iter(tree.nodes))
    node.resolved, node.completion, node.value = True, 1, 7.5
    assert tree_targets(tree).labels.values[node.observation] == 7.5


def test_values_after_the_last_backup_are_learned_not_those_at_expansion() -> None:
    tree, _ = random_match(ObservationStore(TensorEncoder()), seed=0)  # type: ignore[arg-type]
    for i, node in enumerate(tree.nodes):
        node.value = float(i)
    values = tree_targets(tree).labels.values
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


# Every method, on one match by hand


class NameEncoder:
    """Stands for an `Encoder`: a state of a `FakeGame` is the number of its name."""

    size = 1

    def encode_into(self, state: FakeState, row: NDArray[np.float32]) -> None:
        row[0] = NAMES.index(str(state))

    def encode(self, states: Sequence[FakeState]) -> NDArray[np.float32]:
        return np.array([[NAMES.index(str(state))] for state in states], np.float32)


GAME = FakeGame(
    first(
        0.0,
        A=second(0.6, C=first(0.2, F=3, G=first(0.1, K=-1)), D=first(0.4, H=1), E=4),
        B=second(0.5, C=None, I=first(0.9, J=2)),
    )
)
NAMES = list(GAME.places)


@dataclass
class HandMade:
    """A match from the root through A and C to F, and whatever its tree was told."""

    tree: Tree
    states: list[FakeState]
    values: list[float]


def match_by_hand(method: TargetsConfig) -> tuple[HandMade, Any]:
    """The root, A and C were expanded, and the root's value has grown since its action was decided."""
    learning = make_targets(method, NameEncoder(), gain)  # type: ignore[arg-type]
    store = learning.new_store(1) if learning.new_store else None
    tree = MinimaxTree(outcome=score, key=str, store=store)
    path = [GAME.state(*["A", "C", "F"][:i]) for i in range(4)]
    for state in path[:3]:
        children = [state.child(action) for action in state.legal_actions()]
        ended = [child.is_terminal() for child in children]
        estimates = [child.value for child, end in zip(children, ended, strict=True) if not end]
        tree.add(str(state), state, state.legal_actions(), children, ended, estimates)
    root, a, c = tree.nodes
    root.value, a.value, c.value = 0.7, 0.25, 3.0
    root.visits, a.visits, c.visits = {0: 2, 1: 1}, {0: 1}, {}
    return HandMade(tree, path, [0.6, 0.2, 2.5, 3.0]), learning


def learned(targets: Targets) -> list[tuple[str, float]]:
    rows = np.concatenate([pack.unpack() for pack in targets.rows])[:, 0]
    assert len(rows) == len(targets)
    return sorted(
        (NAMES[int(row)], round(value, 5)) for row, value in zip(rows, targets.labels.values.tolist(), strict=True)
    )


TREE = [("A", 0.25), ("C", 3.0), ("E", 4.0), ("F", 3.0), ("root", 0.7)]
LEARNED = {
    "tree": (TargetsConfig(), TREE),
    "tree with leaves": (TargetsConfig(leaves=True), sorted([*TREE, ("B", 0.5), ("D", 0.4), ("G", 0.1)])),
    "coefficients": (TargetsConfig(coefficients=True), TREE),
    "root": (TargetsConfig(method="root"), [("A", 0.2), ("C", 2.5), ("F", 3.0), ("root", 0.6)]),
    "trace": (
        TargetsConfig(method="root", trace_decay=0.5),
        [("A", 1.475), ("C", 2.75), ("F", 3.0), ("root", 1.0375)],
    ),
    "trace of 1": (
        TargetsConfig(method="root", trace_decay=1.0),
        [("A", 3.0), ("C", 3.0), ("F", 3.0), ("root", 3.0)],
    ),
    "terminal": (TargetsConfig(method="terminal"), [("A", 3.0), ("C", 3.0), ("F", 3.0), ("root", 3.0)]),
}


@pytest.mark.parametrize(("method", "expected"), [pytest.param(*case, id=name) for name, case in LEARNED.items()])
def test_each_method_learns_its_states_with_its_values(
    method: TargetsConfig, expected: list[tuple[str, float]]
) -> None:
    played, learning = match_by_hand(method)
    targets = learning.read(played)
    assert learned(targets) == expected
    assert targets.labels.values.dtype == np.float32
    assert (targets.labels.weights is None) == (not method.coefficients)


def test_lambda_returns_of_rows() -> None:
    """z(s) = v(s) / 2 + z(s') / 2."""
    played, learning = match_by_hand(TargetsConfig(method="root", trace_decay=0.5))
    rows = [(1.0, 0.0), (0.5, 0.25), (0.0, 1.0), (3.0, -1.0)]
    targets = learning.read(dataclasses.replace(played, values=rows))
    assert targets.labels.values.tolist() == [[1.0, 0.0625], [1.0, 0.125], [1.5, 0.0], [3.0, -1.0]]


@pytest.mark.parametrize(("method", "stored"), [("tree", True), ("root", False), ("terminal", False)])
def test_a_tree_stores_observations_only_where_they_are_learned(method: Any, stored: bool) -> None:
    played, _ = match_by_hand(TargetsConfig(method=method))
    assert (played.tree.store is not None) == stored


def test_a_state_weighs_more_the_more_often_its_value_was_updated() -> None:
    played, learning = match_by_hand(TargetsConfig(coefficients=True, leaves=True))
    targets = learning.read(played)
    rows = np.concatenate([pack.unpack() for pack in targets.rows])[:, 0]
    assert targets.labels.weights.dtype == np.float32
    weights = {NAMES[int(row)]: weight for row, weight in zip(rows, targets.labels.weights.tolist(), strict=True)}
    assert weights == {"root": 3, "A": 2, "C": 1, "E": 1, "F": 1, "B": 1, "D": 1, "G": 1}


@pytest.mark.parametrize(
    ("updates", "expected"), [(0, 1), (1, 2), (2, 2), (3, 3), (6, 3), (7, 4), (1023, 11), (2**60 - 2, 60)]
)
def test_the_coefficient(updates: int, expected: int) -> None:
    """1 + ⌊log2(n + 1)⌋; Example 2 of the 2019 article has 0, 1 and 3 updates."""
    assert coefficient(updates) == expected


def test_the_bytes_of_targets_are_those_of_all_arrays() -> None:
    pack = CompactRows.pack(np.zeros((3, 8), np.float32))
    values = np.zeros(3, np.float32)
    assert Targets([pack, pack], Labels(values)).nbytes == 2 * pack.nbytes + 12
    assert Targets([pack], Labels(values, values)).nbytes == pack.nbytes + 24


# Every method, on matches of the searches


def play(kind: type[Descent | UBFM], method: TargetsConfig, seed: int) -> tuple[SelfPlayGame, Targets]:
    learning = make_targets(method, NameEncoder(), gain)  # type: ignore[arg-type]
    search = kind(GAME, outcome=score, key=str)  # type: ignore[arg-type]
    budget = Budget(iterations=1 + seed % 3)
    matches = Round(GAME, search, Recorder(), best, budget, [seed], new_store=learning.new_store)  # type: ignore[arg-type]
    while matches.advance():
        pass
    (match,) = matches.matches()
    return match, learning.read(match)


@pytest.mark.parametrize("kind", [Descent, UBFM])
@pytest.mark.parametrize("seed", range(6))
def test_leaves_are_all_other_states_that_were_valued_and_none_is_learned_twice(
    kind: type[Descent | UBFM], seed: int
) -> None:
    match, targets = play(kind, TargetsConfig(leaves=True), seed)
    _, without = play(kind, TargetsConfig(), seed)
    names = [name for name, _ in learned(targets)]
    assert len(set(names)) == len(names)
    expanded = {str(key) for key in match.tree.table}
    children = {str(child) for name in expanded for child in GAME.places[name].children}  # type: ignore[union-attr]
    assert set(names) == expanded | children
    leaves = set(names) - {name for name, _ in learned(without)}
    assert leaves == {name for name in children - expanded if not isinstance(GAME.places[name], int)}
    assert set(learned(without)) <= set(learned(targets))
    for name, value in learned(targets):
        if name in leaves:
            assert value == GAME.places[name].value, "never updated: as the network had it"  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", [Descent, UBFM])
def test_root_learning_of_a_played_match(kind: type[Descent | UBFM]) -> None:
    match, targets = play(kind, TargetsConfig(method="root"), 0)
    assert learned(targets) == sorted(
        (str(state), round(value, 5)) for state, value in zip(match.states, match.values, strict=True)
    )
    assert len(targets) == len(match.history) + 1


@pytest.mark.parametrize("spec", ["hex(board_size=2)", "dots_and_boxes(num_rows=1,num_cols=2)", "y(board_size=3)"])
def test_each_observation_of_an_end_is_learned_once(spec: str) -> None:
    """An end of Hex shows its last stone, and one of Dots and Boxes who drew each line; neither is printed.

    The last stone of Y is printed, and is nothing that a network sees.
    """
    game = load_game(spec)
    search, encoder = UBFM(game), Encoder(game)
    tree = search.new_tree(ObservationStore(encoder))
    everything: list[pyspiel.State] = [game.new_initial_state()]
    ends: set[tuple[bytes, float]] = set()
    for state in everything:  # which grows meanwhile
        actions = state.legal_actions()
        children = [state.child(action) for action in actions]
        ended = [child.is_terminal() for child in children]
        tree.add(tuple(state.history()), state, actions, children, ended, [0.0] * ended.count(False))
        ends |= {(encoder.encode([end]).tobytes(), gain(end)) for end in children if end.is_terminal()}
        everything += [child for child in children if not child.is_terminal()]
    targets = tree_targets(tree)
    rows = np.concatenate([pack.unpack() for pack in targets.rows])
    learned = [(rows[index].tobytes(), value) for index, value in tree.terminals]
    assert len(learned) == len(set(learned)), "none of them twice"
    assert set(learned) == ends
