"""The partial game tree that a search grows, and the rules by which values travel in it.

A `Node` is an expanded state s. For each action a of s it keeps what the search knew of the state a(s) when it
last came back from it: v(s, a), c(s, a), r(s, a) and n(s, a), in the symbols of the article's Table 1. The table
of nodes is the set S together with T; it lives for a whole match (Remark 1). What holds of every node:

1. Values and completions are the first player's. In a node where player 0 is to move the best is the largest.
2. c(s, a) is not 0 only if r(s, a) is 1: a win or a loss is known only when it is proven.
3. r(s, a) = 1 is a proof: c(s, a) is then the game-theoretic gain of a(s). It is never taken back.
4. (c(s), v(s)) is the best (c(s, a), v(s, a)) in lexicographic order; r(s) is 1 if |c(s)| = 1 or all r(s, a) are.
5. v(s, a) may be older than v(a(s)), where another path has been through a(s) since (Remark 13).

The orders of choice of Algorithms 11 and 13 are functions here. Each narrows the candidates by one key after
another, and draws among those left.
"""

from __future__ import annotations

import copy
import random
from array import array
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, NamedTuple, Protocol, Self

import pyspiel

from athenan_spiel.outcomes import gain
from athenan_spiel.resolved import Known, Proof
from athenan_spiel.transpositions import Key, end_text

NO_PROOFS: Mapping[int, Proof] = MappingProxyType({})
"""What is known of the children where nothing is."""


class Store(Protocol):
    """Where a tree leaves the observation of every state that will be learned; see `encoding.compact`."""

    leaves: bool
    """Non-terminal leaves will be learned, too (Remark 3)."""

    def append(self, state: pyspiel.State) -> int:
        """Keep the observation of `state`; returns its index."""


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


def _narrow(
    candidates: Sequence[int], key: Callable[[int], float], best: Callable[[Iterable[float]], float]
) -> Sequence[int]:
    if len(candidates) == 1:
        return candidates
    keys = [key(i) for i in candidates]
    extreme = best(keys)
    return [i for i, k in zip(candidates, keys, strict=True) if k == extreme]


def _draw(candidates: Sequence[int], rng: random.Random) -> int:
    return candidates[0] if len(candidates) == 1 else rng.choice(candidates)


def best_action(node: Node, rng: random.Random) -> int:
    """Algorithms 1 and 9, without completion: the mover's best by v(s, a), then at random (Remark 11)."""
    best = max if node.maximises else min
    return _draw(_narrow(range(len(node.values)), node.values.__getitem__, best), rng)


def completed_best_action(node: Node, rng: random.Random) -> int:
    """Algorithm 11: the mover's best by (c(s, a), v(s, a)), then the most visited, then at random."""
    best = max if node.maximises else min
    candidates = _narrow(range(len(node.values)), node.completions.__getitem__, best)
    candidates = _narrow(candidates, node.values.__getitem__, best)
    return _draw(_narrow(candidates, node.count, max), rng)


def completed_best_action_dual(node: Node, rng: random.Random) -> int:
    """Algorithm 11 over the unresolved actions: the mover's best by v(s, a), then the least visited, then at random.

    Completions of unresolved actions are all 0 (clause 2), so the order (c, v, -n) begins with v here.
    """
    values = node.values
    best = max if node.maximises else min
    if node.unresolved == len(values):
        extreme = best(values)
        if values.count(extreme) == 1:
            return values.index(extreme)
        candidates: Sequence[int] = [i for i, v in enumerate(values) if v == extreme]
    else:
        unresolved = [i for i, r in enumerate(node.resolutions) if not r]
        candidates = _narrow(unresolved, values.__getitem__, best)
    return _draw(_narrow(candidates, node.count, min), rng)


def safest_action(node: Node, rng: random.Random) -> int:
    """Algorithm 13: the mover's best by c(s, a), then the most visited, then by v(s, a), then at random."""
    best = max if node.maximises else min
    candidates = _narrow(range(len(node.values)), node.completions.__getitem__, best)
    candidates = _narrow(candidates, node.count, max)
    return _draw(_narrow(candidates, node.values.__getitem__, best), rng)


def securest_action(node: Node, rng: random.Random) -> int:
    """Remark 16: as Algorithm 13, but among actions of equal c(s, a) one that is resolved comes first.

    With nothing won, a proven draw is thus played before what is still open: the order is (c, r, n, v) for player 0,
    and the smallest (c, -r, -n, v) for player 1.
    """
    best = max if node.maximises else min
    candidates = _narrow(range(len(node.values)), node.completions.__getitem__, best)
    candidates = _narrow(candidates, node.resolutions.__getitem__, max)
    candidates = _narrow(candidates, node.count, max)
    return _draw(_narrow(candidates, node.values.__getitem__, best), rng)


class Leaf(NamedTuple):
    """A state that is not terminal and was never expanded: what is known of it is the v(s, a) that led there first."""

    observation: int
    parent: Node
    arc: int
    """The index of the action a in `parent`."""

    @property
    def value(self) -> float:
        """v(s, a)."""
        return self.parent.values[self.arc]


class Tree:
    """S and T of one match: the table of nodes and, where observations are stored, the terminal states seen.

    `table` maps the key of an expanded state to its node. `terminals` holds (index of the observation, worth) of
    each terminal state, once where several print alike and are worth the same; it stays empty without a store, since
    only learning needs it (note of Algorithm 12). `leaves` has the non-terminal leaves by their keys, if the store
    wants them: a key is in `leaves` or in `table`, never in both, and has one observation.

    Args:
        outcome: f_t, the worth of a terminal state.
        key: states with equal keys share a node; see `transpositions`.
        completion: False leaves everything unresolved, terminal states too (Algorithm 9).
        store: takes the observation of every state of S; the nodes and `terminals` keep its index.
        known: the states proven otherwise, as in earlier matches, for a tree with completion; it is only looked into.
        game: whose states it holds, for those who ask; the tree itself does not.
    """

    node_type: ClassVar[type[Node]] = Node

    def __init__(
        self,
        *,
        outcome: Callable[[pyspiel.State], float],
        key: Key,
        completion: bool = True,
        store: Store | None = None,
        known: Known | None = None,
        game: pyspiel.Game | None = None,
    ) -> None:
        self.game = game
        self.outcome = outcome
        self.key = key
        self.completion = completion
        self.select = completed_best_action_dual if completion else best_action
        self.store = store
        self.known = known
        self.table: dict[Hashable, Node] = {}
        self.terminals: list[tuple[int, float]] = []
        self.leaves: dict[Hashable, Leaf] = {}
        self._terminal_pairs: set[tuple[Hashable, float]] = set()
        self._plies: list[int] = []

    @property
    def nodes(self) -> Collection[Node]:
        """Every expanded node, in order of expansion."""
        return self.table.values()

    def proofs(self) -> Iterator[tuple[Hashable, int, Proof]]:
        """(key, number of actions played, (c(s), v(s))) of each resolved node, for `ResolvedStates.add`."""
        for (key, node), ply in zip(self.table.items(), self._plies, strict=True):
            if node.resolved:
                yield key, ply, (node.completion, node.value)

    def copy(self) -> Tree:
        """A tree that grows on its own from here, and shares no node with this one; the store is the same.

        Not `copy.deepcopy`, which recurses once for each ply.
        """
        twin = copy.copy(self)
        twins = {id(node): node.copy() for node in self.nodes}
        for node in twins.values():
            node.children = {i: twins[id(child)] for i, child in node.children.items()}
        twin.table = {key: twins[id(node)] for key, node in self.table.items()}
        twin.terminals = self.terminals.copy()
        twin.leaves = {key: leaf._replace(parent=twins[id(leaf.parent)]) for key, leaf in self.leaves.items()}
        twin._terminal_pairs = self._terminal_pairs.copy()
        twin._plies = self._plies.copy()
        return twin

    def add(
        self,
        key: Hashable,
        state: pyspiel.State,
        actions: Sequence[int],
        children: Sequence[pyspiel.State],
        ended: Sequence[bool],
        estimates: list[float],
        proofs: Mapping[int, Proof] = NO_PROOFS,
    ) -> Node:
        """S ← S ∪ {s}: make the node of `state`.

        Args:
            key, state, actions, children: of the state; all its actions, and where they lead.
            ended: which children are terminal.
            estimates: the values of those children that are neither terminal nor in `proofs`, in order.
            proofs: of the children that are `known`, by index.
        """
        maximises = state.current_player() == 0
        if len(estimates) == len(children):
            node = self.node_type(actions, estimates, maximises=maximises)
        else:
            node = self._add_with_ends(actions, children, ended, estimates, proofs, maximises)
        self.table[key] = node
        if self.store is not None:
            leaf = self.leaves.pop(key, None)
            node.observation = self.store.append(state) if leaf is None else leaf.observation
            if self.store.leaves:
                self._add_leaves(self.store, node, children, ended)
        self._plies.append(state.move_number())
        node.backup()
        return node

    def _add_leaves(self, store: Store, node: Node, children: Sequence[pyspiel.State], ended: Sequence[bool]) -> None:
        """Store those of `children`, not terminal, that the tree has not met yet."""
        for i, child in enumerate(children):
            if not ended[i]:
                key = self.key(child)
                if key not in self.table and key not in self.leaves:
                    self.leaves[key] = Leaf(store.append(child), node, i)

    def _add_with_ends(
        self,
        actions: Sequence[int],
        children: Sequence[pyspiel.State],
        ended: Sequence[bool],
        estimates: list[float],
        proofs: Mapping[int, Proof],
        maximises: bool,
    ) -> Node:
        remaining = iter(estimates)
        ends = {i: children[i] for i, end in enumerate(ended) if end}
        values = [
            self.terminal_value(ends[i]) if end else proofs[i][1] if i in proofs else next(remaining)
            for i, end in enumerate(ended)
        ]
        node = self.node_type(actions, values, maximises=maximises)
        if self.completion:
            for i, end in ends.items():
                node.resolve(i, gain(end))
            for i, (completion, _) in proofs.items():
                node.resolve(i, completion)
        return node

    def terminal_value(self, state: pyspiel.State) -> float:
        """The worth of a terminal state, which is kept in `terminals` if it will be learned."""
        value = self.outcome(state)
        if self.store is not None:
            pair = (end_text(state), value)
            if pair not in self._terminal_pairs:
                self._terminal_pairs.add(pair)
                self.terminals.append((self.store.append(state), value))
        return value
