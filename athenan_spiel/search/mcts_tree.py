"""Tree of MCTS: a state enters it alone, without its children."""

from __future__ import annotations

import itertools
import math
import operator
import random
from collections.abc import Container, Hashable, Mapping, Sequence
from typing import Self, cast

import pyspiel

from athenan_spiel.evaluators.base import require_rows
from athenan_spiel.games.chance import is_chance, outcomes_of
from athenan_spiel.games.validation import no_choice
from athenan_spiel.search.node import Node, NodeKind, Value, kind_of
from athenan_spiel.search.tree import Leaf, Tree


class MCTSNode(Node):
    """A node with the totals of the simulations through it.

    Attributes:
        own: value of the state as a leaf.
        totals: sum of the values found through each action.
        total, simulations: sum and number of all simulations through the state, with the one that valued it.
        untried: actions without a simulation; the last is tried next.
        worst: value of untried actions.
        ranked: untried actions by prior, the largest first; None until it is computed.
        priors: prior of each action, if the evaluation has priors.
        leaf_priors: priors of the leaves that the actions lead to, by index, until the leaves enter the tree.
        noise: random number of each action while the node is the root, if the search uses noise: noisy priors for
            PUCT, Gumbel numbers for Gumbel AlphaZero.
        plan: the search's plan for the simulations of its root, if it has one.
    """

    __slots__ = (
        "leaf_priors",
        "noise",
        "own",
        "plan",
        "priors",
        "ranked",
        "simulations",
        "total",
        "totals",
        "untried",
        "worst",
    )

    def __init__(
        self,
        actions: Sequence[int],
        own: float,
        rng: random.Random,
        kind: NodeKind,
        priors: Sequence[float] | None = None,
    ) -> None:
        super().__init__(actions, [own] * len(actions), kind)

        self.value = self.own = self.total = own
        self.simulations = 1
        self.totals = [0.0] * len(actions)
        self.untried = [] if kind is NodeKind.CHANCE else list(range(len(actions)))
        rng.shuffle(self.untried)
        self.worst = own
        self.priors = priors
        self.ranked: list[int] | None = None
        self.leaf_priors: dict[int, Sequence[float]] = {}
        self.noise: Sequence[float] | None = None
        self.plan: object | None = None

    def copy(self) -> Self:
        """Copies the node as `Node.copy` does."""
        twin = super().copy()
        twin.totals = self.totals[:]
        twin.untried = self.untried[:]
        twin.ranked = None
        twin.leaf_priors = self.leaf_priors.copy()
        return twin

    def priors_or_even(self) -> Sequence[float]:
        """Returns the priors, or equal probabilities if the node has none."""
        return self.priors or [1 / len(self.actions)] * len(self.actions)

    def likeliest(self, losses: Container[int] = (), priors: Sequence[float] | None = None) -> int | None:
        """Returns the untried action of the largest prior, the first of `untried` among equal ones. None if all are
        tried.

        Args:
            losses: actions that count as tried.
            priors: replaces the node's priors.
        """
        if priors is not None:
            return max((i for i in self.untried if i not in losses), key=priors.__getitem__, default=None)
        if self.ranked is None:
            self.ranked = sorted(self.untried, key=self.priors_or_even().__getitem__, reverse=True)
        return next((i for i in self.ranked if i not in losses), None)

    def add_simulation(self, i: int, value: Value) -> None:
        """Adds the value of a simulation through the i-th action."""
        n = self.count(i) + 1
        if n == 1 and self.untried:
            self.untried.remove(i)
            if self.ranked is not None:
                self.ranked.remove(i)
        self.visits[i] = n
        self.totals[i] += value
        self.values[i] = self.totals[i] / n
        self.simulations += 1
        self.total += value
        self.value = self.total / self.simulations
        if self.untried:
            values = self.values
            worst = self.kind.worst([values[j] for j in self.visits])
            if worst != self.worst:
                self.worst = worst
                for j in self.untried:
                    values[j] = worst


class ChanceNode(MCTSNode):
    """A chance state. Its actions are its outcomes; none is ever untried, and the priors are not used.

    Attributes:
        probabilities: probability of each outcome.
    """

    __slots__ = ("_sums", "probabilities")

    def __init__(self, actions: Sequence[int], own: float, rng: random.Random, probabilities: Sequence[float]) -> None:
        super().__init__(actions, own, rng, NodeKind.CHANCE)
        self.probabilities = probabilities
        self._sums = list(itertools.accumulate(probabilities))

    def draw(self, rng: random.Random) -> int:
        """Returns the index of a random outcome."""
        return rng.choices(range(len(self._sums)), cum_weights=self._sums)[0]


class _RowTotals(MCTSNode):
    """The sums of a node in a game with rows. `totals` and `values` are those of its player.

    Attributes:
        player: the player to move; of a chance state any.
        row_total: sum of all simulations for each player.
        row_totals: sum of the simulations through each action for each player.
    """

    value: Value
    player: int
    row_total: list[float]
    row_totals: dict[int, list[float]]

    def set_own(self, own: Sequence[float], player: int) -> Self:
        """Sets the value of the state as a leaf."""
        self.player, self.row_total, self.row_totals = player, list(own), {}
        self.value = tuple(own)
        return self

    def copy(self) -> Self:
        """Copies the node as `Node.copy` does."""
        twin = super().copy()
        twin.row_total = self.row_total[:]
        twin.row_totals = {i: row[:] for i, row in self.row_totals.items()}
        return twin

    def add_simulation(self, i: int, value: Value) -> None:
        """Adds the row of a simulation through the i-th action."""
        super().add_simulation(i, value[self.player])
        self.row_total = list(map(operator.add, self.row_total, value))
        self.row_totals[i] = list(map(operator.add, self.row_totals.get(i) or [0.0] * len(value), value))
        self.value = tuple(total / self.simulations for total in self.row_total)

    def value_of(self, i: int) -> Value:
        """Returns the mean row of the i-th action; the row of the state if it has no simulation."""
        n = self.count(i)
        return tuple(total / n for total in self.row_totals[i]) if n else self.value


class RowMCTSNode(_RowTotals):
    """A decision of a game with rows."""


class RowChanceNode(_RowTotals, ChanceNode):
    """A chance state of a game with rows."""


def with_losses(node: MCTSNode, losses: Mapping[int, int], scale: float) -> tuple[Mapping[int, int], Sequence[float]]:
    """Returns n(s, a) and the totals with virtual losses added.

    Each virtual loss counts as a simulation that found the mover's worst value, of size `scale`. Without losses the
    node's own containers are returned.
    """
    if not losses:
        return node.visits, node.totals
    visits, totals = node.visits.copy(), node.totals[:]
    for i, lost in losses.items():
        visits[i] = visits.get(i, 0) + lost
        totals[i] -= lost * node.kind.won * scale
    return visits, totals


class MCTSTree(Tree):
    """A tree of `MCTSNode`s.

    Attributes:
        root: root of the last simulation; None before the first.
    """

    root: MCTSNode | None = None

    def copy(self) -> Self:
        """Copies the tree as `Tree.copy` does."""
        twin = super().copy()
        both = zip(self.nodes, twin.nodes, strict=True)
        twin.root = next((cast(MCTSNode, other) for node, other in both if node is self.root), None)
        return twin

    def enter(
        self,
        key: Hashable,
        state: pyspiel.State,
        own: Value,
        rng: random.Random,
        priors: Sequence[float] | None = None,
    ) -> MCTSNode:
        """Adds the node of `state`, S ← S ∪ {s}, with the value `own` and without simulations.

        Raises:
            SearchError: the state is neither a decision of player 0 or player 1 nor a chance state.
        """
        node = self._made(state, state.legal_actions(), own, rng, priors)
        self._enter(key, state, node)
        return node

    def make_root(
        self,
        state: pyspiel.State,
        actions: Sequence[int],
        own: Value,
        rng: random.Random,
        priors: Sequence[float] | None = None,
    ) -> MCTSNode:
        """Creates a restricted root of `state`, outside the table.

        Args:
            actions: legal actions of the root, in order.
            own: value of the state.
            priors: priors of all legal actions, in order. Those of `actions` are scaled to sum to 1.
        """
        legal = state.legal_actions()
        if priors is not None and len(actions) < len(legal):
            of_action = dict(zip(legal, priors, strict=True))
            total = math.fsum(of_action[action] for action in actions)
            priors = [of_action[action] / total for action in actions] if total > 0 else None
        return self._made(state, actions, own, rng, priors)

    def note_leaf(self, state: pyspiel.State, parent: MCTSNode, i: int) -> None:
        """Stores a valued leaf if leaves become training samples (Remark 3) and `state` is new to the tree.

        A leaf below a restricted root is not stored.
        """
        if self.store is not None and self.store.leaves and parent.observation >= 0 and not self.is_full:
            key = self.key(state)
            if key not in self.table and key not in self.leaves:
                self.leaves[key] = Leaf(self.store.append(state), parent, i)

    def _made(
        self,
        state: pyspiel.State,
        actions: Sequence[int],
        own: Value,
        rng: random.Random,
        priors: Sequence[float] | None,
    ) -> MCTSNode:
        node: MCTSNode
        if self.rows is not None:
            node = self._made_of_rows(state, actions, own, rng, priors)
        elif (kind := kind_of(state, has_chance=self.has_chance)) is NodeKind.CHANCE:
            outcomes, probabilities = outcomes_of(state)
            node = ChanceNode(outcomes, own, rng, probabilities)
        else:
            node = MCTSNode(actions, own, rng, kind, priors)
        node.ply = state.move_number()
        return node

    def _made_of_rows(
        self,
        state: pyspiel.State,
        actions: Sequence[int],
        own: Value,
        rng: random.Random,
        priors: Sequence[float] | None,
    ) -> MCTSNode:
        assert self.rows is not None, "the game has rows"
        require_rows([own], self.rows)
        if is_chance(state):
            outcomes, probabilities = outcomes_of(state)
            return RowChanceNode(outcomes, own[0], rng, probabilities).set_own(own, 0)
        player = state.current_player()
        if player < 0:
            raise no_choice(state)
        return RowMCTSNode(actions, own[player], rng, NodeKind.SELF, priors).set_own(own, player)
