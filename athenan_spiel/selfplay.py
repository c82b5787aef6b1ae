"""Matches of self-play, many at once.

A round is K matches that start together and are searched side by side: what they ask is merged into one batch per
call of the network. The matches of a round stand in two groups; while the network values what one group asked,
the other one's trees grow. K = 1 is the papers' setting. A match depends on its seed and on the evaluator alone
where the budget is in iterations or evaluations, so a round can be repeated exactly.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.decisions import Decision
from athenan_spiel.search.base import BestFirstSearch
from athenan_spiel.search.thinking import Budget, Evaluator, checked_values, search_under
from athenan_spiel.search.walk import Questions
from athenan_spiel.tree import Store, Tree


@runtime_checkable
class SubmittingEvaluator(Protocol):
    """An evaluator that can also answer later, computing while its caller goes on."""

    def submit(self, states: Sequence[pyspiel.State]) -> Future[NDArray[np.floating]]: ...


@dataclass(frozen=True, eq=False)
class Match:
    """A finished match: what was played, and the tree of everything searched on the way.

    Attributes:
        seed: what it was played from.
        history: all actions.
        returns: as OpenSpiel's `state.returns()`.
        tree: holds the values to be learned.
        iterations, evaluations: of the search, over the whole match.
    """

    seed: int
    history: list[int]
    returns: list[float]
    tree: Tree
    iterations: int
    evaluations: int


def self_play(
    game: pyspiel.Game, search: BestFirstSearch, decision: Decision, budget: Budget, seed: int, store: Store | None = None
) -> Questions[Match]:
    """One match from the initial state, both sides thinking with the same tree (Algorithm 3's inner loop)."""
    rng = random.Random(seed)
    state = game.new_initial_state()
    tree = search.new_tree(store)
    iterations = evaluations = 0
    while not state.is_terminal():
        node, i, e = yield from search_under(search, tree, state, budget, rng)
        iterations += i
        evaluations += e
        state.apply_action(node.actions[decision(node, rng)])
    return Match(seed, state.history(), state.returns(), tree, iterations, evaluations)


class _Group:
    """Some matches of a round that wait for the same batch."""

    def __init__(self, matches: list[tuple[int, Questions[Match]]]) -> None:
        self.waiting: list[tuple[int, Questions[Match], int]] = []
        self.states: list[pyspiel.State] = []
        self.pending: Future[NDArray[np.floating]] | None = None
        self._starting = matches

    def advance(self, values: list[float]) -> list[tuple[int, Match]]:
        """Send each match its values, gather what they ask next; returns the matches that ended."""
        finished: list[tuple[int, Match]] = []
        asked: list[tuple[int, Questions[Match], int]] = []
        states: list[pyspiel.State] = []
        at = 0
        resumed: list[tuple[int, Questions[Match], list[float] | None]] = [(i, m, None) for i, m in self._starting]
        self._starting = []
        for index, match, count in self.waiting:
            resumed.append((index, match, values[at : at + count]))
            at += count
        for index, match, answer in resumed:
            try:
                question = next(match) if answer is None else match.send(answer)
            except StopIteration as end:
                finished.append((index, end.value))
            else:
                asked.append((index, match, len(question)))
                states += question
        self.waiting, self.states = asked, states
        return finished


class Round:
    """K matches of self-play in progress; `advance` until it says there is nothing more to do.

    Args:
        seeds: one for each match.
        new_store: makes the store of a match's observations; without it the trees keep none.

    Attributes:
        evaluations: states valued so far.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        search: BestFirstSearch,
        evaluator: Evaluator,
        decision: Decision,
        budget: Budget,
        seeds: Sequence[int],
        *,
        new_store: Callable[[], Store] | None = None,
    ) -> None:
        self.evaluations = 0
        self._evaluator = evaluator
        self._finished: dict[int, Match] = {}
        self._count = len(seeds)
        matches = [
            (i, self_play(game, search, decision, budget, seed, new_store() if new_store else None))
            for i, seed in enumerate(seeds)
        ]
        self._groups = [_Group(matches[start::2]) for start in (0, 1) if matches[start::2]]
        self._turn = 0
        for group in self._groups:
            self._go_on(group, [])

    @property
    def alive(self) -> int:
        """Number of matches that have not ended."""
        return self._count - len(self._finished)

    def advance(self) -> bool:
        """Answer what one group asked and let it ask again; False once every match has ended.

        Raises:
            EvaluatorError: as `think`.
        """
        if not self._groups:
            return False
        group = self._groups[self._turn % len(self._groups)]
        self._turn += 1
        assert group.pending is not None
        values = checked_values(group.pending.result(), len(group.states))
        self.evaluations += len(group.states)
        self._go_on(group, values)
        return bool(self._groups)

    def matches(self) -> list[Match]:
        """The matches that have ended, in the order of their seeds."""
        return [self._finished[i] for i in sorted(self._finished)]

    def _go_on(self, group: _Group, values: list[float]) -> None:
        self._finished.update(group.advance(values))
        if not group.waiting:
            self._groups = [other for other in self._groups if other is not group]
            return
        if isinstance(self._evaluator, SubmittingEvaluator):
            group.pending = self._evaluator.submit(group.states)
        else:
            group.pending = Future()
            group.pending.set_result(self._evaluator(group.states))
