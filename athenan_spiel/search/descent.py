"""Descent minimax (the article, Algorithm 10; Algorithm 9 without completion).

Descent follows the best unresolved actions from the root, like UBFM. UBFM stops at the first state it expands; Descent
continues through it, always to the best child, until the game ends or the state reached is proven. Every iteration
therefore backs up a real outcome, and learning uses the ends of games from the start.

In long games such an iteration takes thousands of evaluations. With a limit Descent stops sooner and backs up the
estimate of the last state. That state is then in the tree, so the next iteration along the same line continues there.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Unpack, cast

import pyspiel

from athenan_spiel.config.settings import Count, require_argument
from athenan_spiel.errors import SearchError
from athenan_spiel.search.minimax import MinimaxOptions, MinimaxSearch
from athenan_spiel.search.minimax_tree import MinimaxTree
from athenan_spiel.search.node import Node
from athenan_spiel.search.tree import Tree
from athenan_spiel.search.walk import Requests, SearchInterrupted, Walk, expand, through_all_outcomes


class Descent(MinimaxSearch):
    """Descent minimax with completion and resolution stop.

    Args:
        game, outcome, completion, key, known: as for every `MinimaxSearch`.
        longest: maximum number of states expanded per iteration. None continues to a terminal or resolved state.

    Raises:
        SearchError: `longest` is not a whole number of at least 1, or is None although an iteration follows all
            outcomes of chance; or as for every `MinimaxSearch`.
    """

    curtails = True

    def __init__(
        self,
        game: pyspiel.Game | str,
        *,
        longest: int | None = None,
        **options: Unpack[MinimaxOptions],
    ) -> None:
        super().__init__(game, **options)
        require_argument("the longest descent", longest, Count, SearchError, or_none=True)
        if longest is None and self.follows_all:
            raise SearchError("Descent through all outcomes of chance requires a longest descent")
        self.longest = longest

    def iteration(
        self,
        tree: Tree,
        state: pyspiel.State,
        rng: random.Random,
        root: Node | None = None,
        root_actions: Sequence[int] | None = None,
    ) -> Requests[Node]:
        """Runs one `descent_iteration`: expands states along the best line to a terminal or resolved one."""
        grown, expanded = cast(MinimaxTree, tree), 0
        if root is None and root_actions is not None:
            root, expanded = (yield from expand(grown, None, state, root_actions)), 1
        if self.follows_all:
            assert self.longest is not None, "checked on creation"
            most = self.longest - expanded
            return (yield from through_all_outcomes(grown, self.select, state, rng, root, most=most))
        walk = Walk(grown, self.select, state, rng, root)
        for _ in itertools.count() if self.longest is None else range(expanded, self.longest):
            if not walk.reaches_leaf():
                break
            try:
                walk.node = yield from walk.expand()
            except SearchInterrupted:  # the limit `longest` ends an iteration in the same way
                break
        return walk.backup()
