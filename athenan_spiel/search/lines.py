"""Iteration over several lines of a tree: the best line, then the best line if the first were lost, and so on.

The end of each line is treated as lost for the player who moves last on it, until all lines are found. The next line is
then the best remaining one. Each state where a line leaves the tree is a leaf that the best line would reach if its
values were slightly worse. The children of all these leaves are evaluated in one call.
"""

from __future__ import annotations

import random
from collections.abc import Hashable

import pyspiel

from athenan_spiel.games.children import Joined
from athenan_spiel.search.choice import Decision
from athenan_spiel.search.minimax_tree import MinimaxTree
from athenan_spiel.search.node import Node, NodeKind, Value
from athenan_spiel.search.walk import Requests, SearchInterrupted, Walk

BATCH_STATES = 96
"""Target number of children per iteration: no further line is added once the leaves have this many.

Each leaf counts as many children as its parent has. A network gains little speed from larger batches, and in games with
many actions more lines would make the search too wide.
"""


def iteration_over_lines(
    tree: MinimaxTree, select: Decision, state: pyspiel.State, rng: random.Random, root: Node, most: int
) -> Requests[Node]:
    """Finds lines, expands their leaves and backs up all values. Returns the root's node.

    Args:
        select, state, rng, root: as for a `Walk`.
        most: maximum number of lines.
    """
    walks, leaves = _lines(tree, select, state, rng, root, most)
    try:
        yield from _expanded(leaves)
    except SearchInterrupted:
        for walk in walks:
            walk.undo_visits()
        raise
    _back_up(walks)
    return root


def _lines(
    tree: MinimaxTree, select: Decision, state: pyspiel.State, rng: random.Random, root: Node, most: int
) -> tuple[list[Walk], list[Walk]]:
    """Returns all lines, and those that end at a leaf."""
    walks: list[Walk] = []
    leaves: dict[Hashable, Walk] = {}
    lost = _Lost()
    states = 0
    while True:
        walk = Walk(tree, select, state, rng, root)
        if not walk.reaches_leaf():
            walks.append(walk)  # the line has ended; its backup may change which lines are best
            break
        if walk.key in leaves:
            walk.undo_visits()  # a transposition to a leaf that another line has reached
        else:
            walks.append(walk)
            leaves[walk.key] = walk
            states += len(walk.path[-1][0].values) if walk.path else 0
        if len(walks) >= most or states >= BATCH_STATES:
            break
        lost.add(walk)
        if lost.is_all:
            break
    lost.restore()
    return walks, [*leaves.values()]


class _Lost:
    """Lines treated as lost for the player who moves last on them, until `restore`.

    If all unresolved actions of a node are treated as lost, the action that leads to the node is lost for its player,
    too: the node has no line left.

    Attributes:
        is_all: the root has no line left.
    """

    def __init__(self) -> None:
        self.is_all = False
        self._before: list[tuple[Node, Value, int, Value]] = []

    def add(self, walk: Walk) -> None:
        """Treats the line of this walk as lost."""
        is_lost = True
        value: Value = 0.0
        for node, i in reversed(walk.path):
            kind, before = node.kind, node.value_of(i)
            if is_lost:
                if kind is NodeKind.CHANCE:
                    continue  # the action that leads to chance is lost for its player
                value = kind.lost
            elif before == value:
                return  # nothing changes above
            self._before.append((node, node.value, i, before))
            node.assume(i, value)
            kind.backup(node)
            value = node.value
            if is_lost:  # if the node has a line left, so have all nodes above it
                is_lost = _has_no_line(node)
        self.is_all = is_lost

    def restore(self) -> None:
        """Restores the values of all nodes and actions."""
        for node, value, i, of_action in reversed(self._before):
            node.value = value
            node.assume(i, of_action)


def _has_no_line(node: Node) -> bool:
    """Returns whether all unresolved actions of the node are treated as lost."""
    lost = node.kind.lost
    if node.unresolved == len(node.values):
        return bool(node.kind.best(node.values) == lost)
    return all(value == lost or resolved for value, resolved in zip(node.values, node.resolutions, strict=True))


def _expanded(walks: list[Walk]) -> Requests[None]:
    """Expands the leaves of these walks, and requests the values of all their children in one batch."""
    asking, request = [], Joined()
    for walk in walks:
        requests = walk.expand()
        try:
            states = next(requests)
        except StopIteration as finished:
            walk.node = finished.value
            continue
        asking.append((walk, requests, len(request), len(states)))
        request.append(states)
    if not asking:
        return
    answer = yield request
    for walk, requests, start, count in asking:
        try:
            requests.send(answer.part(start, start + count))
        except StopIteration as finished:
            walk.node = finished.value


def _back_up(walks: list[Walk]) -> None:
    """Backs up all values to the root. A node on several walks is first updated from all of them."""
    for depth in range(max(len(walk.path) for walk in walks) - 1, -1, -1):
        changed = {}
        for walk in walks:
            below = depth + 1 - len(walk.path)
            if below > 0:
                continue
            node, i = walk.path[depth]
            child = walk.path[depth + 1][0] if below else walk.node
            if child is not None:
                node.update(i, child)
            changed[id(node)] = node
        for node in changed.values():
            node.kind.backup(node)
