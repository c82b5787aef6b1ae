"""Descent (the article, Algorithm 10; Algorithm 9 without completion).

Like UBFM it follows the best unresolved actions from the root; where UBFM stops at the first state it has to
expand, Descent goes on through it, always to the best child, until the match ends or what it stands on is
proven. So every iteration brings a real outcome back, and learning sees the ends of matches from the start.

Where matches are long, such an iteration takes thousands of evaluations. With a bound on it Descent stops sooner and
carries back what the last state is estimated to be worth; as that state is in the tree now, the next iteration along
the same line goes on from there.
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
from athenan_spiel.search.walk import Enough, Questions, Walk, expand


class Descent(MinimaxSearch):
    """Descent minimax with completion and resolution stop.

    Args:
        game, outcome, completion, key, known: as for every `MinimaxSearch`.
        longest: states that an iteration expands at most; none: it goes on to a terminal or resolved one.

    Raises:
        SearchError: `longest` is no whole number of at least 1, or as for every
            `MinimaxSearch`.
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
        self.longest = longest

    def iteration(
        self,
        tree: Tree,
        state: pyspiel.State,
        rng: random.Random,
        root: Node | None = None,
        root_actions: Sequence[int] | None = None,
    ) -> Questions[Node]:
        """One `descent_iteration`: expand state after state along the best line, until a terminal or resolved one."""
        grown, expanded = cast(MinimaxTree, tree), 0
        if root is None and root_actions is not None:
            root, expanded = (yield from expand(grown, None, state, root_actions)), 1
        walk = Walk(grown, self.select, state, rng, root)
        for _ in itertools.count() if self.longest is None else range(expanded, self.longest):
            if not walk.reaches_leaf():
                break
            try:
                walk.node = yield from walk.expand()
            except Enough:  # as where `longest` ends it: the last state is worth what it was estimated
                break
        return walk.backup()
