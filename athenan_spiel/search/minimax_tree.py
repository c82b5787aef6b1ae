"""Tree of Descent, UBFM and alpha-beta: a state enters it with all its children."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Self, cast

import pyspiel

from athenan_spiel.evaluators.base import require_rows
from athenan_spiel.games.chance import CHANCE, CHANCE_SAMPLES, sampled_outcomes
from athenan_spiel.games.transpositions import Key
from athenan_spiel.games.validation import no_choice
from athenan_spiel.outcomes import gain
from athenan_spiel.search.ahead import WinsAhead
from athenan_spiel.search.node import Node, NodeKind, RowNode, StochasticNode, Value, kind_of
from athenan_spiel.search.proven_states import Known, ProvenValue
from athenan_spiel.search.tree import Leaf, Store, Tree

NO_PROOFS: Mapping[int, ProvenValue] = MappingProxyType({})
"""Empty table of proofs."""


class MinimaxTree(Tree):
    """A tree of nodes whose actions all have values.

    Args:
        known: proofs from elsewhere, such as earlier games, for a tree with completion. The tree only reads them.
        ahead: looks one action beyond the children, for a tree with completion.
        chance_samples: maximum number of outcomes of a chance state in the tree; more are sampled.
        evaluate_outcomes: whether the estimate of a chance state is the expectation of the estimates of its outcomes.
        paranoid: whether all other players prefer the smallest value of the player who searches, in a game with rows.
            The states of each player's searches are then kept apart.

    Attributes:
        evaluates_outcomes: as `evaluate_outcomes`, in a game with chance.
        player: player who searches, in a paranoid tree.
    """

    node_type: type[Node] = Node

    def __init__(
        self,
        *,
        outcome: Callable[[pyspiel.State], float],
        key: Key,
        completion: bool = True,
        store: Store | None = None,
        known: Known | None = None,
        ahead: WinsAhead | None = None,
        game: pyspiel.Game | None = None,
        chance_samples: int = CHANCE_SAMPLES,
        evaluate_outcomes: bool = False,
        paranoid: bool = False,
    ) -> None:
        self._key = key
        super().__init__(outcome=outcome, key=key, completion=completion, store=store, game=game)
        self.known = known
        self.ahead = ahead
        self.chance_samples = chance_samples
        self.evaluates_outcomes = evaluate_outcomes and self.has_chance
        self.player: int | None = None
        self._paranoid = paranoid
        if self.has_chance and self.node_type is Node:
            self.node_type = StochasticNode
        if paranoid:
            self.key = self._key_of_player

    def start(self, state: pyspiel.State) -> None:
        """As `Tree.start`."""
        if self._paranoid:
            self.player = state.current_player()

    def copy(self) -> Self:
        """As `Tree.copy`."""
        twin = super().copy()
        if self._paranoid:
            twin.key = twin._key_of_player
        return twin

    def _key_of_player(self, state: pyspiel.State) -> Hashable:
        return self.player, self._key(state)

    def proven(self, children: Sequence[pyspiel.State], ended: Sequence[bool]) -> Mapping[int, ProvenValue]:
        """Returns the known proofs of `children`, by index, without expanding them.

        Args:
            children: children of one state.
            ended: whether each child is terminal. Terminal children are skipped.
        """
        found = NO_PROOFS if self.ahead is None else self.ahead.wins(children, ended)
        if self.known is not None and (known := self.known.known(children, ended, self.key)):
            found = {**found, **known}
        return found

    def add(
        self,
        key: Hashable,
        state: pyspiel.State,
        actions: Sequence[int],
        children: Sequence[pyspiel.State],
        ended: Sequence[bool],
        estimates: list[Value],
        proofs: Mapping[int, ProvenValue] = NO_PROOFS,
    ) -> Node:
        """Adds the node of `state`: S ← S ∪ {s}.

        Args:
            key: key of the state.
            state: state to add.
            actions: all legal actions of the state; of a chance state the outcomes of `sampled_outcomes`.
            children: successor of each action.
            ended: whether each child is terminal.
            estimates: values of the children that are neither terminal nor in `proofs`, in order.
            proofs: proofs of children, as `proven` returns them.

        Raises:
            SearchError: the state is neither a decision of player 0 or player 1 nor a chance state.
        """
        node = self.make(state, actions, children, ended, estimates, proofs)
        self._enter(key, state, node)
        if self.store is not None and self.store.leaves:
            self._add_leaves(self.store, node, children, ended)
        return node

    def make(
        self,
        state: pyspiel.State,
        actions: Sequence[int],
        children: Sequence[pyspiel.State],
        ended: Sequence[bool],
        estimates: list[Value],
        proofs: Mapping[int, ProvenValue] = NO_PROOFS,
    ) -> Node:
        """Creates a node of some or all actions of `state`, outside the table. Takes the arguments of `add`."""
        new_node: Callable[..., Node]
        if self.rows is None:
            new_node, kind = self.node_type, kind_of(state, has_chance=self.has_chance)
        else:
            require_rows(estimates, self.rows)
            kind, player = self._viewpoint(state)
            new_node = partial(RowNode, player=player, scale=self.rows)
        if len(estimates) == len(children):
            node = new_node(actions, estimates, kind)
        else:
            node = self._node_with_ends(new_node, actions, children, ended, estimates, proofs, kind)
        node.ply = state.move_number()
        if kind is NodeKind.CHANCE:
            chance = cast(StochasticNode, node)
            _, chance.probabilities, chance.is_complete = sampled_outcomes(state, self.chance_samples)
        kind.backup(node)
        return node

    def resolve_actions(self, node: Node, proofs: Mapping[int, int]) -> None:
        """Records proofs from elsewhere at a node, and sets its value and completion from them.

        A proven draw has the value 0. The value of a win or a loss stays the estimate, which orders equal results.

        Args:
            proofs: proven gain of player 0 after some actions of the node.
        """
        for i, action in enumerate(node.actions):
            if action in proofs and not node.resolutions[i]:
                node.resolve(i, proofs[action])
                if not proofs[action]:
                    node.assume(i, 0.0)
        node.kind.backup(node)

    def _add_leaves(self, store: Store, node: Node, children: Sequence[pyspiel.State], ended: Sequence[bool]) -> None:
        """Stores the non-terminal children that are new to the tree."""
        for i, child in enumerate(children):
            if not ended[i] and not self.is_full:
                key = self.key(child)
                if key not in self.table and key not in self.leaves:
                    self.leaves[key] = Leaf(store.append(child), node, i)

    def _viewpoint(self, state: pyspiel.State) -> tuple[NodeKind, int]:
        """Returns the kind of the node of `state` and the player whose component it compares (law 10 of `node`)."""
        mover, player = state.current_player(), self.player
        if mover == CHANCE:
            return NodeKind.CHANCE, player or 0
        if mover < 0:
            raise no_choice(state)
        if player is None or player == mover:
            return NodeKind.SELF, mover
        return NodeKind.OPPONENT, player

    def _node_with_ends(
        self,
        new_node: Callable[..., Node],
        actions: Sequence[int],
        children: Sequence[pyspiel.State],
        ended: Sequence[bool],
        estimates: list[Value],
        proofs: Mapping[int, ProvenValue],
        kind: NodeKind,
    ) -> Node:
        remaining = iter(estimates)
        ends = {i: children[i] for i, end in enumerate(ended) if end}
        values = [
            self.terminal_value(ends[i]) if end else proofs[i][1] if i in proofs else next(remaining)
            for i, end in enumerate(ended)
        ]
        node = new_node(actions, values, kind)
        if self.completion:
            gains = gain if self.rows is None else self.rows.gains
            for i, end in ends.items():
                node.resolve(i, gains(end))
            for i, (completion, _) in proofs.items():
                node.resolve(i, completion)
        return node
