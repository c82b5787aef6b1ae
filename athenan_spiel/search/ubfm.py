"""UBFM, unbounded best-first minimax (the article, Algorithm 1; Algorithm 12 with completion).

Each iteration follows the best unresolved actions from the root to the first state that is not in the tree,
expands it, and carries its value back. Playing the most selected action of the root instead of the best one
(`choice.safest`, Algorithm 13) makes it UBFM_s.
"""

from __future__ import annotations

import random
from typing import cast

import pyspiel

from athenan_spiel.search.minimax import MinimaxSearch
from athenan_spiel.search.minimax_tree import MinimaxTree
from athenan_spiel.search.node import Node
from athenan_spiel.search.tree import Tree
from athenan_spiel.search.walk import Questions, Walk


class UBFM(MinimaxSearch):
    """Unbounded best-first minimax with completion and resolution stop."""

    def iteration(
        self, tree: Tree, state: pyspiel.State, rng: random.Random, root: Node | None = None
    ) -> Questions[Node]:
        """One `ubfms_iteration`: expand the one state where the best line leaves the tree, unless it ends before."""
        walk = Walk(cast(MinimaxTree, tree), state, rng, root)
        if walk.reaches_leaf():
            yield from walk.expand()
        return walk.backup()
