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

import math
import random
from array import array
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Self, cast

import pyspiel

from athenan_spiel.errors import SearchError
from athenan_spiel.resolved import Proof
from athenan_spiel.search.base import Search
from athenan_spiel.search.walk import Questions, expand
from athenan_spiel.transpositions import Key
from athenan_spiel.tree import NO_PROOFS, Node, Tree

DEEPEST = 256
"""No search goes deeper: each ply is a generator within a generator, and Python's stack has room for 1000."""

Pair = tuple[int, float]
"""(c, v), compared in this order."""
Claim = tuple[Pair, bool]
"""What a search of a state returned, and whether it rests on terminal states alone, and so holds at any depth."""

LEAST: Pair = (-2, -math.inf)
GREATEST: Pair = (2, math.inf)


class AlphaBetaNode(Node):
    """A node with what searches of its state have found.

    Attributes:
        estimates: f(a(s)) of each action as first valued; terminal actions have f_t.
        final: 1 for each action whose pair is final.
        floor, ceiling: the final pair lies between them.
        bounds: (lower, upper) bound of the pair for each depth searched.
        best: index of the best action of the last search, which is tried first; -1 before it.
        depth: of the search that value and values come from.
        iterated: the depth of the last iteration that began here.
        settled: that iteration met no horizon, so a deeper one would find the same.
    """

    __slots__ = ("best", "bounds", "ceiling", "depth", "estimates", "final", "floor", "iterated", "settled")

    def __init__(self, actions: Sequence[int], values: list[float], *, maximises: bool) -> None:
        super().__init__(actions, values, maximises=maximises)
        self.estimates = array("d", values)
        self.final = bytearray(len(values))
        self.floor = LEAST
        self.ceiling = GREATEST
        self.bounds: dict[int, tuple[Pair, Pair]] = {}
        self.best = -1
        self.depth = 1
        self.iterated = 0
        self.settled = False

    def copy(self) -> Self:
        """As `Node.copy`."""
        twin = super().copy()
        twin.final = self.final[:]
        twin.bounds = self.bounds.copy()
        return twin

    @property
    def is_final(self) -> bool:
        """The pair is known for every depth."""
        return self.floor == self.ceiling

    def order(self) -> list[int]:
        """The actions as they are to be tried: the last search's best, then by (c, v)."""
        ranked = sorted(
            range(len(self.values)), key=lambda i: (self.completions[i], self.values[i]), reverse=self.maximises
        )
        if self.best >= 0:
            ranked.remove(self.best)
            ranked.insert(0, self.best)
        return ranked

    def known(self, depth: int, alpha: Pair, beta: Pair) -> Claim | None:
        """What a search to `depth` in this window would return, if it is known without one."""
        floor, ceiling = self.floor, self.ceiling
        if floor >= beta or floor == ceiling:
            return floor, True
        if ceiling <= alpha:
            return ceiling, True
        if depth == 1:
            return self._horizon()
        lower, upper = self.bounds.get(depth, (LEAST, GREATEST))
        if lower >= beta or lower == upper:
            return lower, False
        if upper <= alpha:
            return upper, False
        return None

    def _horizon(self) -> Claim:
        """A search to depth 1: no window is needed, as all is there."""
        best = max if self.maximises else min
        pairs = [self.shallow(i) for i in range(len(self.estimates))]
        return best(pairs), all(self.final)

    def shallow(self, i: int) -> Pair:
        """The pair of the i-th action at the horizon."""
        return (self.completions[i], self.values[i]) if self.final[i] else (0, self.estimates[i])

    def settle(self, i: int, child: AlphaBetaNode) -> None:
        """Note that the pair of the i-th action, which leads to `child`, is final."""
        self.final[i] = 1
        self.values[i] = child.floor[1]
        if child.resolved:
            self.resolve(i, child.completion)

    def narrow(self, depth: int, pair: Pair, alpha: Pair, beta: Pair, *, closed: bool) -> None:
        """Take in what a search to `depth` in this window returned."""
        at_least = LEAST if pair <= alpha else pair
        at_most = GREATEST if pair >= beta else pair
        if pair[0] != 0:
            at_least = at_most = pair
            closed = True
        if closed:
            self.floor, self.ceiling = max(self.floor, at_least), min(self.ceiling, at_most)
        lower, upper = self.bounds.get(depth, (LEAST, GREATEST))
        self.bounds[depth] = max(lower, at_least), min(upper, at_most)


class AlphaBetaTree(Tree):
    """A tree of `AlphaBetaNode`s."""

    node_type = AlphaBetaNode

    def add(
        self,
        key: Hashable,
        state: pyspiel.State,
        actions: Sequence[int],
        children: Sequence[pyspiel.State],
        estimates: list[float],
        proofs: Mapping[int, Proof] = NO_PROOFS,
    ) -> AlphaBetaNode:
        """As `Tree.add`; what is terminal is final."""
        node = cast(AlphaBetaNode, super().add(key, state, actions, children, estimates, proofs))
        if len(estimates) < len(children):
            node.final = bytearray(child.is_terminal() for child in children)
            if node.resolved or all(node.final):
                node.floor = node.ceiling = (node.completion, node.value)
        return node


class AlphaBeta(Search):
    """Iterative-deepening alpha-beta; the file's docstring numbers what it promises.

    Args:
        game, outcome, completion, key: as for every search.
        depth: the greatest depth, in actions from the root; `depth=1` is the depth-1 minimax of the papers' common
            protocol (Section 3.3). None: as deep as the budget lets it.

    Raises:
        SearchError: `depth` is not in [1, DEEPEST].
    """

    tree_type = AlphaBetaTree
    interruptible = True

    def __init__(
        self,
        game: pyspiel.Game,
        *,
        outcome: Callable[[pyspiel.State], float] | None = None,
        completion: bool = True,
        key: Key | None = None,
        depth: int | None = None,
    ) -> None:
        super().__init__(game, outcome=outcome, completion=completion, key=key)
        if depth is not None and not 1 <= depth <= DEEPEST:
            raise SearchError(
                f"the depth of alpha-beta must be from 1 to {DEEPEST}, or None for no limit; got {depth!r}"
            )
        self.depth = DEEPEST if depth is None else depth

    def finished(self, root: Node) -> bool:
        """No deeper search could change what a search from here has found, or none is allowed."""
        node = cast(AlphaBetaNode, root)
        if node.iterated:
            return node.settled or node.iterated >= self.depth
        return node.completion != 0 or (node.resolved and node.unresolved == 0)

    def iteration(
        self, tree: Tree, state: pyspiel.State, rng: random.Random, root: Node | None = None
    ) -> Questions[Node]:
        """One search to a depth that is one greater than that of the last iteration from `state`.

        Where the pair of `state` is final from searches of earlier states, the first depth is that which showed it: at
        a lesser one the actions' values would not tell which of them has that pair.
        """
        if root is None:
            key = tree.key(state)
            root = tree.table.get(key) or (yield from expand(tree, key, state))
        node = cast(AlphaBetaNode, root)
        first = node.depth if node.is_final else 1
        depth = node.iterated + 1 if node.iterated else first
        yield from _DepthSearch(tree, node).search_root(state, min(depth, self.depth), rng)
        return node


class _DepthSearch:
    """One iteration: an alpha-beta search to one depth."""

    def __init__(self, tree: Tree, root: AlphaBetaNode) -> None:
        self._tree = tree
        self._root = root

    def search_root(self, state: pyspiel.State, depth: int, rng: random.Random) -> Questions[None]:
        """Search the root; its labels change at the end alone (promise 7).

        The window's end stays below the best pair, by the least that floats can tell, so an equal one is no bound.
        """
        root = self._root
        won = 1 if root.maximises else -1
        alpha, beta = LEAST, GREATEST
        claims: dict[int, Claim] = {}
        for i in root.order():
            claims[i] = pair, _ = yield from self._action(root, i, state, depth, alpha, beta)
            if pair[0] == won:
                break
            if root.maximises:
                alpha = max(alpha, (pair[0], math.nextafter(pair[1], -math.inf)))
            else:
                beta = min(beta, (pair[0], math.nextafter(pair[1], math.inf)))
        self._conclude(depth, claims, rng)

    def _conclude(self, depth: int, claims: Mapping[int, Claim], rng: random.Random) -> None:
        root = self._root
        extreme = max if root.maximises else min
        best = extreme(pair for pair, _ in claims.values())
        equals = [i for i, (pair, _) in claims.items() if pair == best]
        root.best = equals[0] if len(equals) == 1 else rng.choice(equals)
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
        maximises, won = node.maximises, 1 if node.maximises else -1
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
