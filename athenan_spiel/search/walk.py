"""One iteration's walk from the root of a tree, which Descent and UBFM share.

A search is a generator. It yields a batch of non-terminal states and is sent their `Evaluation`, in the same order. All
children of a state form one batch; terminal ones are valued by the outcome.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Generator, Hashable, Iterator, Sequence
from typing import TypeVar, cast

import pyspiel

from athenan_spiel.evaluators.base import Evaluation, joined
from athenan_spiel.games.chance import is_chance, sampled_outcomes
from athenan_spiel.games.children import children_of, ended_of, some_of
from athenan_spiel.search.choice import Decision
from athenan_spiel.search.mcts_tree import ChanceNode
from athenan_spiel.search.minimax_tree import MinimaxTree
from athenan_spiel.search.node import Node, NodeKind, StochasticNode, Value, expectation, expected_row

T = TypeVar("T")

Requests = Generator[Sequence[pyspiel.State], Evaluation, T]
"""Generator that yields states to evaluate, is sent their evaluations, and returns a T."""


class SearchInterrupted(Exception):  # noqa: N818 - not an error
    """Thrown into an iteration to end it at once (`Search.curtails`), or raised when a tree is full."""


def expand(
    tree: MinimaxTree, key: Hashable, state: pyspiel.State, root_actions: Sequence[int] | None = None
) -> Requests[Node]:
    """Expands a state that is not in the tree: the block under `s ∉ S` of Algorithms 10 and 12, S ← S ∪ {s}.

    Proven children are not evaluated. A chance state is evaluated like any other state, or by its outcomes
    (`MinimaxTree.evaluates_outcomes`), and expanded like any other; its children are the states after its outcomes.

    Args:
        root_actions: legal actions of a restricted root, which stays outside the table. None for all actions.

    Raises:
        SearchInterrupted: the tree is full, and the node is not a restricted root.
    """
    if root_actions is None and tree.is_full and tree.table:
        raise SearchInterrupted
    if root_actions is not None:
        actions = root_actions
    elif tree.has_chance and is_chance(state):
        actions = sampled_outcomes(state, tree.chance_samples)[0]
    else:
        actions = state.legal_actions()
    children = children_of(state, actions)
    ended = ended_of(children)
    proofs = tree.proven(children, ended)
    unknown = children
    if proofs or any(ended):
        unknown = some_of(children, [i for i, end in enumerate(ended) if not end and i not in proofs])
    if not unknown:
        estimates: list[Value] = []
    elif tree.evaluates_outcomes:
        estimates = yield from _estimates_by_outcomes(tree, unknown)
    else:
        estimates = (yield unknown).values
    if root_actions is not None:
        return tree.make(state, actions, children, ended, estimates, proofs)
    return tree.add(key, state, actions, children, ended, estimates, proofs)


def _estimates_by_outcomes(tree: MinimaxTree, states: Sequence[pyspiel.State]) -> Requests[list[Value]]:
    """Requests the estimates of `states`, and those of the outcomes of chance states in their place."""
    parts: list[tuple[Sequence[pyspiel.State], list[float]]] = []
    for state in states:
        if is_chance(state):
            outcomes, probabilities, _ = sampled_outcomes(state, tree.chance_samples)
            parts.append((children_of(state, outcomes), probabilities))
        else:
            parts.append(([state], [1.0]))
    reached = [state for found, _ in parts for state in found]
    request = [state for state in reached if not state.is_terminal()]
    estimates = iter((yield request).values if request else [])
    values = iter([tree.terminal_value(state) if state.is_terminal() else next(estimates) for state in reached])
    expected = expectation if tree.rows is None else expected_row
    return [expected([*itertools.islice(values, len(found))], probabilities) for found, probabilities in parts]


class Walk:
    """A path from a root through the tree, along the best unresolved actions.

    A walk serves one iteration of a search. An iteration that is abandoned changes nothing in the tree except the visit
    counts on the path.

    Args:
        tree: tree to walk in and to add to.
        select: selects the action at each unresolved node.
        state: state of the root, not terminal; it is not changed.
        rng: breaks ties.
        root: node of the root, if the caller has it.

    Attributes:
        node: current node; None outside the tree or on a terminal state.
        path: nodes passed, each with the index of the selected action.
        key: key of the current leaf.
    """

    __slots__ = ("_rng", "_select", "_state", "_tree", "key", "node", "path")

    def __init__(
        self,
        tree: MinimaxTree,
        select: Decision,
        state: pyspiel.State,
        rng: random.Random,
        root: Node | None = None,
    ) -> None:
        self._tree = tree
        self._select = select
        self._state = state.clone()
        self._rng = rng
        self.path: list[tuple[Node, int]] = []
        self.key: Hashable = None
        self.node = root

    def reaches_leaf(self) -> bool:
        """Walks on to a leaf. Returns True at a state outside the tree, False at a terminal or resolved state.

        Each step takes the selected action and counts it in n(s, a).
        """
        tree, state, rng, path, node = self._tree, self._state, self._rng, self.path, self.node
        select = self._select
        while True:
            if node is None:
                if state.is_terminal():
                    break
                self.key = tree.key(state)
                node = tree.table.get(self.key)
                if node is None:
                    self.node = None
                    return True
            passed = len(path)
            while node is not None and not node.resolved:
                action = select(node, rng)
                node.visits[action] = node.visits.get(action, 0) + 1
                path.append((node, action))
                node = node.children.get(action)
            for above, action in path[passed:]:
                state.apply_action(above.actions[action])
            if node is not None:  # it is resolved
                break
        self.node = node
        return False

    def expand(self) -> Requests[Node]:
        """Expands the current leaf s: S ← S ∪ {s}. The caller sets `node` to the returned node before the walk
        continues.

        Raises:
            SearchInterrupted: the tree is full.
        """
        return expand(self._tree, self.key, self._state)

    def follow(self, path: Sequence[tuple[Node, int]]) -> None:
        """Walks from the root along `path`, and counts its last selection, an outcome of chance."""
        for node, i in path:
            self._state.apply_action(node.actions[i])
            self.path.append((node, i))
            self.node = node.children.get(i)
        if path:
            node, i = path[-1]
            node.visits[i] = node.visits.get(i, 0) + 1

    def undo_visits(self) -> None:
        """Removes the walk's selections from the visit counts, when the walk has no result."""
        for node, i in self.path:
            node.visits[i] -= 1
            if not node.visits[i]:
                del node.visits[i]

    def backup(self) -> Node:
        """Backs up the values of the current node to the root, and returns the root's node.

        The recursive calls of Algorithms 10 and 12 do this when they return. The value of a terminal state is in its
        parent already.
        """
        node = self.node
        for parent, i in reversed(self.path):
            if node is not None:
                parent.update(i, node)
            parent.kind.backup(parent)
            node = parent
        assert node is not None, "a root that is not terminal has a node once it has been reached"
        return node


def through_all_outcomes(
    tree: MinimaxTree,
    select: Decision,
    state: pyspiel.State,
    rng: random.Random,
    root: Node | None,
    *,
    length: float = math.inf,
    most: float = math.inf,
) -> Requests[Node]:
    """Runs an iteration that follows every unresolved outcome of the chance nodes it passes, one walk after another.

    Args:
        tree, select, state, rng, root: as for a `Walk`.
        length: maximum number of states that each walk expands.
        most: maximum number of states that the iteration expands.
    """
    expanded = 0
    branched: set[int] = set()
    waiting: list[list[tuple[Node, int]]] = [[]]
    while waiting and expanded < most:
        followed = waiting.pop()
        walk = Walk(tree, select, state, rng, root)
        walk.follow(followed)
        last = min(most, expanded + length)
        try:
            while expanded < last and walk.reaches_leaf():
                walk.node = yield from walk.expand()
                expanded += 1
        except SearchInterrupted:
            if not walk.path:
                raise
            most = expanded
        root = walk.backup()
        waiting.extend(_other_outcomes(walk.path, len(followed), branched))
    assert root is not None, "the first walk has reached it"
    return root


def _other_outcomes(path: list[tuple[Node, int]], start: int, branched: set[int]) -> Iterator[list[tuple[Node, int]]]:
    """Yields the path to each unresolved outcome that a walk did not follow at the chance nodes of `path[start:]`.

    Args:
        branched: identities of the chance nodes where the iteration has branched already; those of the path are added.
    """
    for depth, (node, followed) in enumerate(path[start:], start):
        if node.kind is NodeKind.CHANCE and id(node) not in branched:
            branched.add(id(node))
            for i, resolved in enumerate(node.resolutions):
                if not resolved and i != followed:
                    yield [*path[:depth], (node, i)]


def one_by_one(requests: Requests[T], *, needs_first: bool = False) -> Requests[T]:
    """Requests the evaluations of a generator one state at a time.

    Args:
        needs_first: ignores `SearchInterrupted` until the first batch is evaluated completely.
    """
    try:
        request = next(requests)
        while True:
            try:
                if len(request) > 1:
                    answers = []
                    for state in request:
                        answers.append((yield from _until_answered([state])) if needs_first else (yield [state]))
                    answer = joined(answers)
                else:
                    answer = yield request
            except SearchInterrupted as interruption:
                request = requests.throw(interruption)
            else:
                needs_first = False
                request = requests.send(answer)
    except StopIteration as finished:
        result: T = finished.value
        return result
    finally:
        requests.close()


def _until_answered(request: Sequence[pyspiel.State]) -> Requests[Evaluation]:
    """Repeats a request until it is answered, and ignores `SearchInterrupted`."""
    while True:
        try:
            return (yield request)
        except SearchInterrupted:
            continue


def principal_variation(node: Node, first: int) -> list[int]:
    """Returns the line that starts with the action of index `first` of `node`, as far as the tree reaches.

    Each next action is a best one. Ties go to the most visited action, then to the first. The outcome of chance is the
    most probable one.
    """
    actions = [node.actions[first]]
    following = node.children.get(first)
    while following is not None:
        best = following.kind.best
        if following.kind is NodeKind.CHANCE:
            labels = [(0.0, p) for p in cast("StochasticNode | ChanceNode", following).probabilities]
        else:
            labels = list(zip(following.completions, following.values, strict=True))
        extreme = best(labels)
        i = max((i for i, w in enumerate(labels) if w == extreme), key=following.count)
        actions.append(following.actions[i])
        following = following.children.get(i)
    return actions


def moves_to_end(node: Node, first: int, state: pyspiel.State) -> int | None:
    """Returns the number of moves from `state` to the end of the game along a proven line; None if it is unknown.

    The line is the principal variation that starts with the action of index `first` of `node`. It is unknown where
    chance chooses, and where the tree has no node for a proven state.
    """
    here, line = state.clone(), principal_variation(node, first)
    for action in line:
        if here.is_terminal() or is_chance(here):
            return None
        here.apply_action(action)
    return len(line) if here.is_terminal() else None
