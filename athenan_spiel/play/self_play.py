"""Matches of self-play, many at once.

A round is K matches that start together and are searched side by side, in two groups: what the matches of a group ask
is merged into one batch per call of the network, and while it values that, the other group's trees grow. K = 1 is
the papers' setting. A match depends on its seed and on the evaluator alone where the budget is in iterations or
evaluations, so a round can be repeated exactly. The groups take turns whatever the clock says: an evaluator that is
changed after some `advance` is so at the same place of every match when the round is repeated.
"""

from __future__ import annotations

import gc
import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyspiel

from athenan_spiel.engines.base import Deferred, Pending
from athenan_spiel.evaluators.base import Answer, Evaluation, Evaluator, checked, submitting
from athenan_spiel.games.children import Joined
from athenan_spiel.search.base import Search
from athenan_spiel.search.choice import Decision
from athenan_spiel.search.drive import Budget, search_under
from athenan_spiel.search.tree import Store, Tree
from athenan_spiel.search.walk import Questions


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Python's cycle collector rests within: a tree is many small objects and no cycle, walked over for nothing.

    What is no longer used is freed as always, by its count of references.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@dataclass(frozen=True, eq=False)
class Match:
    """A finished match: what was played, and the tree of everything searched on the way.

    Attributes:
        seed: what it was played from.
        history: all actions.
        returns: as OpenSpiel's `state.returns()`.
        tree: everything searched, with the values as they are in the end.
        states: the states of the match, from the initial to the terminal one.
        values: v(s) of each of them when its action was decided, and the worth of the terminal one.
        iterations, evaluations: of the search, over the whole match.
    """

    seed: int
    history: list[int]
    returns: list[float]
    tree: Tree
    states: list[pyspiel.State]
    values: list[float]
    iterations: int
    evaluations: int


def self_play(
    game: pyspiel.Game,
    search: Search,
    decision: Decision,
    budget: Budget,
    seed: int,
    store: Store | None = None,
) -> Questions[Match]:
    """One match from the initial state, both sides thinking with the same tree (Algorithm 3's inner loop).

    After a thought that asked nothing and proved nothing it yields an empty question, so that other matches go on.
    """
    rng = random.Random(seed)
    state = game.new_initial_state()
    tree = search.new_tree(store)
    states: list[pyspiel.State] = []
    values: list[float] = []
    iterations = evaluations = 0
    while not state.is_terminal():
        node, i, e = yield from search_under(search, tree, state, budget, rng)
        iterations += i
        evaluations += e
        if i and not e and not node.resolved:
            yield []
        states.append(state.clone())
        values.append(node.value)
        state.apply_action(node.actions[decision(node, rng)])
    states.append(state)
    values.append(search.outcome(state))
    return Match(seed, state.history(), state.returns(), tree, states, values, iterations, evaluations)


class _Group:
    """Some matches of a round, whose questions make one batch."""

    def __init__(self, matches: Sequence[tuple[int, Questions[Match]]]) -> None:
        self.running = [(index, match, 0) for index, match in matches]
        self.states = Joined()
        self.pending: Pending[Answer] | None = None

    def advance(self, answers: Evaluation | None) -> list[tuple[int, Match]]:
        """Send each match its part of `answers` (none starts them) and gather the next batch in `states`.

        Returns the matches that ended, by index. A group with no running match is done.
        """
        finished = []
        running = []
        self.states = Joined()
        at = 0
        for index, match, count in self.running:
            try:
                question = match.send(None if answers is None else answers.part(at, at + count))  # type: ignore[arg-type]
            except StopIteration as end:
                finished.append((index, end.value))
            else:
                running.append((index, match, len(question)))
                self.states.append(question)
            at += count
        self.running = running
        return finished


class Round:
    """K matches of self-play in progress; `advance` until it says there is nothing more to do.

    Args:
        evaluator: answers at once when called or, by its `submit`, later.
        seeds: one for each match.
        new_store: makes the store of a match's observations; without it the trees keep none.

    Attributes:
        evaluations: states valued so far.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        search: Search,
        evaluator: Evaluator,
        decision: Decision,
        budget: Budget,
        seeds: Sequence[int],
        *,
        new_store: Callable[[], Store] | None = None,
    ) -> None:
        self.evaluations = 0
        self._submit = submitting(evaluator)
        self._finished: dict[int, Match] = {}
        self._running = len(seeds)
        self._next = 0
        matches = [
            (index, self_play(game, search, decision, budget, seed, new_store() if new_store else None))
            for index, seed in enumerate(seeds)
        ]
        self._waiting: deque[_Group] = deque()
        for part in (matches[0::2], matches[1::2]):
            if part:
                self._go_on(_Group(part), None)

    @property
    def alive(self) -> int:
        """Number of matches that have not ended."""
        return self._running

    def advance(self) -> bool:
        """Answer the group that has waited longest and let it ask again; False once every match has ended.

        Raises:
            EvaluatorError: as `think`.
        """
        if not self._waiting:
            return False
        group = self._waiting.popleft()
        assert group.pending is not None
        answers = checked(group.pending.result(), group.states)
        self.evaluations += len(answers.values)
        self._go_on(group, answers)
        return bool(self._waiting)

    def take(self) -> Match | None:
        """The match whose turn it is by the order of the seeds, if it has ended; the round lets go of it."""
        match = self._finished.pop(self._next, None)
        self._next += match is not None
        return match

    def matches(self) -> list[Match]:
        """The matches that have ended and were not taken, in the order of their seeds."""
        return [self._finished[index] for index in sorted(self._finished)]

    def _go_on(self, group: _Group, answers: Evaluation | None) -> None:
        finished = group.advance(answers)
        self._running -= len(finished)
        self._finished.update(finished)
        if group.running:
            group.pending = self._submit(group.states) if group.states else Deferred(lambda: np.empty(0, np.float32))
            self._waiting.append(group)
