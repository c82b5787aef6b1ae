"""What the trees of a search take in memory, by small ones of the game at hand."""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Callable, Iterable, Sequence
from enum import Enum

import pyspiel

from athenan_spiel.evaluators.base import Evaluation
from athenan_spiel.games.playout import random_moves
from athenan_spiel.search.base import Search
from athenan_spiel.search.drive import Budget, answered, search_under
from athenan_spiel.search.tree import Store, Tree

STATES = 32
"""Of a tree that is looked at."""
LONGEST = 1000
"""Moves after which the random match is left."""
PLACES = (0.0, 0.5, 0.9)
"""Where in a random match the trees begin: at the end there are fewer actions, and histories are longer."""
OVERHEAD = 1.25
"""What the process grows by, divided by what Python's objects take: what lies between them, and tables that grow."""


def sample_trees(search: Search, new_store: Callable[[int], Store] | None = None, *, priors: bool) -> list[Tree]:
    """Trees of some states each, grown by `search` from `PLACES` of a random match; always the same ones.

    Args:
        new_store: makes the store of a tree, of a seed; none: they keep no observations.
        priors: what values the states, at random here, says something of actions, too.
    """
    state = search.game.new_initial_state()
    for _ in zip(range(LONGEST), random_moves(state, random.Random(0).choice), strict=False):
        pass
    history = state.history()
    trees = []
    for place in PLACES:
        start = search.game.new_initial_state()
        for action in history[: int(place * len(history))]:
            start.apply_action(action)
        tree = search.new_tree(None if new_store is None else new_store(0))
        tree.most = STATES
        rng = random.Random(0)
        answered(search_under(search, tree, start, Budget(iterations=STATES), rng), _guess(rng, priors))
        trees.append(tree)
    return trees


def node_bytes(trees: Iterable[Tree]) -> int:
    """What a state takes in the tree of these in which it takes most, without its observation."""
    return max(int(OVERHEAD * bytes_of(tree.table) / len(tree.table)) for tree in trees)


def bytes_of(thing: object) -> int:
    """What an object of Python's takes, with all that it holds, each counted once; classes are not."""
    seen: set[int] = set()
    waiting, total = [thing], 0
    while waiting:
        held = waiting.pop()
        if id(held) not in seen and not isinstance(held, type | Enum):
            seen.add(id(held))
            total += sys.getsizeof(held)
            waiting += gc.get_referents(held)
    return total


def _guess(rng: random.Random, priors: bool) -> Callable[[Sequence[pyspiel.State]], Evaluation]:
    """Values and priors at random, each number an object of its own as those of a network are."""

    def guess(states: Sequence[pyspiel.State]) -> Evaluation:
        values = [rng.uniform(-1, 1) for _ in states]
        return Evaluation(values, [_shares(len(state.legal_actions()), rng) for state in states] if priors else None)

    return guess


def _shares(count: int, rng: random.Random) -> list[float]:
    drawn = [1 - rng.random() for _ in range(count)]
    total = sum(drawn)
    return [part / total for part in drawn]
