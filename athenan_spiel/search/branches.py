"""The tree below a node as branches to draw, within limits. Another thread may grow the tree meanwhile.

The lists and tables of each inspected node are copied first, each in one atomic step, so no copy is torn. The copies of
one node may be an iteration apart. A value may then briefly disagree with its proof. A node that several actions lead
to (a transposition) is drawn below each of them.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

import pyspiel

from athenan_spiel.drawing.evaluations import NodeEvaluation
from athenan_spiel.drawing.tree import Branch
from athenan_spiel.games.calibration import Calibration
from athenan_spiel.games.rows import is_proven_draw
from athenan_spiel.search.node import Node, RowNode, StochasticNode, Value
from athenan_spiel.search.walk import moves_to_end

MAX_LEVELS = 12
"""Maximum number of levels below the root."""
MAX_CHILDREN = 8
"""Maximum number of children per state."""
MAX_BRANCHES = 300
"""Approximate maximum number of branches. The most visited states are expanded first, while their actions fit."""

Order = Literal["value", "visits", "proof"]


def branch_of(
    node: Node,
    state: pyspiel.State,
    calibration: Calibration,
    *,
    player: int = 0,
    depth: int = MAX_LEVELS,
    width: int = MAX_CHILDREN,
    most: int = MAX_BRANCHES,
    by: Order = "value",
    name: str = "now",
) -> Branch:
    """Returns the node as a branch, with the branches below it.

    Args:
        node: node of the state, such as `SearchResult.node`.
        state: state that names the actions. No other thread may change it meanwhile.
        calibration: maps values to expected scores.
        player: player whose values are shown in a game with rows; otherwise they are player 0's.
        depth: maximum number of levels below the root.
        width: maximum number of children per branch.
        most: approximate maximum number of branches.
        by: order of children. "value" sorts by completion, value and visits, as Algorithm 11; "visits" by completion,
            visits and value, as Algorithm 13; "proof" puts all proven children first, also lost ones.
        name: name of the root.
    """
    visits, reader = sum(node.visits.copy().values()), player if isinstance(node, RowNode) else None
    value = node.value if reader is None else cast("Sequence[float]", node.value)[reader]
    gains = node.completion if node.resolved else None
    root = _BranchBuilder(name, value, visits, gains, node, state, calibration, reader)
    waiting, made = [(0, 0, root)], 1
    while waiting and made < most:
        _, _, builder = heapq.heappop(waiting)
        for child in builder.grow(width, by):
            made += 1
            if child.node is not None and child.level < depth:
                heapq.heappush(waiting, (-child.visits, made, child))
    return root.branch()


@dataclass(eq=False)
class _BranchBuilder:
    """A branch under construction."""

    name: str
    value: float
    visits: int
    gains: Value | None
    node: Node | None
    state: pyspiel.State
    calibration: Calibration
    reader: int | None = None
    action: int | None = None
    level: int = 0
    moves: int | None = None
    children: list[_BranchBuilder] = field(default_factory=list)
    more: int = 0

    def grow(self, width: int, by: Order) -> list[_BranchBuilder]:
        """Creates and returns the children, the best first."""
        node, state = self.node, self._own_state()
        assert node is not None
        actions, kind = node.actions, node.kind
        values, completions, resolutions = node.values[:], node.completions[:], node.resolutions[:]
        gains: Sequence[Value] = node.gains[:] if isinstance(node, StochasticNode) else completions
        shown: Sequence[float] = values
        if isinstance(node, RowNode) and self.reader is not None:
            gains = node.gain_rows[:]
            shown = [row[self.reader] for row in node.rows[:]]
        visits, children = node.visits.copy(), node.children.copy()
        sign = kind.won

        def sort_key(i: int) -> tuple[float, ...]:
            count, value, proof = float(visits.get(i, 0)), sign * values[i], sign * completions[i]
            if by == "proof":
                return bool(resolutions[i]), proof, value, count
            return proof, *((value, count) if by == "value" else (count, value))

        best = heapq.nlargest(width, range(len(actions)), sort_key)
        self.more = len(actions) - len(best)
        mover = state.current_player()
        self.children = [
            _BranchBuilder(
                name=state.action_to_string(mover, actions[i]),
                value=shown[i],
                visits=visits.get(i, 0),
                gains=gains[i] if resolutions[i] else None,
                node=children.get(i),
                state=state,
                calibration=self.calibration,
                reader=self.reader,
                action=actions[i],
                level=self.level + 1,
                moves=moves_to_end(node, i, state) if resolutions[i] else None,
            )
            for i in best
        ]
        return self.children

    def branch(self) -> Branch:
        """Returns the finished branch."""
        below = tuple(child.branch() for child in self.children)
        proof, is_draw = None, False
        if self.gains is not None:
            gains = [self.gains] if self.reader is None else list(self.gains)
            proof, is_draw = float(gains[self.reader or 0]), is_proven_draw(self.state, gains)
        players = self.state.num_players()
        found = NodeEvaluation(
            self.value, proof, self.visits, players, self.reader, self.calibration, self.moves, is_draw
        )
        return Branch(self.name, found, below, self.more)

    def _own_state(self) -> pyspiel.State:
        """Returns the state of the branch. `state` is the state in which its action is played."""
        return self.state if self.action is None else self.state.child(self.action)
