"""MCTS over trees written by hand, and what its counts must come to."""

from __future__ import annotations

import random

import pytest
from fake_game import FakeGame, Recorder, score

from athenan_spiel.search import MCTS, Budget, think
from athenan_spiel.search.mcts_tree import MCTSNode
from athenan_spiel.search.tree import Tree


def mcts(game: FakeGame, **options: object) -> MCTS:
    """MCTS over a tree written by hand."""
    return MCTS(game, **{"outcome": score, "key": str, **options})  # type: ignore[arg-type]


def counts_after(search: MCTS, state: object, iterations: int, seed: int = 0) -> list[list[int]]:
    """n(s, a) at the root after each iteration."""
    tree, rng, recorder = search.new_tree(), random.Random(seed), Recorder()
    return [
        think(search, state, Budget(iterations=1), recorder, tree=tree, rng=rng).visits.tolist()
        for _ in range(iterations)
    ]


def check_sums(tree: Tree) -> None:
    for node in tree.table.values():
        assert isinstance(node, MCTSNode)
        assert node.simulations == 1 + sum(node.visits.values())
        assert node.total == pytest.approx(node.own + sum(node.totals))
        assert node.value == pytest.approx(node.total / node.simulations)
        assert set(node.untried) == set(range(len(node.actions))) - set(node.visits)
        for i, n in node.visits.items():
            assert node.values[i] == pytest.approx(node.totals[i] / n)
            assert n >= 1
