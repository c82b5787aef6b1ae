"""What every tree is that a search grows: the table of nodes, which is the set S with T of the article's Table 1.

It lives for a whole match (Remark 1). What holds of every node is in `node`. How a state enters is each tree's own
matter: in `minimax_tree` with all its children, in `mcts_tree` alone.

A search may be restricted to some actions of its root. What holds of its restricted root:

1. It is a node of those actions alone and stays outside the table. Its labels are those of a player who may take these
   actions alone, so they are never taken for the state's, nor for a proof of it.
2. It is made anew for each search. The nodes below it are those of the table: it uses what is known of them, and what
   it finds there is true of the game and stays.
3. It is not learned, and no observation is stored for it.

A tree may have a bound on its states. Where it holds as many, it `is_full`: no search expands a state in it, so the
search for that move ends (`drive`), and the next one begins with `let_go` of what the match has left behind.
"""

from __future__ import annotations

import copy
import random
from array import array
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol, Self

import pyspiel

from athenan_spiel.games.transpositions import Key, end_function
from athenan_spiel.search.node import Node
from athenan_spiel.search.proven_states import ProvenValue

ROWS = 4
"""So many observations, for each state that it may hold, has a tree with a bound at most: of those let go, which are
learned, some are drawn where they are more."""


class Store(Protocol):
    """Where a tree leaves the observation of every state that will be learned; see `encoding.compact`."""

    leaves: bool
    """Non-terminal leaves will be learned, too (Remark 3)."""

    def append(self, state: pyspiel.State) -> int:
        """Keep the observation of `state`; returns its index."""

    def __len__(self) -> int:
        """How many there are."""

    def kept(self, indices: Sequence[int]) -> Self:
        """Another store, of the observations with these indices alone, ascending; they are 0, 1, ... there."""


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


class Past:
    """States that a tree has let go, as far as they will be learned.

    Where they become too many, each of all those of the match has been kept with the same chance.

    Attributes:
        observations: indices into the tree's store.
        values: v(s), or the worth of a terminal state.
        updates: how often each was updated, Σ_a n(s, a); 0 of leaves and terminal states.
        chance: with which one is kept.
    """

    def __init__(self) -> None:
        self.observations = array("q")
        self.values = array("d")
        self.updates = array("q")
        self.chance = 1.0

    def add(self, states: Iterable[tuple[int, float, int]], rng: random.Random) -> None:
        """Keep (observation, value, updates) of these; without an observation nothing can be learned."""
        for observation, value, updates in states:
            if observation >= 0 and (self.chance == 1 or rng.random() < self.chance):
                self.observations.append(observation)
                self.values.append(value)
                self.updates.append(updates)

    def thin_out(self, most: int, rng: random.Random) -> None:
        """Halve the chance until no more than `most` are kept."""
        while len(self.values) > most:
            self.chance /= 2
            drawn = [i for i in range(len(self.values)) if rng.random() < 0.5]
            for name in ("observations", "values", "updates"):
                held = getattr(self, name)
                setattr(self, name, array(held.typecode, (held[i] for i in drawn)))

    def copy(self) -> Past:
        """Another of the same content."""
        twin = Past()
        twin.observations, twin.values, twin.updates = self.observations[:], self.values[:], self.updates[:]
        twin.chance = self.chance
        return twin


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
        most: states that it holds at most, terminal ones and leaves where it keeps those included; none: no bound.
        curtailed: searches that have ended sooner than their budget as it was full.
        past: what was let go and is to be learned; empty without a store.
        search_root: root of the search in progress or else of the last search, restricted or not; None until its first
            iteration has ended, unless the table held its node before.
    """

    planned: int | None = None
    search_root: Node | None = None
    most: int | None = None
    curtailed = 0

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
        self.past = Past()
        self._end_key = end_function(game if store is not None else None)
        self._terminal_pairs: set[tuple[Hashable, float]] = set()

    @property
    def nodes(self) -> Collection[Node]:
        """Every expanded node, in order of expansion."""
        return self.table.values()

    @property
    def is_full(self) -> bool:
        """It holds as many states as it may: nothing enters any more."""
        return self.most is not None and len(self.table) + len(self.terminals) + len(self.leaves) >= self.most

    def let_go(self, root: Node | None, rng: random.Random) -> None:
        """Keep the nodes that actions lead to from `root`, and of the others what is to be learned.

        Args:
            rng: draws which of them are learned where they are too many.
        """
        kept = set() if root is None else _below(root)
        if self.store is not None:
            gone = (node for node in self.table.values() if id(node) not in kept)
            self.past.add(((node.observation, node.value, sum(node.visits.values())) for node in gone), rng)
            self.past.add(((observation, worth, 0) for observation, worth in self.terminals), rng)
            left = [leaf for leaf in self.leaves.values() if id(leaf.parent) not in kept]
            self.past.add(((leaf.observation, leaf.value, 0) for leaf in left), rng)
            self.leaves = {key: leaf for key, leaf in self.leaves.items() if id(leaf.parent) in kept}
            self.terminals.clear()
            self._terminal_pairs.clear()
        self.table = {key: node for key, node in self.table.items() if id(node) in kept}
        if self.store is not None and self.most is not None:
            self.past.thin_out((ROWS - 1) * self.most, rng)
            self._drop_observations(self.store)

    def _drop_observations(self, store: Store) -> None:
        """Leave those in the store that belong to a state; where that is not each of them, it is another store then."""
        past, leaves = self.past.observations, self.leaves.values()
        held = sorted([*past, *(node.observation for node in self.nodes), *(leaf.observation for leaf in leaves)])
        if len(held) == len(store):
            return
        new = {index: i for i, index in enumerate(held)}
        self.store = store.kept(held)
        self.past.observations = array("q", (new[index] for index in past))
        self.leaves = {key: leaf._replace(observation=new[leaf.observation]) for key, leaf in self.leaves.items()}
        for node in self.nodes:
            node.observation = new[node.observation]

    def proofs(self) -> Iterator[tuple[Hashable, int, ProvenValue]]:
        """(key, number of actions played, (c(s), v(s))) of each resolved node, for `ResolvedStates.add`."""
        for key, node in self.table.items():
            if node.resolved:
                yield key, node.ply, (node.completion, node.value)

    def copy(self) -> Self:
        """A tree that grows on its own from here, and shares no node with this one; the store is the same for now.

        Not `copy.deepcopy`, which recurses once for each ply.
        """
        twin = copy.copy(self)
        twin.search_root = None
        twins = {id(node): node.copy() for node in self.nodes}
        for node in twins.values():
            node.children = {i: twins[id(child)] for i, child in node.children.items()}
        twin.table = {key: twins[id(node)] for key, node in self.table.items()}
        twin.terminals = self.terminals.copy()
        twin.past = self.past.copy()
        twin.leaves = {key: leaf._replace(parent=twins[id(leaf.parent)]) for key, leaf in self.leaves.items()}
        twin._terminal_pairs = self._terminal_pairs.copy()
        return twin

    def _enter(self, key: Hashable, state: pyspiel.State, node: Node) -> None:
        """S ← S ∪ {s}: put the node of `state` where it belongs, with the observation of the state."""
        self.table[key] = node
        if self.store is not None:
            leaf = self.leaves.pop(key, None)
            node.observation = self.store.append(state) if leaf is None else leaf.observation

    def terminal_value(self, state: pyspiel.State) -> float:
        """The worth of a terminal state, which is kept in `terminals` if it will be learned."""
        value = self.outcome(state)
        if self.store is not None and not self.is_full:
            pair = (self._end_key(state), value)
            if pair not in self._terminal_pairs:
                self._terminal_pairs.add(pair)
                self.terminals.append((self.store.append(state), value))
        return value


def _below(root: Node) -> set[int]:
    """The ids of `root` and of all nodes that actions lead to from there."""
    found, waiting = {id(root)}, [root]
    while waiting:
        for child in waiting.pop().children.values():
            if id(child) not in found:
                found.add(id(child))
                waiting.append(child)
    return found
