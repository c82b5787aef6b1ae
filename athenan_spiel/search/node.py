"""An expanded state of the game tree, and how values travel up through it.

A `Node` is an expanded state s. For each action a of s it keeps what the search knew of the state a(s) when it last
came back from it: v(s, a), c(s, a), r(s, a) and n(s, a), in the symbols of the article's Table 1. What holds of every
node:

1. Values and completions are the first player's. In a node where player 0 is to move the best is the largest.
2. c(s, a) is not 0 only if r(s, a) is 1: a win or a loss is known only when it is proven.
3. r(s, a) = 1 is a proof: c(s, a) is then the game-theoretic gain of a(s). It is never taken back.
4. (c(s), v(s)) is the best (c(s, a), v(s, a)) in lexicographic order; r(s) is 1 if |c(s)| = 1 or all r(s, a) are.
5. v(s, a) may be older than v(a(s)), where another path has been through a(s) since (Remark 13).
"""

from __future__ import annotations

import copy
from array import array
from collections.abc import Sequence
from typing import Self


class Node:
    """An expanded state. Lists are parallel to `actions`; `visits` and `children` hold only actions once selected."""

    __slots__ = (
        "actions",
        "children",
        "completion",
        "completions",
        "maximises",
        "observation",
        "resolutions",
        "resolved",
        "unresolved",
        "value",
        "values",
        "visits",
    )

    def __init__(self, actions: Sequence[int], values: list[float], *, maximises: bool) -> None:
        self.actions = array("q", actions)
        self.values = values
        self.completions = array("b", bytes(len(values)))
        self.resolutions = bytearray(len(values))
        self.visits: dict[int, int] = {}
        self.children: dict[int, Node] = {}
        self.maximises = maximises
        self.value = 0.0
        self.completion = 0
        self.resolved = False
        self.unresolved = len(values)
        self.observation = -1

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
        """(c(s), v(s)) ← best (c(s, a), v(s, a)), then backup_resolution of Algorithm 11."""
        best = max if self.maximises else min
        if self.unresolved == len(self.values):
            self.value = best(self.values)
            return
        self.completion = completion = best(self.completions)
        self.value = best([v for v, c in zip(self.values, self.completions, strict=True) if c == completion])
        self.resolved = completion != 0 or self.unresolved == 0

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
