"""What alpha-beta keeps of a state: its static estimates, and the bounds that searches to each depth have found.

Pairs (c, v) are player 0's and compare in lexicographic order, as promise 1 of `alphabeta` has it.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from typing import Self, cast

import pyspiel

from athenan_spiel.search.minimax_tree import NO_PROOFS, MinimaxTree
from athenan_spiel.search.node import Kind, Node
from athenan_spiel.search.proven_states import ProvenValue

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

    def __init__(self, actions: Sequence[int], values: list[float], kind: Kind) -> None:
        super().__init__(actions, values, kind)
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
            range(len(self.values)),
            key=lambda i: (self.completions[i], self.values[i]),
            reverse=self.kind is Kind.MAXIMISER,
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
        pairs = [self.shallow(i) for i in range(len(self.estimates))]
        return self.kind.best(pairs), all(self.final)

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
        """As `MinimaxTree.make`; what is terminal is final."""
        node = cast(AlphaBetaNode, super().make(state, actions, children, ended, estimates, proofs))
        if len(estimates) < len(children):
            node.final = bytearray(ended)
            if node.resolved or all(node.final):
                node.floor = node.ceiling = (node.completion, node.value)
        return node
