"""Iterative-deepening expectiminimax: the counterpart of alpha-beta in games with chance.

An iteration searches the whole tree to a depth, in actions of players from the root; outcomes of chance don't count.
The depth is 1 in the first iteration from a root, then 2, and so on. There are no windows: a value below a chance state
changes an expectation by its probability only, and the values of a network have no bounds from which a cutoff follows
(Star1 and Star2, Ballard 1983). The search satisfies:

1. After an iteration to depth d the labels of the root are the backup (`node`, laws 4, 7 and 8) of the tree cut at
   depth d. A terminal state has its gain and f_t, a state at the horizon its value f by the evaluator. The horizon is
   after the d-th action: if a chance state follows, the evaluator values that chance state.
2. Proofs are those of `node`, laws 6 to 9. A resolved state is not searched again, and the search of a state ends at
   the first certain win. The other actions of that state keep older labels.
3. A state is closed if its labels depend on terminal states alone, so that a deeper search finds the same. A closed
   state is not searched again, also without completion, or if a chance state has more outcomes than the tree holds.
4. The labels of a state are those of its deepest search. A state that an earlier search has labelled to a greater depth
   is not searched, so the value of its parents may then depend on deeper states.
5. All children of a decision are evaluated in one request, when a search first enters it; above the horizon those of
   several outcomes of a chance state. Outcomes are not evaluated: until they are searched they have the value of their
   chance state. The values at the horizon are kept, so an iteration evaluates only states at its own depth.
6. n(s, a) of a decision is the depth of its last search if a was its best action, and 0 for all other actions. n(s, o)
   of an outcome is 0.
7. An abandoned iteration leaves the root unchanged. Its results for deeper states are kept, because they are sound.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from typing import Self, cast

import pyspiel

from athenan_spiel.games.chance import is_chance, sampled_outcomes
from athenan_spiel.games.children import Joined, children_of, ended_of
from athenan_spiel.search.choice import best_candidates, draw
from athenan_spiel.search.depth_first import DepthFirstSearch
from athenan_spiel.search.minimax_tree import NO_PROOFS, MinimaxTree
from athenan_spiel.search.node import Node, NodeKind, StochasticNode
from athenan_spiel.search.proven_states import ProvenValue
from athenan_spiel.search.walk import Requests, SearchInterrupted, expand

BATCH_STATES = 32
"""Number of states from which a request takes no further decisions. More would delay the end of a timed search."""


class ExpectiminimaxNode(StochasticNode):
    """A node with the depth of its labels.

    Attributes:
        closed: 1 for each action whose labels no deeper search changes.
        depth: depth of the search that produced the labels, in actions of players.
        iterated: depth of the last iteration from this root.
    """

    __slots__ = ("closed", "depth", "iterated")

    def __init__(self, actions: Sequence[int], values: list[float], kind: NodeKind) -> None:
        super().__init__(actions, values, kind)
        self.closed = bytearray(len(values))
        self.depth = 0 if kind is NodeKind.CHANCE else 1
        self.iterated = 0

    def copy(self) -> Self:
        """Copies the node as `Node.copy` does."""
        twin = super().copy()
        twin.closed = self.closed[:]
        return twin

    @property
    def is_closed(self) -> bool:
        """Whether no deeper search changes the labels."""
        return self.resolved or all(self.closed)

    def update(self, i: int, child: Node) -> None:
        """Sets the labels of the i-th action as `Node.update` does."""
        super().update(i, child)
        self.closed[i] = cast(ExpectiminimaxNode, child).is_closed


class ExpectiminimaxTree(MinimaxTree):
    """A tree of `ExpectiminimaxNode`s."""

    node_type = ExpectiminimaxNode

    def make(
        self,
        state: pyspiel.State,
        actions: Sequence[int],
        children: Sequence[pyspiel.State],
        ended: Sequence[bool],
        estimates: list[float],
        proofs: Mapping[int, ProvenValue] = NO_PROOFS,
    ) -> ExpectiminimaxNode:
        """Creates a node as `MinimaxTree.make` does. Terminal actions are closed."""
        node = cast(ExpectiminimaxNode, super().make(state, actions, children, ended, estimates, proofs))
        node.closed = bytearray(ended)
        return node


class Expectiminimax(DepthFirstSearch):
    """Iterative-deepening expectiminimax. The module's docstring lists its laws.

    In a game without chance it is minimax without pruning; `AlphaBeta` finds the same faster.

    Args:
        game, outcome, completion, key, chance_samples: as for every search.
        depth: as for every `DepthFirstSearch`.

    Raises:
        UnsupportedGameError: as every search.
        SearchError: as every `DepthFirstSearch`.
    """

    tree_type = ExpectiminimaxTree

    def finished(self, root: Node) -> bool:
        """Returns whether a deeper search would change nothing, or exceeds the maximum depth."""
        node = cast(ExpectiminimaxNode, root)
        return node.is_closed or node.iterated >= self.depth

    def search_deeper(self, tree: MinimaxTree, root: Node, state: pyspiel.State, rng: random.Random) -> Requests[None]:
        """As `DepthFirstSearch.search_deeper`."""
        node = cast(ExpectiminimaxNode, root)
        depth = min(node.iterated + 1 if node.iterated else node.depth, self.depth)
        yield from _search(cast(ExpectiminimaxTree, tree), node, state, depth)
        node.iterated = depth
        node.visits = {}
        node.visits = {draw(best_candidates(node), rng): node.depth}


def _search(tree: ExpectiminimaxTree, node: ExpectiminimaxNode, state: pyspiel.State, depth: int) -> Requests[None]:
    """Searches `state`, the state of `node`, to at least `depth`. Labels change only at the end of a search (law 7)."""
    if node.is_closed or node.depth >= depth:
        return
    is_chance_node = node.kind is NodeKind.CHANCE
    below = depth if is_chance_node else depth - 1
    if is_chance_node and depth == 1:
        yield from _enter_outcomes(tree, node, state)
    found: dict[int, ExpectiminimaxNode] = {}
    for i, action in enumerate(node.actions):
        if node.closed[i]:
            continue
        child = cast("ExpectiminimaxNode | None", node.children.get(i))
        if child is None or not (child.is_closed or child.depth >= below):
            following = state.child(action)
            if child is None:
                key = tree.key(following)
                entered = tree.table.get(key) or (yield from _enter(tree, key, following, node.values[i]))
                node.children[i] = child = cast(ExpectiminimaxNode, entered)
            yield from _search(tree, child, following, below)
        found[i] = child
        if not is_chance_node and child.completion == node.kind.won:
            break
    for i, child in found.items():
        node.update(i, child)
    node.backup()
    node.depth = depth
    if not is_chance_node:
        node.visits = {best_candidates(node)[0]: depth}


def _enter(tree: ExpectiminimaxTree, key: Hashable, state: pyspiel.State, value: float) -> Requests[Node]:
    """Adds the node of `state`. The outcomes of a chance state receive `value`, the value of that state (law 5)."""
    if not is_chance(state):
        return (yield from expand(tree, key, state))
    if tree.is_full:
        raise SearchInterrupted
    outcomes = sampled_outcomes(state, tree.chance_samples)[0]
    children = children_of(state, outcomes)
    ended = ended_of(children)
    return tree.add(key, state, outcomes, children, ended, [value] * (len(ended) - sum(ended)))


def _enter_outcomes(tree: ExpectiminimaxTree, node: ExpectiminimaxNode, state: pyspiel.State) -> Requests[None]:
    """Adds the decisions that follow `state`, a chance state, with `BATCH_STATES` children or more in a request."""
    waiting: dict[Hashable, Requests[Node]] = {}
    batch = Joined()
    for i, action in enumerate(node.actions):
        if i in node.children or node.closed[i]:
            continue
        following = state.child(action)
        key = tree.key(following)
        if key in tree.table or key in waiting or is_chance(following):
            continue
        requests = expand(tree, key, following)
        try:
            batch.append(next(requests))
        except StopIteration:  # all its children are terminal
            continue
        waiting[key] = requests
        if len(batch) >= BATCH_STATES:
            yield from _answer(waiting, batch)
            waiting, batch = {}, Joined()
    if waiting:
        yield from _answer(waiting, batch)


def _answer(waiting: Mapping[Hashable, Requests[Node]], batch: Joined) -> Requests[None]:
    """Requests the evaluation of a batch, and sends each generator its part."""
    answer = yield batch
    start = 0
    for requests, states in zip(waiting.values(), batch.parts, strict=True):
        with suppress(StopIteration):
            requests.send(answer.part(start, start + len(states)))
        start += len(states)
