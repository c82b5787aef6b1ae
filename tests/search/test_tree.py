"""Selection orders, key by key, and the laws of `search.node`."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest
from fake_game import FIRST_ACTION, FakeGame, FakeState, first, same, score, second
from hand_nodes import kind, node_of
from hypothesis import given
from hypothesis import strategies as st

from athenan_spiel.search.choice import best_action, completed_best_action, completed_best_action_dual, safest_action
from athenan_spiel.search.minimax_tree import MinimaxTree
from athenan_spiel.search.node import Node, NodeKind
from athenan_spiel.search.tree import Tree

Choice = Callable[[Node, random.Random], int]


class Arc(NamedTuple):
    """Labels of one action: c(s, a), v(s, a), n(s, a), r(s, a)."""

    c: int
    v: float
    n: int = 0
    r: bool = False


def node_with(arcs: Sequence[Arc], *, maximises: bool) -> Node:
    """Returns a node with these arcs, written for a maximiser. A minimiser's have the signs of c and v reversed."""
    return node_of(
        [arc.v for arc in arcs],
        maximises=maximises,
        proven={i: arc.c for i, arc in enumerate(arcs) if arc.r or arc.c},
        visits={i: arc.n for i, arc in enumerate(arcs) if arc.n},
    )


def chosen(choice: Choice, node: Node) -> set[int]:
    """Returns every index that `choice` can select."""
    return {choice(node, random.Random(seed)) for seed in range(40)}


# Each case decides by the element it is named for, against what every later element says, so that dropping the element
# or turning its sign gives another answer.
BEST_CASES = {
    "a won action comes before any value and count": ([Arc(0, 9, n=9), Arc(1, -5)], {1}),
    "a lost action comes after any value and count": ([Arc(-1, 9, n=9), Arc(0, -5)], {1}),
    "a draw lies between win and loss": ([Arc(-1, 9, n=9), Arc(0, 0, r=True), Arc(1, -9)], {2}),
    "then the best value, whatever the counts": ([Arc(0, 0.2, n=9), Arc(0, 0.3, n=1), Arc(0, -0.4, n=9)], {1}),
    "among won actions too": ([Arc(1, 2, n=9), Arc(1, 3), Arc(0, 9)], {1}),
    "among lost actions too": ([Arc(-1, -2), Arc(-1, -3, n=9)], {0}),
    "then the most visited": ([Arc(0, 0.3, n=1), Arc(0, 0.3, n=2), Arc(0, 0.3)], {1}),
    "then any, at random": ([Arc(0, 0.3, n=2), Arc(0, 0.3, n=1), Arc(0, 0.3, n=2), Arc(0, 0.1, n=2)], {0, 2}),
    "resolution does not matter": ([Arc(0, 0.5, r=True), Arc(0, 0.4)], {0}),
}
PLAIN_CASES = {
    "the best value": ([Arc(0, 0.2, n=9), Arc(0, 0.3, n=1), Arc(0, -0.4)], {1}),
    "then any, at random, however often it was visited": ([Arc(0, 0.3, n=2), Arc(0, 0.3), Arc(0, 0.1)], {0, 1}),
}
DUAL_CASES = {
    "a resolved action is never selected, not even a won one": ([Arc(1, 9), Arc(0, -5, n=9)], {1}),
    "nor a drawn one of the best value": ([Arc(0, 9, r=True), Arc(0, -5, n=9), Arc(0, -6)], {1}),
    "the best value, whatever the counts": ([Arc(0, 0.2), Arc(0, 0.3, n=9), Arc(0, -0.4)], {1}),
    "the best value beside resolved ones": ([Arc(0, 0.2), Arc(0, 0.3, n=9), Arc(0, 0.9, r=True), Arc(-1, 0.9)], {1}),
    "then the least visited": ([Arc(0, 0.3, n=2), Arc(0, 0.3, n=1), Arc(0, 0.3, n=9)], {1}),
    "then the least visited beside resolved ones": ([Arc(0, 0.3, n=2), Arc(0, 0.3, n=1), Arc(0, 0.3, r=True)], {1}),
    "never selected counts as 0": ([Arc(0, 0.3, n=1), Arc(0, 0.3), Arc(0, 0.2)], {1}),
    "then any, at random": ([Arc(0, 0.3, n=1), Arc(0, 0.3, n=2), Arc(0, 0.3, n=1), Arc(0, 0.1)], {0, 2}),
    "then any beside resolved ones": ([Arc(0, 0.3), Arc(-1, 0.3), Arc(0, 0.3), Arc(0, 0.1)], {0, 2}),
}
SAFEST_CASES = {
    "a won action comes before any count and value": ([Arc(0, 9, n=9), Arc(1, -5)], {1}),
    "a lost action comes after any count and value": ([Arc(-1, 9, n=9), Arc(0, -5)], {1}),
    "then the most visited, whatever the values": ([Arc(0, 9, n=1), Arc(0, -5, n=2), Arc(0, 9)], {1}),
    "among lost actions too": ([Arc(-1, 9, n=1), Arc(-1, -5, n=2)], {1}),
    "then the best value": ([Arc(0, 0.2, n=2), Arc(0, 0.3, n=2), Arc(0, 0.9, n=1)], {1}),
    "then any, at random": ([Arc(0, 0.3, n=2), Arc(0, 0.2, n=2), Arc(0, 0.3, n=2), Arc(0, 0.3, n=1)], {0, 2}),
}
CHOICES = [
    pytest.param(choice, *case, id=f"{choice.__name__}: {name}")
    for choice, cases in (
        (best_action, PLAIN_CASES),
        (completed_best_action, BEST_CASES),
        (completed_best_action_dual, DUAL_CASES),
        (safest_action, SAFEST_CASES),
    )
    for name, case in cases.items()
]


@pytest.mark.parametrize("maximises", [True, False], ids=["maximiser", "minimiser"])
@pytest.mark.parametrize(("choice", "arcs", "expected"), CHOICES)
def test_order_of_choice(choice: Choice, arcs: list[Arc], expected: set[int], maximises: bool) -> None:
    assert chosen(choice, node_with(arcs, maximises=maximises)) == expected
    last = len(arcs) - 1
    assert chosen(choice, node_with(arcs[::-1], maximises=maximises)) == {last - i for i in expected}, "order matters"


@pytest.mark.parametrize("choice", [best_action, completed_best_action, completed_best_action_dual, safest_action])
def test_a_tie_is_drawn_evenly(choice: Choice) -> None:
    node = node_with([Arc(0, 0.5)] * 4, maximises=True)
    rng = random.Random(3)
    counts = Counter(choice(node, rng) for _ in range(4000))
    # Four standard deviations of a count of mean 1000.
    assert all(abs(counts[i] - 1000) < 4 * (4000 * 0.25 * 0.75) ** 0.5 for i in range(4))


class NoDraws(random.Random):
    """A random generator that must not be used."""

    def getrandbits(self, k: int) -> int:
        raise AssertionError("something was drawn at random")

    random = getrandbits  # type: ignore[assignment]


@pytest.mark.parametrize("choice", [completed_best_action, completed_best_action_dual, safest_action])
def test_nothing_is_drawn_where_the_order_decides(choice: Choice) -> None:
    assert choice(node_with([Arc(0, 0.1), Arc(0, 0.7, n=1), Arc(0, 0.3)], maximises=True), NoDraws()) == 1


def test_figure_3_a_proven_win_is_chosen_over_a_larger_estimate() -> None:
    """Section 5.1: by value alone the first player leaves a won state for an unresolved one with a larger value."""
    game = FakeGame(first(0.0, promising=second(1.4, W=first(1.4, X=0), Y=-1), won=second(0.2, Z=1)))
    for completion, expected in ((True, "won"), (False, "promising")):
        tree = MinimaxTree(outcome=score, key=str, completion=completion)
        won = expand(tree, game, "won")
        root = expand(tree, game)
        root.update(1, won)
        root.backup()
        assert root.actions[completed_best_action(root, NoDraws())] == game.state().action_to(expected)
        assert (root.completion, root.value, root.resolved) == ((1, 1.0, True) if completion else (0, 1.4, False))


def expand(tree: Tree, game: FakeGame, *names: str) -> Node:
    """Add the state reached through `names` to `tree`, its children valued as written in the game."""
    state = game.state(*names)
    children = [state.child(action) for action in state.legal_actions()]
    ended = [child.is_terminal() for child in children]
    estimates = [child.value for child, end in zip(children, ended, strict=True) if not end]
    return tree.add(tree.key(state), state, state.legal_actions(), children, ended, estimates)


WON, DRAWN, LOST = Arc(1, 3), Arc(0, 0, r=True), Arc(-1, -3)
BACKUPS = {
    "nothing resolved: the best value": ([Arc(0, 0.2), Arc(0, 0.6), Arc(0, -1.4)], (0, 0.6, False)),
    "a won action resolves the state": ([Arc(0, 7.0), WON], (1, 3.0, True)),
    "the best of won actions": ([Arc(1, 2), WON, Arc(0, 7.0)], (1, 3.0, True)),
    "a lost action does not count beside an open one": ([LOST, Arc(0, -9.0)], (0, -9.0, False)),
    "all lost: lost, as late or little as can be": ([LOST, Arc(-1, -2)], (-1, -2.0, True)),
    "draw and loss: a proven draw": ([LOST, DRAWN], (0, 0.0, True)),
    "a draw beside an open action proves nothing": ([DRAWN, Arc(0, -0.5), LOST], (0, 0.0, False)),
    "an open action may be worth more than a draw": ([DRAWN, Arc(0, 0.5)], (0, 0.5, False)),
    "a win among draws": ([DRAWN, WON, DRAWN], (1, 3.0, True)),
}


@pytest.mark.parametrize("maximises", [True, False], ids=["maximiser", "minimiser"])
@pytest.mark.parametrize(("arcs", "expected"), [pytest.param(*case, id=name) for name, case in BACKUPS.items()])
def test_backup(arcs: list[Arc], expected: tuple[int, float, bool], maximises: bool) -> None:
    """Law 4: (c(s), v(s)) is the mover's best pair; r(s) = 1 if |c(s)| = 1 or every r(s, a) = 1."""
    node = node_with(arcs, maximises=maximises)
    node.backup()
    sign = 1 if maximises else -1
    completion, value, resolved = expected
    assert (node.completion, node.value, node.resolved) == (sign * completion, sign * value, resolved)


ARCS = st.lists(
    st.sampled_from([-1.0, -0.5, 0.0, 0.5, 2.0]).flatmap(
        lambda v: st.sampled_from([Arc(0, v), Arc(0, v, r=True), Arc(1, v), Arc(-1, v)])
    ),
    min_size=1,
    max_size=6,
)


@given(ARCS, st.booleans())
def test_backup_is_the_best_pair_in_lexicographic_order(arcs: list[Arc], maximises: bool) -> None:
    node = node_with(arcs, maximises=maximises)
    node.backup()
    best = kind(maximises).best
    assert (node.completion, node.value) == best(zip(node.completions, node.values, strict=True))
    assert node.resolved == (node.completion != 0 or all(node.resolutions))
    assert node.unresolved == node.resolutions.count(0)


def test_a_proof_is_never_taken_back() -> None:
    """Law 3."""
    node = node_with([Arc(0, 0.5), Arc(0, 0.2)], maximises=True)
    for completion in (-1, 1, 0):
        node.resolve(0, completion)
    assert (list(node.completions), list(node.resolutions), node.unresolved) == ([-1, 0], [1, 0], 1)


@pytest.mark.parametrize("resolved", [True, False])
def test_update_takes_over_what_the_child_knows(resolved: bool) -> None:
    parent = node_with([Arc(0, 0.5), Arc(0, 0.2)], maximises=True)
    child = node_with([Arc(-1, -2, r=True) if resolved else Arc(0, -2)], maximises=True)
    child.backup()
    parent.update(1, child)
    assert parent.values == [0.5, -2.0]
    assert list(parent.resolutions) == [0, resolved]
    assert list(parent.completions) == [0, -1 if resolved else 0]
    assert parent.children == {1: child}


class NameStore:
    """A store of observations that keeps the names of the states it was given."""

    def __init__(self, *, leaves: bool = False) -> None:
        self.leaves = leaves
        self.names: list[str] = []

    def append(self, state: FakeState) -> int:
        self.names.append(str(state))
        return len(self.names) - 1


MIXED = FakeGame(
    first(
        0.0,
        A=second(0.5, C=-2, D=first(0.7, G=3), E=0),
        B=second(0.4, C=same, F=first(0.1, H=second(0.6, I=1, J=2))),
    )
)


def test_an_expanded_state_knows_terminal_children_by_the_outcome_and_others_by_the_estimates() -> None:
    node = expand(MinimaxTree(outcome=lambda state: 10 * score(state), key=str), MIXED, "A")
    assert list(node.actions) == [FIRST_ACTION, FIRST_ACTION + 1, FIRST_ACTION + 2]
    assert node.values == [-20.0, 0.7, 0.0]
    assert list(node.completions) == [-1, 0, 0]
    assert list(node.resolutions) == [1, 0, 1]
    assert (node.completion, node.value, node.resolved) == (-1, -20.0, True), "player 1 minimises"
    assert (node.visits, node.children) == ({}, {})


def test_estimates_stay_in_the_order_of_their_states_between_terminal_ones() -> None:
    game = FakeGame(first(0, A=1, B=second(0.2, X=0), C=-1, D=second(0.4, Y=0), E=second(0.6, Z=0), F=0))
    assert expand(MinimaxTree(outcome=score, key=str), game).values == [1, 0.2, -1, 0.4, 0.6, 0]


def test_who_is_to_move_is_asked_of_the_state() -> None:
    tree = MinimaxTree(outcome=score, key=str)
    path = ("B", "F", "H")
    movers = [expand(tree, MIXED, *path[:depth]).kind for depth in range(4)]
    assert movers == [NodeKind.MAXIMISER, NodeKind.MINIMISER] * 2
    twice = FakeGame(second(0, A=second(0.5, B=0), C=1))
    assert [expand(tree, twice, *path).kind for path in ((), ("A",))] == [NodeKind.MINIMISER, NodeKind.MINIMISER]


def test_without_completion_nothing_is_ever_resolved() -> None:
    tree = MinimaxTree(outcome=score, key=str, completion=False)
    node = expand(tree, MIXED, "B", "F", "H")
    assert (node.completion, node.value, node.resolved) == (0, 1.0, False)
    assert (bytes(node.resolutions), list(node.completions)) == (b"\0\0", [0, 0])


def test_the_store_takes_every_expanded_state_and_each_terminal_one_once() -> None:
    store = NameStore()
    tree = MinimaxTree(outcome=score, key=str, store=store)
    for path in ((), ("A",), ("B",), ("A", "D"), ("B", "F"), ("B", "F", "H")):
        expand(tree, MIXED, *path)
    assert sorted(store.names) == sorted(["root", "A", "B", "D", "F", "H", "C", "E", "G", "I", "J"])
    names = [store.names[node.observation] for node in tree.nodes]
    assert names == ["root", "A", "B", "D", "F", "H"], "nodes stand in order of expansion"
    assert {store.names[index]: value for index, value in tree.terminals} == {"C": -2, "E": 0, "G": 3, "I": 1, "J": 2}
    assert list(tree.table) == names


def test_ends_that_look_alike_and_are_worth_different_things_are_both_stored() -> None:
    """The depth heuristics distinguish them; a network can learn only their mean."""
    game = FakeGame(first(0, A=second(0.5, C=1, D=first(0.5, E=0)), B=second(0.4, C=same, F=0), C=same))
    store = NameStore()
    tree = MinimaxTree(outcome=lambda state: score(state) / state.move_number(), key=str, store=store)
    for path in ((), ("A",), ("B",)):
        expand(tree, game, *path)
    assert [(store.names[index], worth) for index, worth in tree.terminals] == [("C", 1), ("C", 0.5), ("F", 0)]


def leaves_of(tree: Tree, store: NameStore) -> dict[str, float]:
    return {store.names[leaf.observation]: leaf.value for leaf in tree.leaves.values()}


def test_a_store_that_wants_leaves_takes_each_state_once_whatever_becomes_of_it() -> None:
    """An expanded leaf is no longer a leaf. A state with two parents is one state (Remark 3)."""
    game = FakeGame(
        first(
            0,
            A=second(0.5, C=first(0.3, E=1), D=first(0.2, F=0), G=0),
            B=second(0.4, C=same, H=first(0.1, J=2)),
        )
    )
    store = NameStore(leaves=True)
    tree = MinimaxTree(outcome=score, key=str, store=store)
    expand(tree, game)
    assert leaves_of(tree, store) == {"A": 0.5, "B": 0.4}
    expand(tree, game, "A")
    assert leaves_of(tree, store) == {"B": 0.4, "C": 0.3, "D": 0.2}
    expand(tree, game, "A", "C")
    assert leaves_of(tree, store) == {"B": 0.4, "D": 0.2}
    expand(tree, game, "B")
    assert leaves_of(tree, store) == {"D": 0.2, "H": 0.1}
    assert [store.names[node.observation] for node in tree.nodes] == ["root", "A", "C", "B"]
    assert sorted(store.names) == sorted(["root", "A", "B", "C", "D", "G", "E", "H"]), "none of them twice"


def test_a_leaf_has_the_value_that_its_parent_holds_now() -> None:
    store = NameStore(leaves=True)
    tree = MinimaxTree(outcome=score, key=str, store=store)
    node = expand(tree, MIXED, "A")
    node.values[1] = 0.9
    assert leaves_of(tree, store) == {"D": 0.9}


def test_a_copy_has_leaves_of_its_own() -> None:
    store = NameStore(leaves=True)
    tree = MinimaxTree(outcome=score, key=str, store=store)
    expand(tree, MIXED)
    twin = tree.copy()
    expand(twin, MIXED, "A")
    next(iter(twin.nodes)).values[1] = 0.9
    assert leaves_of(tree, store) == {"A": 0.5, "B": 0.4}
    assert leaves_of(twin, store) == {"B": 0.9, "D": 0.7}


def test_without_a_store_no_terminal_state_is_kept() -> None:
    """Note of Algorithm 12: if a game yields no training samples, S needs no terminal states."""
    tree = MinimaxTree(outcome=score, key=str)
    node = expand(tree, MIXED, "A")
    assert (tree.terminals, node.observation) == ([], -1)
