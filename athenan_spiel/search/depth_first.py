"""Base class of alpha-beta and expectiminimax, whose iterations search to a depth, one action deeper each time."""

from __future__ import annotations

import copy
import random
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Protocol, Self, Unpack, cast

import pyspiel

from athenan_spiel.config.search import DEEPEST, AlphaBetaDepth
from athenan_spiel.config.settings import require_argument
from athenan_spiel.errors import SearchError
from athenan_spiel.games.rows import require_single_values
from athenan_spiel.search.minimax import MinimaxSearch, ProvingOptions
from athenan_spiel.search.minimax_tree import MinimaxTree
from athenan_spiel.search.node import Node
from athenan_spiel.search.tree import Tree
from athenan_spiel.search.walk import Requests, expand


class _Depth(Protocol):
    depth: int


class DepthFirstSearch(MinimaxSearch):
    """A search by iterative deepening.

    Args:
        game, outcome, completion, key, chance_samples: as for every search.
        depth: maximum depth, in actions of players from the root. `depth=1` is the depth-1 minimax of the papers'
            common protocol (Section 3.3). None sets no limit but the budget.

    Raises:
        UnsupportedGameError: as every search.
        SearchError: the values of the game are rows; `depth` is not a whole number in [1, DEEPEST]; or another argument
            has the wrong type.
    """

    accepts_known: ClassVar[bool] = False
    interruptible: ClassVar[bool] = True

    def __init__(
        self, game: pyspiel.Game | str, *, depth: int | None = None, **options: Unpack[ProvingOptions]
    ) -> None:
        super().__init__(game, **options)
        name = type(self).__name__
        require_single_values(self.game, name)
        require_argument(f"the depth of {name}", depth, AlphaBetaDepth, SearchError, or_none=True)
        self.depth = DEEPEST if depth is None else depth

    def depth_of(self, root: Node) -> int:
        """Returns the depth of the search that produced the labels of `root`."""
        return cast(_Depth, root).depth

    def to_depth(self, depth: int) -> Self:
        """Returns this search with another maximum depth."""
        other = copy.copy(self)
        other.depth = depth
        return other

    def iteration(
        self,
        tree: Tree,
        state: pyspiel.State,
        rng: random.Random,
        root: Node | None = None,
        root_actions: Sequence[int] | None = None,
    ) -> Requests[Node]:
        """Runs one search, one action deeper than the last iteration from `state`.

        The first depth is the one to which searches of earlier states have searched `state`, or 1.
        """
        grown = cast(MinimaxTree, tree)
        if root is None and root_actions is not None:
            root = yield from expand(grown, None, state, root_actions)
        elif root is None:
            key = tree.key(state)
            root = tree.table.get(key) or (yield from expand(grown, key, state))
        yield from self.search_deeper(grown, root, state, rng)
        return root

    @abstractmethod
    def search_deeper(self, tree: MinimaxTree, root: Node, state: pyspiel.State, rng: random.Random) -> Requests[None]:
        """Runs one search from `root`, the node of `state`, to the next depth."""
