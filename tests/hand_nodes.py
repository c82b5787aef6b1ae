"""Nodes made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fake_game import FIRST_ACTION

from athenan_spiel.search.node import Node, NodeKind


def kind(maximises: bool) -> NodeKind:
    """The kind of a node where player 0 is to move, or of one where player 1 is."""
    return NodeKind.MAXIMISER if maximises else NodeKind.MINIMISER


def node_of(
    worth: Sequence[float],
    *,
    maximises: bool = True,
    proven: Mapping[int, int] | None = None,
    visits: Mapping[int, int] | None = None,
) -> Node:
    """A node written for a maximiser; a minimiser's has the signs of values and completions turned.

    Args:
        worth: v(s, a) of each action; these are numbered from the fake game's first on.
        proven: c(s, a) of the resolved actions, by index.
        visits: n(s, a), by index.
    """
    sign = 1 if maximises else -1
    node = Node(range(FIRST_ACTION, FIRST_ACTION + len(worth)), [sign * w for w in worth], kind(maximises))
    for i, completion in (proven or {}).items():
        node.resolve(i, sign * completion)
    node.visits = dict(visits or {})
    return node
