"""Tree of Descent, UBFM and alpha-beta: a state enters it with all its children."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import cast

import pyspiel

from athenan_spiel.games.chance import CHANCE_SAMPLES, sampled_outcomes
from athenan_spiel.games.transpositions import Key
from athenan_spiel.outcomes import gain
from athenan_spiel.search.ahead import WinsAhead
from athenan_spiel.search.node import Node, NodeKind, StochasticNode, kind_of
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
    ) -> None:
        super().__init__(outcome=outcome, key=key, completion=completion, store=store, game=game)
        self.known = known
        self.ahead = ahead
        self.chance_samples = chance_samples
        if self.has_chance and self.node_type is Node:
            self.node_type = StochasticNode

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
        estimates: list[float],
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
        estimates: list[float],
        proofs: Mapping[int, ProvenValue] = NO_PROOFS,
    ) -> Node:
        """Creates a node of some or all actions of `state`, outside the table. Takes the arguments of `add`."""
        kind = kind_of(state, has_chance=self.has_chance)
        if len(estimates) == len(children):
            node = self.node_type(actions, estimates, kind)
        else:
            node = self._node_with_ends(actions, children, ended, estimates, proofs, kind)
        node.ply = state.move_number()
        if kind is NodeKind.CHANCE:
            chance = cast(StochasticNode, node)
            _, chance.probabilities, chance.is_complete = sampled_outcomes(state, self.chance_samples)
        kind.backup(node)
        return node

    def _add_leaves(self, store: Store, node: Node, children: Sequence[pyspiel.State], ended: Sequence[bool]) -> None:
        """Stores the non-terminal children that are new to the tree."""
        for i, child in enumerate(children):
            if not ended[i] and not self.is_full:
                key = self.key(child)
                if key not in self.table and key not in self.leaves:
                    self.leaves[key] = Leaf(store.append(child), node, i)

    def _node_with_ends(
        self,
        actions: Sequence[int],
        children: Sequence[pyspiel.State],
        ended: Sequence[bool],
        estimates: list[float],
        proofs: Mapping[int, ProvenValue],
        kind: NodeKind,
    ) -> Node:
        remaining = iter(estimates)
        ends = {i: children[i] for i, end in enumerate(ended) if end}
        values = [
            self.terminal_value(ends[i]) if end else proofs[i][1] if i in proofs else next(remaining)
            for i, end in enumerate(ended)
        ]
        node = self.node_type(actions, values, kind)
        if self.completion:
            for i, end in ends.items():
                node.resolve(i, gain(end))
            for i, (completion, _) in proofs.items():
                node.resolve(i, completion)
        return node
