"""Estimates the memory that the trees of a search take, from small sample trees of the game."""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any

import pyspiel

from athenan_spiel.evaluators.base import Evaluation
from athenan_spiel.games.playout import random_moves
from athenan_spiel.games.rows import values_of
from athenan_spiel.search.base import Search
from athenan_spiel.search.drive import Budget, answered, search_under
from athenan_spiel.search.tree import Store, Tree

SAMPLE_TREE_STATES = 32
"""States per sample tree."""
MAX_PLAYOUT_MOVES = 1000
"""Maximum length of the random game, in moves."""
ROOT_FRACTIONS = (0.0, 0.5, 0.9)
"""Positions of the sample trees' roots in a random game, as fractions of its length.

Late positions have fewer actions and longer histories.
"""
OVERHEAD = 1.25
"""Growth of the process per byte of Python objects. It covers allocator gaps and growing tables."""


def sample_trees(search: Search, new_store: Callable[[int], Store] | None = None, *, priors: bool) -> list[Tree]:
    """Returns sample trees that `search` grows from several positions of a random game. They are deterministic.

    Args:
        new_store: makes the store of a tree from a seed. None stores no observations.
        priors: whether the random evaluator also returns priors.
    """
    state = search.game.new_initial_state()
    for _ in zip(range(MAX_PLAYOUT_MOVES), random_moves(state, random.Random(0).choice), strict=False):
        pass
    history = state.history()
    trees = []
    for fraction in ROOT_FRACTIONS:
        start = search.game.new_initial_state()
        for action in history[: int(fraction * len(history))]:
            start.apply_action(action)
        tree = search.new_tree(None if new_store is None else new_store(0))
        tree.most = SAMPLE_TREE_STATES
        rng = random.Random(0)
        answered(
            search_under(search, tree, start, Budget(iterations=SAMPLE_TREE_STATES), rng),
            _random_evaluator(rng, priors, values_of(search.game)),
        )
        trees.append(tree)
    return trees


def node_bytes(trees: Iterable[Tree]) -> int:
    """Returns the bytes per state, without its observation, of the sample tree with the largest states."""
    return max(int(OVERHEAD * bytes_of(tree.table) / len(tree.table)) for tree in trees)


def bytes_of(thing: object) -> int:
    """Returns the bytes of a Python object and everything it refers to, each object counted once, without classes."""
    seen: set[int] = set()
    waiting, total = [thing], 0
    while waiting:
        held = waiting.pop()
        if id(held) not in seen and not isinstance(held, type | Enum):
            seen.add(id(held))
            total += sys.getsizeof(held)
            waiting += gc.get_referents(held)
    return total


def _random_evaluator(
    rng: random.Random, priors: bool, width: int = 1
) -> Callable[[Sequence[pyspiel.State]], Evaluation]:
    """Returns an evaluator with random values and priors. Each number is its own object, as those of a network are.

    Args:
        width: number of values of a state; if it is not 1, they are rows.
    """

    def value() -> Any:
        return rng.uniform(-1, 1) if width == 1 else [rng.uniform(-1, 1) for _ in range(width)]

    def evaluate(states: Sequence[pyspiel.State]) -> Evaluation:
        values = [value() for _ in states]
        return Evaluation(
            values, [_random_priors(len(state.legal_actions()), rng) for state in states] if priors else None
        )

    return evaluate


def _random_priors(count: int, rng: random.Random) -> list[float]:
    drawn = [1 - rng.random() for _ in range(count)]
    total = sum(drawn)
    return [part / total for part in drawn]
