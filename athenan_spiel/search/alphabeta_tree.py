"""Tree of alpha-beta: static estimates of a state, and the bounds found by searches to each depth.

Pairs (c, v) are player 0's and compare in lexicographic order, as law 1 of `alphabeta` defines.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from typing import Self, cast

import pyspiel

from athenan_spiel.search.minimax_tree import NO_PROOFS, MinimaxTree
from athenan_spiel.search.node import Node, NodeKind
from athenan_spiel.search.proven_states import ProvenValue

Pair = tuple[float, float]
"""Pair (c, v), compared in this order."""
Claim = tuple[Pair, bool]
"""Result of a search of a state, and whether it depends on terminal states alone and so holds at any depth."""

LEAST: Pair = (-2, -math.inf)
GREATEST: Pair = (2, math.inf)


class AlphaBetaNode(Node):
    """A node with the results of searches of its state.

    Attributes:
        estimates: f(a(s)) of each action at its first evaluation; terminal actions have f_t.
        final: 1 for each action whose pair is final.
        floor, ceiling: lower and upper bound of the final pair.
        bounds: (lower, upper) bound of the pair for each depth searched.
        best: index of the last search's best action, which is tried first; -1 before it.
        depth: depth of the search that produced `value` and `values`.
        exact: number of best actions whose values the last iteration from this root made exact.
        iterated: depth of the last iteration from this root.
        settled: whether that iteration met no horizon, so a deeper one would find the same.
    """

    __slots__ = ("best", "bounds", "ceiling", "depth", "estimates", "exact", "final", "floor", "iterated", "settled")

    def __init__(self, actions: Sequence[int], values: list[float], kind: NodeKind) -> None:
        super().__init__(actions, values, kind)
        self.estimates = array("d", values)
        self.final = bytearray(len(values))
        self.floor = LEAST
        self.ceiling = GREATEST
        self.bounds: dict[int, tuple[Pair, Pair]] = {}
        self.best = -1
        self.depth = 1
        self.exact = 0
        self.iterated = 0
        self.settled = False

    def copy(self) -> Self:
        """Copies the node as `Node.copy` does."""
        twin = super().copy()
        twin.final = self.final[:]
        twin.bounds = self.bounds.copy()
        return twin

    @property
    def is_final(self) -> bool:
        """Whether the pair is known for every depth."""
        return self.floor == self.ceiling

    def order(self) -> list[int]:
        """Returns the actions in search order: the last search's best first, then by (c, v)."""
        ranked = sorted(
            range(len(self.values)),
            key=lambda i: (self.completions[i], self.values[i]),
            reverse=self.kind is NodeKind.MAXIMISER,
        )
        if self.best >= 0:
            ranked.remove(self.best)
            ranked.insert(0, self.best)
        return ranked

    def known(self, depth: int, alpha: Pair, beta: Pair) -> Claim | None:
        """Returns the known result of a search to `depth` in this window, or None."""
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
        """Returns the result of a search to depth 1. It needs no window, since all values are known."""
        pairs = [self.shallow(i) for i in range(len(self.estimates))]
        return self.kind.best(pairs), all(self.final)

    def shallow(self, i: int) -> Pair:
        """Returns the pair of the i-th action at the horizon."""
        return (self.completions[i], self.values[i]) if self.final[i] else (0, self.estimates[i])

    def settle(self, i: int, child: AlphaBetaNode) -> None:
        """Records that the pair of the i-th action, which leads to `child`, is final."""
        self.final[i] = 1
        self.values[i] = child.floor[1]
        if child.resolved:
            self.resolve(i, child.completion)

    def narrow(self, depth: int, pair: Pair, alpha: Pair, beta: Pair, *, closed: bool) -> None:
        """Narrows the bounds by the result of a search to `depth` in this window."""
        at_least = LEAST if pair <= alpha else pair
        at_most = GREATEST if pair >= beta else pair
        if pair[0] != 0:
            at_least = at_most = pair
            closed = True
        if closed:
            self.floor, self.ceiling = max(self.floor, at_least), min(self.ceiling, at_most)
        lower, upper = self.bounds.get(depth, (LEAST, GREATEST))
        self.bounds[depth] = max(lower, at_least), min(upper, at_most)


class AlphaBetaTree(MinimaxTree):
    """A tree of `AlphaBetaNode`s."""

    node_type = AlphaBetaNode

    def make(
        self,
        state: pyspiel.State,
        actions: Sequence[int],
        children: Sequence[pyspiel.State],
        ended: Sequence[bool],
        estimates: list[float],
        proofs: Mapping[int, ProvenValue] = NO_PROOFS,
    ) -> AlphaBetaNode:
        """Creates a node as `MinimaxTree.make` does. Terminal actions are final."""
        node = cast(AlphaBetaNode, super().make(state, actions, children, ended, estimates, proofs))
        if len(estimates) < len(children):
            node.final = bytearray(ended)
            if node.resolved or all(node.final):
                node.floor = node.ceiling = (node.completion, node.value)
        return node
