"""Base class of search trees: the table of nodes, which is the set S with T of the article's Table 1.

A tree lasts for a whole game (Remark 1). The laws of its nodes are in `node`. Each subclass defines how a state enters:
with all its children in `minimax_tree`, alone in `mcts_tree`.

A search may be restricted to some actions of its root. The restricted root satisfies:

1. It is a node of those actions alone and stays outside the table. Its labels are those of a player who may take these
   actions alone, so they are never used as labels of the state, nor as a proof of it.
2. Each search creates it anew. The nodes below it are those of the table: the search uses their labels, and what it
   finds there is true of the game and stays.
3. It yields no training sample, and no observation is stored for it.

A tree may have a maximum number of states. When it holds that many, it `is_full`: no search expands a state in it, so
the search for that move ends (`drive`). The next search starts with `prune`, which removes states that the game can no
longer reach.
"""

from __future__ import annotations

import copy
import random
from array import array
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol, Self

import pyspiel

from athenan_spiel.games.chance import has_chance
from athenan_spiel.games.rows import rows_of
from athenan_spiel.games.transpositions import Key, end_function
from athenan_spiel.search.node import Node, Value
from athenan_spiel.search.proven_states import ProvenValue

MAX_ROWS_PER_STATE = 4
"""Maximum number of stored observations per tree state, in a tree with a limit.

Pruned states become training samples. If there are too many, a random sample is kept.
"""


class Store(Protocol):
    """Storage for the observations of states that become training samples; see `encoding.compact`."""

    leaves: bool
    """Whether non-terminal leaves become training samples, too (Remark 3)."""

    def append(self, state: pyspiel.State) -> int:
        """Stores the observation of `state` and returns its index."""

    def __len__(self) -> int:
        """Returns the number of observations."""

    def kept(self, indices: Sequence[int]) -> Self:
        """Returns a new store that holds only the observations with these ascending indices, renumbered from 0."""


class Leaf(NamedTuple):
    """A non-terminal state that was never expanded. Its value is the v(s, a) that first led to it."""

    observation: int
    parent: Node
    arc: int
    """Index of the action a in `parent`."""

    @property
    def value(self) -> Value:
        """Value v(s, a)."""
        return self.parent.value_of(self.arc)


class PrunedStates:
    """Training samples of the states that were pruned from a tree.

    If there are too many, a random sample is kept. Every pruned state of the game has the same chance to be in it.

    Attributes:
        observations: indices into the tree's store.
        values: v(s), or the terminal value; in a game with rows the numbers of one row after the other.
        updates: number of updates of each state, Σ_a n(s, a); 0 for leaves and terminal states.
        chance: probability that a pruned state is kept.

    Args:
        width: number of values of a state.
    """

    def __init__(self, width: int = 1) -> None:
        self.observations = array("q")
        self.values = array("d")
        self.width = width
        self.updates = array("q")
        self.chance = 1.0

    def __len__(self) -> int:
        return len(self.observations)

    def add(self, states: Iterable[tuple[int, Value, int]], rng: random.Random) -> None:
        """Adds states, given as (observation, value, updates). States without an observation are skipped."""
        for observation, value, updates in states:
            if observation >= 0 and (self.chance == 1 or rng.random() < self.chance):
                self.observations.append(observation)
                if self.width == 1:
                    self.values.append(value)
                else:
                    self.values.extend(value)
                self.updates.append(updates)

    def thin_out(self, most: int, rng: random.Random) -> None:
        """Halves the chance until at most `most` samples are left."""
        while len(self) > most:
            self.chance /= 2
            drawn, width = [i for i in range(len(self)) if rng.random() < 0.5], self.width
            self.observations = array("q", (self.observations[i] for i in drawn))
            self.updates = array("q", (self.updates[i] for i in drawn))
            self.values = array("d", (x for i in drawn for x in self.values[i * width : (i + 1) * width]))

    def copy(self) -> PrunedStates:
        """Returns an independent copy."""
        twin = PrunedStates(self.width)
        twin.observations, twin.values, twin.updates = self.observations[:], self.values[:], self.updates[:]
        twin.chance = self.chance
        return twin


class Tree:
    """S and T of one game: the table of nodes and, if observations are stored, the terminal states met.

    `table` maps the key of an expanded state to its node. `terminals` holds (index of the observation, terminal value)
    of each terminal state. Terminal states that look the same (`end_function`) and have the same value are stored once.
    `terminals` stays empty without a store, since only learning uses it (note of Algorithm 12). `leaves` maps keys to
    non-terminal leaves, if the store keeps those. A key is in `leaves` or in `table`, never in both, and has one
    observation.

    Args:
        outcome: f_t, the terminal value for player 0.
        key: maps a state to a key; states with equal keys share a node. See `transpositions`.
        completion: False leaves every state unresolved, also terminal ones (Algorithm 9).
        store: receives the observation of every state of S; the nodes and `terminals` hold its index.
        game: game of the states. If None, terminal states look the same if their strings are equal.

    Attributes:
        planned: number of iterations of the search in progress, if its budget sets it.
        has_chance: whether the game may have chance states.
        rows: range of the rows of the game; None if values are single numbers.
        most: maximum number of states, with the terminal states and leaves that are stored; None for no limit.
        curtailed: number of searches that ended before their budget because the tree was full.
        pruned: training samples of pruned states; empty without a store.
        search_root: root of the search in progress, else of the last search, restricted or not. None until the first
            iteration has ended, unless the table held the node before.
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
        self.has_chance = game is not None and has_chance(game)
        self.rows = None if game is None else rows_of(game)
        self.outcome = outcome
        self.key = key
        self.completion = completion
        self.store = store
        self.table: dict[Hashable, Node] = {}
        self.terminals: list[tuple[int, Value]] = []
        self.leaves: dict[Hashable, Leaf] = {}
        self.pruned = PrunedStates(1 if self.rows is None else self.rows.players)
        self._end_key = end_function(game if store is not None else None)
        self._terminal_pairs: set[tuple[Hashable, Value]] = set()

    def start(self, state: pyspiel.State) -> None:
        """Prepares for a search from `state`. A paranoid tree then searches for the player to move."""

    @property
    def nodes(self) -> Collection[Node]:
        """All expanded nodes, in order of expansion."""
        return self.table.values()

    @property
    def is_full(self) -> bool:
        """Whether the tree holds its maximum number of states, so that no state can enter."""
        return self.most is not None and len(self.table) + len(self.terminals) + len(self.leaves) >= self.most

    def prune(self, root: Node | None, rng: random.Random) -> None:
        """Removes the nodes that cannot be reached from `root`, and keeps training samples of them.

        Args:
            root: node to keep, with all nodes below it. None removes all nodes.
            rng: draws the training samples that are kept if there are too many.
        """
        kept = set() if root is None else _below(root)
        if self.store is not None:
            removed = (node for node in self.table.values() if id(node) not in kept)
            self.pruned.add(((node.observation, node.value, sum(node.visits.values())) for node in removed), rng)
            self.pruned.add(((observation, value, 0) for observation, value in self.terminals), rng)
            left = [leaf for leaf in self.leaves.values() if id(leaf.parent) not in kept]
            self.pruned.add(((leaf.observation, leaf.value, 0) for leaf in left), rng)
            self.leaves = {key: leaf for key, leaf in self.leaves.items() if id(leaf.parent) in kept}
            self.terminals.clear()
            self._terminal_pairs.clear()
        self.table = {key: node for key, node in self.table.items() if id(node) in kept}
        if self.store is not None and self.most is not None:
            self.pruned.thin_out((MAX_ROWS_PER_STATE - 1) * self.most, rng)
            self._drop_observations(self.store)

    def _drop_observations(self, store: Store) -> None:
        """Drops observations that belong to no state. Replaces the store if there are any."""
        pruned, leaves = self.pruned.observations, self.leaves.values()
        held = sorted([*pruned, *(node.observation for node in self.nodes), *(leaf.observation for leaf in leaves)])
        if len(held) == len(store):
            return
        new = {index: i for i, index in enumerate(held)}
        self.store = store.kept(held)
        self.pruned.observations = array("q", (new[index] for index in pruned))
        self.leaves = {key: leaf._replace(observation=new[leaf.observation]) for key, leaf in self.leaves.items()}
        for node in self.nodes:
            node.observation = new[node.observation]

    def proofs(self) -> Iterator[tuple[Hashable, int, ProvenValue]]:
        """Yields (key, number of actions played, (c(s), v(s))) of each resolved node, for `ResolvedStates.add`."""
        for key, node in self.table.items():
            if node.resolved:
                yield key, node.ply, (node.completion, node.value)

    def copy(self) -> Self:
        """Returns a tree with copied nodes that can grow independently. It uses the same store.

        `copy.deepcopy` is not used: it recurses once per ply.
        """
        twin = copy.copy(self)
        twin.search_root = None
        twins = {id(node): node.copy() for node in self.nodes}
        for node in twins.values():
            node.children = {i: twins[id(child)] for i, child in node.children.items()}
        twin.table = {key: twins[id(node)] for key, node in self.table.items()}
        twin.terminals = self.terminals.copy()
        twin.pruned = self.pruned.copy()
        twin.leaves = {key: leaf._replace(parent=twins[id(leaf.parent)]) for key, leaf in self.leaves.items()}
        twin._terminal_pairs = self._terminal_pairs.copy()
        return twin

    def _enter(self, key: Hashable, state: pyspiel.State, node: Node) -> None:
        """Adds the node of `state` and its observation: S ← S ∪ {s}."""
        self.table[key] = node
        if self.store is not None:
            leaf = self.leaves.pop(key, None)
            node.observation = self.store.append(state) if leaf is None else leaf.observation

    def terminal_value(self, state: pyspiel.State) -> Value:
        """Returns the terminal value of `state`, and adds the state to `terminals` if it becomes a training sample."""
        value = self.outcome(state)
        if self.store is not None and not self.is_full:
            pair = (self._end_key(state), value)
            if pair not in self._terminal_pairs:
                self._terminal_pairs.add(pair)
                self.terminals.append((self.store.append(state), value))
        return value


def _below(root: Node) -> set[int]:
    """Returns the ids of `root` and of all nodes below it."""
    found, waiting = {id(root)}, [root]
    while waiting:
        for child in waiting.pop().children.values():
            if id(child) not in found:
                found.add(id(child))
                waiting.append(child)
    return found
