"""Laws of the searches over trees that hypothesis draws: movers in any order, draws, equal values, early ends."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from fake_game import FakeGame, FakeState, Place, score
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from athenan_spiel.search import UBFM, Budget, Descent, Search, SearchResult, think
from athenan_spiel.search.node import Node
from athenan_spiel.search.tree import Tree

SEARCHES = pytest.mark.parametrize("kind", [Descent, UBFM])
NUMBERS = st.integers(-3, 3).map(float)


def places(depth: int) -> st.SearchStrategy[Place | float]:
    """Trees of at most `depth` plies; children get their names when all of the tree is there."""
    if depth == 0:
        return NUMBERS
    return NUMBERS | st.builds(
        lambda mover, value, children: Place(mover, value, {str(i): child for i, child in enumerate(children)}),
        st.sampled_from([0, 1]),
        NUMBERS,
        st.lists(places(depth - 1), min_size=1, max_size=3),
    )


def named(place: Place | float, name: str = "s") -> Place | float:
    """The same tree, each state named by its path, so that no two are called the same."""
    if not isinstance(place, Place):
        return place
    children = {f"{name}{i}": named(child, f"{name}{i}") for i, child in place.children.items() if child is not None}
    return Place(place.mover, place.value, children)


def mirrored(place: Place | float | None) -> Place | float | None:
    """The same tree with the players exchanged: every number is negated, every mover is the other one."""
    if not isinstance(place, Place):
        return None if place is None else -place
    children = {name: mirrored(child) for name, child in place.children.items()}
    return Place(1 - place.mover, -place.value, children)


roots = st.builds(named, places(5).filter(lambda place: isinstance(place, Place)))
iterations = st.integers(1, 30)


def written(states: Sequence[FakeState]) -> NDArray[np.float64]:
    return np.array([state.value for state in states])


def searched(kind: type[Search], root: Place, count: int) -> tuple[SearchResult, Tree]:
    game = FakeGame(root)
    search = kind(game, outcome=score, key=str)
    tree = search.new_tree()
    state = game.new_initial_state()
    return think(search, state, Budget(iterations=count), written, tree=tree, rng=random.Random(0)), tree


@SEARCHES
@settings(deadline=None)
@given(roots, iterations)
def test_the_second_player_sees_the_mirror_image(kind: type[Search], root: Place, count: int) -> None:
    """Values are player 0's: exchanging the players negates them, and changes no choice and no count."""
    one, tree = searched(kind, root, count)
    other, mirror = searched(kind, mirrored(root), count)  # type: ignore[arg-type]
    assert (other.value, other.completion, other.is_resolved) == (-one.value, -one.completion, one.is_resolved)
    assert other.principal_variation == one.principal_variation
    assert (other.best_action, other.safest_action) == (one.best_action, one.safest_action)
    assert tree.table.keys() == mirror.table.keys()
    for key, node in tree.table.items():
        assert mirror.table[key].visits == node.visits
        assert mirror.table[key].values == [-value for value in node.values]
        assert list(mirror.table[key].completions) == [-c for c in node.completions]
        assert mirror.table[key].resolutions == node.resolutions


def minimax(node: Node, state: FakeState) -> tuple[int, float, bool]:
    """(c, v, r) of the partial game tree below `node`, reckoned anew from its leaves."""
    worths = []
    for i, action in enumerate(node.actions):
        child = state.child(action)
        if child.is_terminal():
            worth = child.player_return(0)
            worths.append(((worth > 0) - (worth < 0), worth, True))
        elif i in node.children:
            worths.append(minimax(node.children[i], child))
        else:
            worths.append((0, child.value, False))
    best = node.kind.best
    completion, value = best((c, v) for c, v, _ in worths)
    return completion, value, completion != 0 or all(resolved for _, _, resolved in worths)


@SEARCHES
@settings(deadline=None)
@given(roots, iterations)
def test_the_value_of_every_node_is_the_minimax_of_its_tree(kind: type[Search], root: Place, count: int) -> None:
    """So the targets of tree learning are: v(s) of each node is what minimax makes of the leaves below it."""
    _, tree = searched(kind, root, count)
    game = FakeGame(root)
    for key, node in tree.table.items():
        state = FakeState(game, str(key), [])
        assert (node.completion, node.value, node.resolved) == minimax(node, state)


@SEARCHES
@settings(deadline=None)
@given(roots, iterations)
def test_counts_add_up(kind: type[Search], root: Place, count: int) -> None:
    """n(s, a) counts the walks through an arc: as many as came to s and went on from it."""
    result, tree = searched(kind, root, count)
    for key, node in tree.table.items():
        for i, child in node.children.items():
            went_on = sum(child.visits.values())
            assert went_on <= node.count(i)
            if kind is UBFM:
                assert went_on >= node.count(i) - 1, f"{key}: only the walk that expands a node ends in it"
    expanding = 1 if kind is UBFM else 0
    proven_at_once = result.iterations == 1 and result.is_resolved
    assert result.visits.sum() == result.iterations - expanding or proven_at_once
