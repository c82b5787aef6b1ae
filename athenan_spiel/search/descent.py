"""Descent (the article, Algorithm 10; Algorithm 9 without completion).

Like UBFM it follows the best unresolved actions from the root; where UBFM stops at the first state it has to
expand, Descent goes on through it, always to the best child, until the match ends or what it stands on is
proven. So every iteration brings a real outcome back, and learning sees the ends of matches from the start.
"""

from __future__ import annotations

import random

import pyspiel

from athenan_spiel.search.base import Search
from athenan_spiel.search.walk import Questions, Walk
from athenan_spiel.tree import Node, Tree


class Descent(Search):
    """Descent minimax with completion and resolution stop."""

    def iteration(
        self, tree: Tree, state: pyspiel.State, rng: random.Random, root: Node | None = None
    ) -> Questions[Node]:
        """One `descent_iteration`: expand state after state along the best line, until a terminal or resolved one."""
        walk = Walk(tree, state, rng, root)
        while walk.reaches_leaf():
            yield from walk.expand()
        return walk.backup()
