"""The tree below a node as branches that can be drawn, within bounds; another thread may grow it meanwhile.

Of each node that is looked at its lists and tables are copied first, each at one stroke. So no copy is torn; those of
one node may be an iteration apart, which shows for a moment as a value that its proof does not bear out yet. A node
that several actions lead to (a transposition) is drawn below each of them.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Literal

import pyspiel

from athenan_spiel.drawing.tree import Branch
from athenan_spiel.search.node import Node

DEPTH = 12
"""Levels below the root at most."""
WIDTH = 8
"""Children of a state at most."""
MOST = 300
"""Branches in all, about: as many states are unfolded, the most visited first, as there is room for their actions."""

Order = Literal["value", "visits", "proof"]


def branch_of(
    node: Node,
    state: pyspiel.State,
    *,
    depth: int = DEPTH,
    width: int = WIDTH,
    most: int = MOST,
    by: Order = "value",
    name: str = "now",
) -> Branch:
    """The node as a branch, with what lies below it.

    Args:
        node: of the state, such as `SearchResult.node`.
        state: says the names of the actions; nobody else may change it meanwhile.
        depth: levels below the root at most.
        width: children of a branch at most.
        most: branches in all, about.
        by: how children are ordered: after what is proven as Algorithm 11 has it, by value, then by visits, or as
            Algorithm 13 has it, the other way round; or with "proof" all that are proven first, lost ones too.
        name: of the root.
    """
    root = _Sprout(name, node.value, sum(node.visits.copy().values()), _proof(node), node, state)
    waiting, made = [(0, 0, root)], 1
    while waiting and made < most:
        _, _, sprout = heapq.heappop(waiting)
        for child in sprout.grow(width, by):
            made += 1
            if child.node is not None and child.level < depth:
                heapq.heappush(waiting, (-child.visits, made, child))
    return root.branch()


@dataclass(eq=False)
class _Sprout:
    """A branch in the making."""

    name: str
    value: float
    visits: int
    completion: int | None
    node: Node | None
    state: pyspiel.State
    action: int | None = None
    level: int = 0
    children: list[_Sprout] = field(default_factory=list)
    more: int = 0

    def grow(self, width: int, by: Order) -> list[_Sprout]:
        """Its children, the best first."""
        node, state = self.node, self._own_state()
        assert node is not None
        actions, kind = node.actions, node.kind
        values, completions, resolutions = node.values[:], node.completions[:], node.resolutions[:]
        visits, children = node.visits.copy(), node.children.copy()
        sign = kind.won

        def interest(i: int) -> tuple[float, ...]:
            count, worth, proof = float(visits.get(i, 0)), sign * values[i], sign * completions[i]
            if by == "proof":
                return bool(resolutions[i]), proof, worth, count
            return proof, *((worth, count) if by == "value" else (count, worth))

        best = heapq.nlargest(width, range(len(actions)), interest)
        self.more = len(actions) - len(best)
        mover = state.current_player()
        self.children = [
            _Sprout(
                name=state.action_to_string(mover, actions[i]),
                value=values[i],
                visits=visits.get(i, 0),
                completion=completions[i] if resolutions[i] else None,
                node=children.get(i),
                state=state,
                action=actions[i],
                level=self.level + 1,
            )
            for i in best
        ]
        return self.children

    def branch(self) -> Branch:
        """What it has become."""
        below = tuple(child.branch() for child in self.children)
        return Branch(self.name, self.value, self.visits, self.completion, below, self.more)

    def _own_state(self) -> pyspiel.State:
        """The state it leads to: `state` is where its action is played."""
        return self.state if self.action is None else self.state.child(self.action)


def _proof(node: Node) -> int | None:
    return node.completion if node.resolved else None
