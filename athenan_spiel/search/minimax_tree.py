"""The tree of Descent, UBFM and alpha-beta: a state enters it with all its children."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar

import pyspiel

from athenan_spiel.games.transpositions import Key
from athenan_spiel.outcomes import gain
from athenan_spiel.search.ahead import WinsAhead
from athenan_spiel.search.node import Kind, Node, kind_of
from athenan_spiel.search.proven_states import Known, ProvenValue
from athenan_spiel.search.tree import Leaf, Store, Tree

NO_PROOFS: Mapping[int, ProvenValue] = MappingProxyType({})
"""What is known of the children where nothing is."""


class MinimaxTree(Tree):
    """A tree of nodes whose actions all have values.

    Args:
        known: the states proven otherwise, as in earlier matches, for a tree with completion; it is only looked into.
        ahead: looks one action beyond the children, for a tree with completion.
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
        ahead: WinsAhead | None = None,
        game: pyspiel.Game | None = None,
    ) -> None:
        super().__init__(outcome=outcome, key=key, completion=completion, store=store, game=game)
        self.known = known
        self.ahead = ahead

    def proven(self, children: Sequence[pyspiel.State], ended: Sequence[bool]) -> Mapping[int, ProvenValue]:
        """The proofs that there are of `children`, those of a state, without a node, by index.

        Args:
            ended: which of them are terminal; those are not among the answers.
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
        """S ← S ∪ {s}: make the node of `state`.

        Args:
            key, state, actions, children: of the state; all its actions, and where they lead.
            ended: which children are terminal.
            estimates: the values of those children that are neither terminal nor in `proofs`, in order.
            proofs: of the children that are `proven`, by index.

        Raises:
            SearchError: no player is to choose an action in the state.
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
        """Make a node of some or all actions of `state`, outside the table; arguments and errors as of `add`."""
        kind = kind_of(state)
        if len(estimates) == len(children):
            node = self.node_type(actions, estimates, kind)
        else:
            node = self._node_with_ends(actions, children, ended, estimates, proofs, kind)
        node.ply = state.move_number()
        kind.backup(node)
        return node

    def _add_leaves(self, store: Store, node: Node, children: Sequence[pyspiel.State], ended: Sequence[bool]) -> None:
        """Store those of `children`, not terminal, that the tree has not met yet."""
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
        kind: Kind,
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
