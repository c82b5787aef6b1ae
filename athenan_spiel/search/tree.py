"""What every tree is that a search grows: the table of nodes, which is the set S with T of the article's Table 1.

It lives for a whole match (Remark 1). What holds of every node is in `node`. How a state enters is each tree's own
matter: in `minimax_tree` with all its children, in `mcts_tree` alone.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Hashable, Iterator
from typing import NamedTuple, Protocol, Self

import pyspiel

from athenan_spiel.games.transpositions import Key, end_function
from athenan_spiel.search.node import Node
from athenan_spiel.search.proven_states import ProvenValue


class Store(Protocol):
    """Where a tree leaves the observation of every state that will be learned; see `encoding.compact`."""

    leaves: bool
    """Non-terminal leaves will be learned, too (Remark 3)."""

    def append(self, state: pyspiel.State) -> int:
        """Keep the observation of `state`; returns its index."""


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

    `table` maps the key of an expanded state to its node. `terminals` holds (index of the observation, worth) of each
    terminal state, once where several look alike (`end_function`) and are worth the same; it stays empty without a
    store, since only learning needs it (note of Algorithm 12). `leaves` has the non-terminal leaves by their keys, if
    the store wants them: a key is in `leaves` or in `table`, never in both, and has one observation.

    Args:
        outcome: f_t, the worth of a terminal state.
        key: states with equal keys share a node; see `transpositions`.
        completion: False leaves everything unresolved, terminal states too (Algorithm 9).
        store: takes the observation of every state of S; the nodes and `terminals` keep its index.
        game: whose states it holds; None: finished states look alike that print alike.

    Attributes:
        planned: iterations that the search in progress is to have, where its budget says that.
    """

    planned: int | None = None

    def __init__(
        self,
        *,
        outcome: Callable[[pyspiel.State], float],
        key: Key,
        completion: bool = True,
        store: Store | None = None,
        game: pyspiel.Game | None = None,
    ) -> None:
        self.game = game
        self.outcome = outcome
        self.key = key
        self.completion = completion
        self.store = store
        self.table: dict[Hashable, Node] = {}
        self.terminals: list[tuple[int, float]] = []
        self.leaves: dict[Hashable, Leaf] = {}
        self._end_key = end_function(game if store is not None else None)
        self._terminal_pairs: set[tuple[Hashable, float]] = set()

    @property
    def nodes(self) -> Collection[Node]:
        """Every expanded node, in order of expansion."""
        return self.table.values()

    def proofs(self) -> Iterator[tuple[Hashable, int, ProvenValue]]:
        """(key, number of actions played, (c(s), v(s))) of each resolved node, for `ResolvedStates.add`."""
        for key, node in self.table.items():
            if node.resolved:
                yield key, node.ply, (node.completion, node.value)

    def copy(self) -> Self:
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
        return twin

    def _enter(self, key: Hashable, state: pyspiel.State, node: Node) -> None:
        """S ← S ∪ {s}: put the node of `state` where it belongs, with the observation of the state."""
        self.table[key] = node
        node.ply = state.move_number()
        if self.store is not None:
            leaf = self.leaves.pop(key, None)
            node.observation = self.store.append(state) if leaf is None else leaf.observation

    def terminal_value(self, state: pyspiel.State) -> float:
        """The worth of a terminal state, which is kept in `terminals` if it will be learned."""
        value = self.outcome(state)
        if self.store is not None:
            pair = (self._end_key(state), value)
            if pair not in self._terminal_pairs:
                self._terminal_pairs.add(pair)
                self.terminals.append((self.store.append(state), value))
        return value
