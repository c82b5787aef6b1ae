"""An expanded state of the game tree, and how values travel up through it.

A `Node` is an expanded state s. For each action a of s it keeps what the search knew of the state a(s) when it last
came back from it: v(s, a), c(s, a), r(s, a) and n(s, a), in the symbols of the article's Table 1. What holds of every
node:

1. Values and completions are the first player's. The best of them is what the node's kind says: to a maximiser the
   largest.
2. c(s, a) is not 0 only if r(s, a) is 1: a win or a loss is known only when it is proven.
3. r(s, a) = 1 is a proof: c(s, a) is then the game-theoretic gain of a(s). It is never taken back.
4. (c(s), v(s)) is what the kind's backup makes of those of the actions: of a maximiser and of a minimiser the best
   (c(s, a), v(s, a)) in lexicographic order; r(s) is 1 if |c(s)| = 1 or all r(s, a) are.
5. v(s, a) may be older than v(a(s)), where another path has been through a(s) since (Remark 13).
"""

from __future__ import annotations

import copy
import math
from array import array
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Self

import pyspiel

from athenan_spiel.games.given import PLAYERS, mover_of


def back_up_best(node: Node) -> None:
    """(c(s), v(s)) ← best (c(s, a), v(s, a)), then backup_resolution of Algorithm 11."""
    best = node.kind.best
    if node.unresolved == len(node.values):
        node.value = best(node.values)
        return
    node.completion = completion = best(node.completions)
    node.value = best([v for v, c in zip(node.values, node.completions, strict=True) if c == completion])
    node.resolved = completion != 0 or node.unresolved == 0


class Kind(Enum):
    """Whose node it is: what is best to who chooses there, and how its value comes from those of its actions.

    A node where chance moves would be one more kind, with another backup.

    Attributes:
        best, worst: `max` and `min`, or the other way round.
        won: the completion that is a win of who chooses.
        lost: the value that is worse than all others to who chooses, -∞ or ∞.
        backup: sets v(s), c(s) and r(s) of a node.
    """

    MAXIMISER = (max, min, 1, back_up_best)
    MINIMISER = (min, max, -1, back_up_best)

    def __init__(
        self, best: Callable[..., Any], worst: Callable[..., Any], won: int, backup: Callable[[Node], None]
    ) -> None:
        self.best = best
        self.worst = worst
        self.won = won
        self.lost = -won * math.inf
        self.backup = backup


_OF_PLAYERS = dict(zip(PLAYERS, Kind, strict=True))


def kind_of(state: pyspiel.State) -> Kind:
    """The kind of the node of `state`: whoever grows a tree asks here who moves, and nowhere else.

    Raises:
        SearchError: neither player 0 nor player 1 is to choose an action in it.
    """
    return _OF_PLAYERS[mover_of(state)]


class Node:
    """An expanded state. Lists are parallel to `actions`; `visits` and `children` hold only actions once selected.

    `ply` is the number of actions played before it.
    """

    __slots__ = (
        "actions",
        "children",
        "completion",
        "completions",
        "kind",
        "observation",
        "ply",
        "resolutions",
        "resolved",
        "unresolved",
        "value",
        "values",
        "visits",
    )

    def __init__(self, actions: Sequence[int], values: list[float], kind: Kind) -> None:
        self.actions = array("q", actions)
        self.values = values
        self.completions = array("b", bytes(len(values)))
        self.resolutions = bytearray(len(values))
        self.visits: dict[int, int] = {}
        self.children: dict[int, Node] = {}
        self.kind = kind
        self.value = 0.0
        self.completion = 0
        self.resolved = False
        self.unresolved = len(values)
        self.observation = -1
        self.ply = 0

    def resolve(self, i: int, completion: int) -> None:
        """Note the proof that the i-th action leads to gain `completion`."""
        if not self.resolutions[i]:
            self.resolutions[i] = 1
            self.completions[i] = completion
            self.unresolved -= 1

    def update(self, i: int, child: Node) -> None:
        """r(s, a), c(s, a), v(s, a) ← r(a(s)), c(a(s)), v(a(s)) for the i-th action."""
        self.children[i] = child
        self.values[i] = child.value
        if child.resolved:
            self.resolve(i, child.completion)

    def backup(self) -> None:
        """v(s), c(s), r(s) ← what they are by those of the actions."""
        self.kind.backup(self)

    def count(self, i: int) -> int:
        """n(s, a) of the i-th action."""
        return self.visits.get(i, 0)

    def copy(self) -> Self:
        """A node of the same labels, which it can change on its own, above the same children."""
        twin = copy.copy(self)
        twin.values = self.values[:]
        twin.completions = self.completions[:]
        twin.resolutions = self.resolutions[:]
        twin.visits = self.visits.copy()
        return twin
