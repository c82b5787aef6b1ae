"""Several lines of a tree at once: the best one, then the one that would be best if that were lost, and so on.

The end of a line is looked upon as lost to whoever moves last on it, until all lines are found; the line after it is
the best one by what follows from that. So each state where a line leaves the tree is a leaf that the best line would
come to, were its values only a little worse. The children of all these leaves are valued in one call.
"""

from __future__ import annotations

import random
from collections.abc import Hashable

import pyspiel

from athenan_spiel.games.children import Joined
from athenan_spiel.search.choice import Decision
from athenan_spiel.search.minimax_tree import MinimaxTree
from athenan_spiel.search.node import Node
from athenan_spiel.search.walk import Enough, Questions, Walk

ENOUGH_STATES = 96
"""No line is added to those whose leaves have about so many children, each as many as its parent: a network is hardly
faster by larger batches, and where there are many actions so many lines are too wide."""


def iteration_over_lines(
    tree: MinimaxTree, select: Decision, state: pyspiel.State, rng: random.Random, root: Node, most: int
) -> Questions[Node]:
    """Find at most so many lines, expand all their leaves, carry all values back; answers the root's node.

    Args:
        select, state, rng, root: as of a `Walk`.
    """
    walks, leaves = _lines(tree, select, state, rng, root, most)
    try:
        yield from _expanded(leaves)
    except Enough:
        for walk in walks:
            walk.take_back()
        raise
    _back_up(walks)
    return root


def _lines(
    tree: MinimaxTree, select: Decision, state: pyspiel.State, rng: random.Random, root: Node, most: int
) -> tuple[list[Walk], list[Walk]]:
    """The lines, and those of them that stand on a leaf."""
    walks: list[Walk] = []
    leaves: dict[Hashable, Walk] = {}
    lost = _Lost()
    states = 0
    while True:
        walk = Walk(tree, select, state, rng, root)
        if not walk.reaches_leaf():
            walks.append(walk)  # its line has ended: what is carried back may change which are best
            break
        if walk.key in leaves:
            walk.take_back()  # another way to that leaf
        else:
            walks.append(walk)
            leaves[walk.key] = walk
            states += len(walk.path[-1][0].values) if walk.path else 0
        if len(walks) >= most or states >= ENOUGH_STATES:
            break
        lost.add(walk)
        if lost.is_all:
            break
    lost.restore()
    return walks, [*leaves.values()]


class _Lost:
    """Lines that are looked upon as lost to whoever moves last on them, until `restore`.

    Where all unresolved actions of a node are so, the action that led there counts as lost to who chose it, too: the
    node has no line to offer any more.

    Attributes:
        is_all: no line is left at the root.
    """

    def __init__(self) -> None:
        self.is_all = False
        self._before: list[tuple[Node, float, int, float]] = []

    def add(self, walk: Walk) -> None:
        """Look upon the line of this walk as lost."""
        is_lost, value = True, 0.0
        for node, i in reversed(walk.path):
            values, kind = node.values, node.kind
            if is_lost:
                value = kind.lost
            elif values[i] == value:
                return  # nothing changes above
            self._before.append((node, node.value, i, values[i]))
            values[i] = value
            kind.backup(node)
            value = node.value
            if is_lost:  # a node above one that has a line left has it, too
                is_lost = _has_no_line(node)
        self.is_all = is_lost

    def restore(self) -> None:
        """Give all nodes and actions the values back that they had."""
        for node, value, i, of_action in reversed(self._before):
            node.value, node.values[i] = value, of_action


def _has_no_line(node: Node) -> bool:
    """Whether all unresolved actions of the node are looked upon as lost."""
    lost = node.kind.lost
    if node.unresolved == len(node.values):
        return node.value == lost
    return all(value == lost or resolved for value, resolved in zip(node.values, node.resolutions, strict=True))


def _expanded(walks: list[Walk]) -> Questions[None]:
    """Expand the leaves that these walks stand on, and ask for the values of all their children at once."""
    asking, question = [], Joined()
    for walk in walks:
        questions = walk.expand()
        try:
            states = next(questions)
        except StopIteration as finished:
            walk.node = finished.value
            continue
        asking.append((walk, questions, len(question), len(states)))
        question.append(states)
    if not asking:
        return
    answer = yield question
    for walk, questions, start, count in asking:
        try:
            questions.send(answer.part(start, start + count))
        except StopIteration as finished:
            walk.node = finished.value


def _back_up(walks: list[Walk]) -> None:
    """Carry all values up to the root; a node that several walks came by first takes the values of all."""
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
