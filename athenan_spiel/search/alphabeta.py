"""Iterative-deepening alpha-beta with move ordering (the article, Section 2.1; *Minimax Strikes Back*, 3.1 and 3.3).

It is for games without chance; `expectiminimax` is its counterpart in games with chance.

An iteration is one alpha-beta search of the whole tree to a depth, in actions from the root: 1 in the first iteration
from a root, then 2, and so on. The search satisfies:

1. States are compared by pairs (c, v) in lexicographic order: a terminal state is (gain, f_t), one at the horizon
   (0, f). Without completion c is always 0. After an iteration to depth d the root's pair is the minimax pair of the
   tree cut at depth d, and every action of the root's best value has exactly that pair. The values of the others are
   bounds worse than the best, so no selection by value mistakes a bound for a best move. `with_exact_actions(n)` also
   makes the pairs of the n best actions exact; those of the others are bounds not better than the n-th.
2. A state is final if its pair holds at any depth. It is then a proven win or loss, with the v of the line that proved
   it, or its pair depends on terminal states alone. A final state is not searched again. With completion it is
   resolved: r(s) = 1 also if bounds prove c(s), although law 4 of `node` would require every r(s, a).
3. v(s) of a state below the root is the result of its last search to its greatest depth (fail-soft). Inside the window
   it is the minimax value. After a cutoff it is a bound, the best value that the search found. Tree learning uses it
   unchanged. v(s, a) of actions that were cut off are older.
4. n(s, a) is the depth of the last search of s if a was its best action, and 0 for all other actions.
5. All children of a state are evaluated in one request, when a search first enters the state. The values are kept for
   the horizon and for move ordering, so a search to depth 1 makes one request.
6. The best action of the last search is tried first, then the others by (c, v). Results of past searches of a state are
   kept for the whole game, and reused for the same depth only.
7. An abandoned iteration leaves the root unchanged. Its results for deeper states are kept, because they are sound.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Mapping
from typing import Self, Unpack, cast

import pyspiel

from athenan_spiel.errors import SearchError
from athenan_spiel.games.chance import has_chance
from athenan_spiel.search.alphabeta_tree import GREATEST, LEAST, AlphaBetaNode, AlphaBetaTree, Claim, Pair
from athenan_spiel.search.choice import draw
from athenan_spiel.search.depth_first import DepthFirstSearch
from athenan_spiel.search.minimax import ProvingOptions
from athenan_spiel.search.minimax_tree import MinimaxTree
from athenan_spiel.search.node import Node, NodeKind
from athenan_spiel.search.walk import Requests, expand


class AlphaBeta(DepthFirstSearch):
    """Iterative-deepening alpha-beta. The module's docstring lists its laws.

    Args:
        game, outcome, completion, key: as for every search.
        depth: as for every `DepthFirstSearch`.

    Raises:
        UnsupportedGameError: as every search.
        SearchError: the game has chance, or as every `DepthFirstSearch`.
    """

    tree_type = AlphaBetaTree

    def __init__(
        self, game: pyspiel.Game | str, *, depth: int | None = None, **options: Unpack[ProvingOptions]
    ) -> None:
        super().__init__(game, depth=depth, **options)
        if has_chance(self.game):
            raise SearchError(f"alpha-beta requires a game without chance, got {str(self.game)!r}: use Expectiminimax")
        self._exact = 1

    def with_exact_actions(self, count: int) -> Self:
        """As `Search.with_exact_actions`; law 1."""
        other = copy.copy(self)
        other._exact = count
        return other

    def finished(self, root: Node) -> bool:
        """Returns whether a deeper search would change nothing, or exceeds the maximum depth."""
        node = cast(AlphaBetaNode, root)
        if node.exact < self._needed(node):
            return False
        if node.iterated:
            return node.settled or node.iterated >= self.depth
        return node.completion != 0 or (node.resolved and node.unresolved == 0)

    def search_deeper(self, tree: MinimaxTree, root: Node, state: pyspiel.State, rng: random.Random) -> Requests[None]:
        """As `DepthFirstSearch.search_deeper`.

        If searches of earlier states made the pair of `state` final, the first depth is the one that proved it. At a
        smaller depth the actions' values would not show which of them has that pair. If the last iteration made fewer
        actions exact, the depths are searched again: the actions that lack a value soon have one.
        """
        node = cast(AlphaBetaNode, root)
        first = node.depth if node.is_final else 1
        depth = node.iterated + 1 if node.iterated and node.exact >= self._needed(node) else first
        search = _DepthSearch(cast(AlphaBetaTree, tree), node, self._exact)
        yield from search.search_root(state, min(depth, self.depth), rng)

    def _needed(self, root: Node) -> int:
        """Returns the number of exact actions that an earlier iteration from `root` may lack; 0 for a single one."""
        return min(self._exact, len(root.actions)) if self._exact > 1 else 0


class _DepthSearch:
    """Alpha-beta search to one depth, which is one iteration.

    Args:
        exact: number of best actions of the root whose pairs are exact.
    """

    def __init__(self, tree: AlphaBetaTree, root: AlphaBetaNode, exact: int) -> None:
        self._tree = tree
        self._root = root
        self._exact = exact

    def search_root(self, state: pyspiel.State, depth: int, rng: random.Random) -> Requests[None]:
        """Searches the root. Its labels change only at the end (law 7).

        The window is wider than the last of the best pairs by the smallest float step, so a pair equal to it is exact,
        not a bound.
        """
        root = self._root
        won, maximises = root.kind.won, root.kind is NodeKind.MAXIMISER
        alpha, beta = LEAST, GREATEST
        claims: dict[int, Claim] = {}
        leaders: list[Pair] = []
        for i in root.order():
            claims[i] = pair, _ = yield from self._action(root, i, state, depth, alpha, beta)
            leaders = sorted([*leaders, pair], reverse=maximises)[: self._exact]
            if len(leaders) < self._exact:
                continue
            completion, value = leaders[-1]
            if completion == won:
                break
            if maximises:
                alpha = max(alpha, (completion, math.nextafter(value, -math.inf)))
            else:
                beta = min(beta, (completion, math.nextafter(value, math.inf)))
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
        root.exact = min(self._exact, len(root.actions))
        root.settled = best[0] != 0 or all(closed for _, closed in claims.values())
        root.narrow(depth, best, LEAST, GREATEST, closed=root.settled)
        root.resolved = root.is_final and self._tree.completion

    def _action(
        self, node: AlphaBetaNode, i: int, state: pyspiel.State, depth: int, alpha: Pair, beta: Pair
    ) -> Requests[Claim]:
        """Searches the i-th action of `node` to `depth` plies from `state`, the state of `node`."""
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
    ) -> Requests[Claim]:
        """Runs fail-soft alpha-beta to `depth` ≥ 2, in the window (`alpha`, `beta`).

        The returned pair is exact inside the window, an upper bound if not above `alpha`, and a lower bound if not
        below `beta`. A win or a loss is always exact in c: the search stops at one, so the window never lies beyond it.
        """
        maximises, won = node.kind is NodeKind.MAXIMISER, node.kind.won
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
