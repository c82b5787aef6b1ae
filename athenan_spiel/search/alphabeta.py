"""Iterative-deepening alpha-beta with move ordering (the article, Section 2.1; *Minimax Strikes Back*, 3.1 and 3.3).

An iteration is one alpha-beta search of the whole tree to a depth, in actions from the root: 1 in the first iteration
from a root, then 2, and so on. Its promises:

1. States are compared by pairs (c, v) in lexicographic order: a terminal state is (gain, f_t), one at the horizon
   (0, f). Without completion c is always 0. After an iteration to depth d the root's pair is the minimax pair of the
   tree cut at depth d, and every action of the root's best value has exactly that pair. The others' values are bounds,
   which are worse than the best, so that no choice by value mistakes a bound for a best move.
2. What is final is not searched again and counts at any depth: a proven win or loss, whose v is that of the line that
   proved it, and a pair that rests on terminal states alone. With completion what is final is resolved: r(s) = 1 where
   bounds prove c(s), too, so it does not wait for every r(s, a) as clause 4 of `tree` has it.
3. v(s) of a state below the root is what its last search to its greatest depth returned (fail-soft). That is the
   minimax value where it lay inside the window; where the state was cut off it is a bound, the best that the search
   saw. Tree learning learns it as it is. v(s, a) of actions that were cut off are older.
4. n(s, a) is the depth of the last search of s if a came out best, and 0 for all other actions.
5. All children of a state are valued in one question, when a search first enters the state; those values are kept, for
   the horizon and for the order of moves. So a search to depth 1 asks one question.
6. The best action of the last search comes first, the others by (c, v); what past searches of a state found for a
   depth is kept for the match, and used again for the same depth alone.
7. An iteration that is given up leaves the root as it was; what it learned below stays, and is sound.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Mapping, Sequence
from typing import Self, Unpack, cast

import pyspiel

from athenan_spiel.config.search import DEEPEST, AlphaBetaDepth
from athenan_spiel.config.settings import require_argument
from athenan_spiel.errors import SearchError
from athenan_spiel.search.alphabeta_tree import GREATEST, LEAST, AlphaBetaNode, AlphaBetaTree, Claim, Pair
from athenan_spiel.search.choice import draw
from athenan_spiel.search.minimax import MinimaxSearch, ProvingOptions
from athenan_spiel.search.node import Kind, Node
from athenan_spiel.search.tree import Tree
from athenan_spiel.search.walk import Questions, expand


class AlphaBeta(MinimaxSearch):
    """Iterative-deepening alpha-beta; the file's docstring numbers what it promises.

    Args:
        game, outcome, completion, key: as for every search.
        depth: the greatest depth, in actions from the root; `depth=1` is the depth-1 minimax of the papers' common
            protocol (Section 3.3). None: as deep as the budget lets it.

    Raises:
        UnsupportedGameError: as every search.
        SearchError: `depth` is no whole number in [1, DEEPEST]; another argument is not of its kind.
    """

    tree_type = AlphaBetaTree
    looks_into_known = False
    interruptible = True

    def __init__(
        self,
        game: pyspiel.Game | str,
        *,
        depth: int | None = None,
        **options: Unpack[ProvingOptions],
    ) -> None:
        super().__init__(game, **options)
        require_argument("the depth of alpha-beta", depth, AlphaBetaDepth, SearchError, or_none=True)
        self.depth = DEEPEST if depth is None else depth

    def finished(self, root: Node) -> bool:
        """No deeper search could change what a search from here has found, or none is allowed."""
        node = cast(AlphaBetaNode, root)
        if node.iterated:
            return node.settled or node.iterated >= self.depth
        return node.completion != 0 or (node.resolved and node.unresolved == 0)

    def depth_of(self, root: Node) -> int:
        """As `Search.depth_of`: the depth of the search that the values of `root` come from."""
        return cast(AlphaBetaNode, root).depth

    def to_depth(self, depth: int) -> Self:
        """As `Search.to_depth`."""
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
    ) -> Questions[Node]:
        """One search to a depth that is one greater than that of the last iteration from `state`.

        Where the pair of `state` is final from searches of earlier states, the first depth is that which showed it: at
        a lesser one the actions' values would not tell which of them has that pair.
        """
        grown = cast(AlphaBetaTree, tree)
        if root is None and root_actions is not None:
            root = yield from expand(grown, None, state, root_actions)
        elif root is None:
            key = tree.key(state)
            root = tree.table.get(key) or (yield from expand(grown, key, state))
        node = cast(AlphaBetaNode, root)
        first = node.depth if node.is_final else 1
        depth = node.iterated + 1 if node.iterated else first
        yield from _DepthSearch(grown, node).search_root(state, min(depth, self.depth), rng)
        return node


class _DepthSearch:
    """One iteration: an alpha-beta search to one depth."""

    def __init__(self, tree: AlphaBetaTree, root: AlphaBetaNode) -> None:
        self._tree = tree
        self._root = root

    def search_root(self, state: pyspiel.State, depth: int, rng: random.Random) -> Questions[None]:
        """Search the root; its labels change at the end alone (promise 7).

        The window's end stays below the best pair, by the least that floats can tell, so an equal one is no bound.
        """
        root = self._root
        won, maximises = root.kind.won, root.kind is Kind.MAXIMISER
        alpha, beta = LEAST, GREATEST
        claims: dict[int, Claim] = {}
        for i in root.order():
            claims[i] = pair, _ = yield from self._action(root, i, state, depth, alpha, beta)
            if pair[0] == won:
                break
            if maximises:
                alpha = max(alpha, (pair[0], math.nextafter(pair[1], -math.inf)))
            else:
                beta = min(beta, (pair[0], math.nextafter(pair[1], math.inf)))
        self._conclude(depth, claims, rng)

    def _conclude(self, depth: int, claims: Mapping[int, Claim], rng: random.Random) -> None:
        root = self._root
        best = root.kind.best(pair for pair, _ in claims.values())
        equals = [i for i, (pair, _) in claims.items() if pair == best]
        root.best = draw(equals, rng)
        root.visits = {root.best: depth}
        for i, (pair, _) in claims.items():
            root.values[i] = pair[1]
            child = cast("AlphaBetaNode | None", root.children.get(i))
            if child is not None and child.is_final:
                root.settle(i, child)
        root.completion, root.value = best
        root.depth = root.iterated = depth
        root.settled = best[0] != 0 or all(closed for _, closed in claims.values())
        root.narrow(depth, best, LEAST, GREATEST, closed=root.settled)
        root.resolved = root.is_final and self._tree.completion

    def _action(
        self, node: AlphaBetaNode, i: int, state: pyspiel.State, depth: int, alpha: Pair, beta: Pair
    ) -> Questions[Claim]:
        """The i-th action of `node`, whose state is `state`, searched to `depth` plies from there."""
        if node.final[i]:
            return (node.completions[i], node.values[i]), True
        if depth == 1:
            return (0, node.estimates[i]), False
        child = cast("AlphaBetaNode | None", node.children.get(i))
        following = None
        if child is None:
            following = state.child(node.actions[i])
            key = self._tree.key(following)
            found = self._tree.table.get(key) or (yield from expand(self._tree, key, following))
            node.children[i] = child = cast(AlphaBetaNode, found)
        claim = child.known(depth - 1, alpha, beta)
        if claim is None:
            following = following or state.child(node.actions[i])
            claim = yield from self._search(child, following, depth - 1, alpha, beta)
        return claim

    def _search(
        self, node: AlphaBetaNode, state: pyspiel.State, depth: int, alpha: Pair, beta: Pair
    ) -> Questions[Claim]:
        """Fail-soft alpha-beta to `depth` ≥ 2, in the window (`alpha`, `beta`).

        The pair returned is exact if it lies inside the window, an upper bound if not above `alpha`, a lower bound if
        not below `beta`. A win or a loss is always exact in c: the window never lies beyond one, as nothing is
        searched on beside it.
        """
        maximises, won = node.kind is Kind.MAXIMISER, node.kind.won
        low, high = alpha, beta
        best = LEAST if maximises else GREATEST
        chosen, all_closed = -1, True
        keeps = depth >= node.depth and node is not self._root
        for i in node.order():
            pair, closed = yield from self._action(node, i, state, depth, low, high)
            all_closed = all_closed and closed
            child = cast("AlphaBetaNode | None", node.children.get(i))
            if child is not None and child.is_final:
                if node is not self._root:
                    node.settle(i, child)
            elif keeps and not node.final[i]:
                node.values[i] = pair[1]
            if pair > best if maximises else pair < best:
                best, chosen = pair, i
                low, high = (max(low, pair), high) if maximises else (low, min(high, pair))
                if low >= high or pair[0] == won:
                    all_closed = closed
                    break
        node.narrow(depth, best, alpha, beta, closed=all_closed)
        if node is not self._root:
            self._keep(node, depth, best, chosen, keeps=keeps)
        return best, all_closed

    def _keep(self, node: AlphaBetaNode, depth: int, best: Pair, chosen: int, *, keeps: bool) -> None:
        if keeps:
            node.value, node.depth, node.best, node.visits = best[1], depth, chosen, {chosen: depth}
        if node.is_final:
            node.value = node.floor[1]
            if self._tree.completion:
                node.completion, node.resolved = node.floor[0], True
