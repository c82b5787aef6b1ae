"""One iteration's walk from the root of a tree: what Descent and UBFM are both made of.

A search is a generator. It yields a batch of non-terminal states and is sent an `Evaluation` of them, in the same
order. All children of a state make one batch; terminal ones are valued by the outcome.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Hashable, Sequence
from typing import TypeVar

import pyspiel

from athenan_spiel.evaluators.base import Evaluation, joined
from athenan_spiel.games.children import children_of, ended_of, some_of
from athenan_spiel.search.choice import Decision
from athenan_spiel.search.minimax_tree import MinimaxTree
from athenan_spiel.search.node import Node

T = TypeVar("T")

Questions = Generator[Sequence[pyspiel.State], Evaluation, T]
"""Yields states to be valued, is sent what is said of them, returns a T in the end."""


class Enough(Exception):  # noqa: N818 - it says no error
    """Thrown into an iteration that is to end where it stands (`Search.curtails`), or raised where a tree is full."""


def expand(
    tree: MinimaxTree, key: Hashable, state: pyspiel.State, root_actions: Sequence[int] | None = None
) -> Questions[Node]:
    """S ← S ∪ {s} for a state that is not in the tree: the block under `s ∉ S` of Algorithms 10 and 12.

    Children that are proven are not asked about.

    Args:
        root_actions: the legal actions to which a restricted root has to be made of the state, outside the table.

    Raises:
        Enough: the tree is full, and the node is no restricted root.
    """
    if root_actions is None and tree.is_full and tree.table:
        raise Enough
    actions = state.legal_actions() if root_actions is None else root_actions
    children = children_of(state, actions)
    ended = ended_of(children)
    proofs = tree.proven(children, ended)
    unknown = children
    if proofs or any(ended):
        unknown = some_of(children, [i for i, end in enumerate(ended) if not end and i not in proofs])
    estimates = (yield unknown).values if unknown else []
    if root_actions is not None:
        return tree.make(state, actions, children, ended, estimates, proofs)
    return tree.add(key, state, actions, children, ended, estimates, proofs)


class Walk:
    """A path from a root through the tree, by the best unresolved actions.

    It is made for one iteration of a search. An iteration that is given up half way leaves the tree as it is, but
    for the selections counted on the path.

    Args:
        tree: the tree it walks in and adds to.
        select: which action it takes of a node that is not resolved.
        state: the root's state, not terminal; left as it is.
        rng: breaks ties.
        root: the root's node, where the caller has it already.

    Attributes:
        node: the node the walk stands on; None outside the tree or on a terminal state.
        path: the nodes it has come by, and the index of the action that it took of each.
        key: of the leaf that it stands on.
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
        """Go on until the walk stands on a state outside the tree: True; or on a terminal or resolved one: False.

        Each step takes the `select`ed action and counts it in n(s, a).
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

    def expand(self) -> Questions[Node]:
        """S ← S ∪ {s} for the leaf s the walk stands on. The walk goes on once `node` is what this returns.

        Raises:
            Enough: the tree is full.
        """
        return expand(self._tree, self.key, self._state)

    def take_back(self) -> None:
        """Count the selections on the path no more: nothing comes of this walk."""
        for node, i in self.path:
            node.visits[i] -= 1
            if not node.visits[i]:
                del node.visits[i]

    def backup(self) -> Node:
        """Carry the values of where the walk stands up to the root, and return the root's node.

        This is what the recursive calls of Algorithms 10 and 12 do when they return. A terminal state's worth is
        in its parent already.
        """
        node = self.node
        for parent, i in reversed(self.path):
            if node is not None:
                parent.update(i, node)
            parent.kind.backup(parent)
            node = parent
        assert node is not None, "a root that is not terminal has a node once it has been reached"
        return node


def one_by_one(questions: Questions[T], *, needs_first: bool = False) -> Questions[T]:
    """The same, but that each state is asked about by itself, and no two in one question.

    Args:
        needs_first: `Enough` has no effect before the first question is answered whole.
    """
    try:
        question = next(questions)
        while True:
            try:
                if len(question) > 1:
                    answers = []
                    for state in question:
                        answers.append((yield from _insisting([state])) if needs_first else (yield [state]))
                    answer = joined(answers)
                else:
                    answer = yield question
            except Enough as enough:
                question = questions.throw(enough)
            else:
                needs_first = False
                question = questions.send(answer)
    except StopIteration as finished:
        result: T = finished.value
        return result
    finally:
        questions.close()


def _insisting(question: Sequence[pyspiel.State]) -> Questions[Evaluation]:
    """Ask until there is an answer, however often `Enough` comes in its place."""
    while True:
        try:
            return (yield question)
        except Enough:
            continue


def principal_variation(node: Node, first: int) -> list[int]:
    """The line that begins with the first-th action of `node`, as far as the tree knows.

    Each next action is a best one, ties going to the most visited, then the first.
    """
    actions = [node.actions[first]]
    following = node.children.get(first)
    while following is not None:
        best = following.kind.best
        worth = list(zip(following.completions, following.values, strict=True))
        extreme = best(worth)
        i = max((i for i, w in enumerate(worth) if w == extreme), key=following.count)
        actions.append(following.actions[i])
        following = following.children.get(i)
    return actions
