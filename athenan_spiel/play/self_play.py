"""Matches of self-play, many at once.

A round is K matches that start together and are played by one `Driver`: K = 1 is the papers' setting. A match depends
on its seed and on the evaluator alone where the budget is in iterations or evaluations, so a round can be repeated
exactly. With a budget in seconds each match has its own time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pyspiel

from athenan_spiel.evaluators.base import Evaluator
from athenan_spiel.play.driver import Driver, Stopwatch
from athenan_spiel.play.lazy_states import LazyStates
from athenan_spiel.search.base import Search
from athenan_spiel.search.choice import Decision
from athenan_spiel.search.drive import Budget, Clock, search_under
from athenan_spiel.search.tree import Store, Tree
from athenan_spiel.search.walk import Questions


@dataclass
class Thinking:
    """How the moves of a match are searched for; `search_under` takes it for a budget.

    A new budget applies to the move in progress, too, a new search from the next move on.
    """

    search: Search
    budget: Budget
    plies: int = 0
    """Moves chosen so far; random ones don't count."""

    @property
    def timed(self) -> bool:
        """A clock is needed to see when the budget is spent."""
        return self.budget.timed

    @property
    def iterations(self) -> int | None:
        """Maximum number of iterations."""
        return self.budget.iterations

    @property
    def network_seconds(self) -> float | None:
        """Time in which values are waited for."""
        return self.budget.network_seconds

    def spent(self, seconds: float, iterations: int, evaluations: int, network_seconds: float = 0.0) -> bool:
        """True once what has been used reaches a limit."""
        return self.budget.spent(seconds, iterations, evaluations, network_seconds)


@dataclass(frozen=True, eq=False)
class SelfPlayGame:
    """A finished match: what was played, and the tree of everything searched on the way.

    Attributes:
        seed: what it was played from.
        history: all actions.
        returns: as OpenSpiel's `state.returns()`.
        tree: everything searched, with the values as they are in the end.
        states: those that were searched for a move or an analysis, in order, and the terminal one: where a search
            finds each move, all states of the match but those before its random actions. They are made when they are
            asked for.
        values: v(s) of each of them when its search had ended, and the worth of the terminal one.
        policies: of each but the terminal one what the search would have learned of it then, as (legal actions,
            probabilities); empty where it tells none.
        iterations, evaluations, questions: over the whole match.
    """

    seed: int
    history: list[int]
    returns: list[float]
    tree: Tree
    states: LazyStates
    values: list[float]
    policies: list[tuple[Sequence[int], Sequence[float]]]
    iterations: int
    evaluations: int
    questions: int


def self_play(
    game: pyspiel.Game,
    thinking: Thinking,
    decision: Decision,
    seed: int,
    store: Store | None = None,
    clock: Clock | None = None,
    opening_plies: int = 0,
) -> Questions[SelfPlayGame]:
    """One match from the initial state, both sides thinking with the same tree (Algorithm 3's inner loop).

    After a thought that asked nothing and proved nothing it yields an empty question, so that other matches go on.

    Args:
        clock: by which the budget's seconds count; the machine's by default.
        opening_plies: random actions before the first thought, at most; how many is drawn. Where they end the match,
            there are none.
    """
    rng = random.Random(seed)
    state = _opened(game, opening_plies, rng)
    first = len(state.history())
    tree = thinking.search.new_tree(store)
    values: list[float] = []
    policies: list[tuple[Sequence[int], Sequence[float]]] = []
    iterations = evaluations = questions = 0
    while not state.is_terminal():
        search = thinking.search
        node, used = yield from search_under(search, tree, state, thinking, rng, clock)
        iterations += used.iterations
        evaluations += used.evaluations
        questions += used.questions
        if used.iterations and not used.evaluations and not node.resolved:
            yield []
        values.append(node.value)
        policy = search.policy(node)
        if policy is not None:
            policies.append((node.actions, policy))
        state.apply_action(node.actions[decision(node, rng)])
    values.append(thinking.search.outcome(state))
    history = state.history()
    return SelfPlayGame(
        seed,
        history,
        state.returns(),
        tree,
        LazyStates(game, history, range(first, len(history) + 1)),
        values,
        policies,
        iterations,
        evaluations,
        questions,
    )


def _opened(game: pyspiel.Game, most: int, rng: random.Random) -> pyspiel.State:
    """A state after so many random actions at most, none of which ends the match."""
    state = game.new_initial_state()
    for _ in range(rng.randint(0, most) if most else 0):
        state.apply_action(rng.choice(state.legal_actions()))
        if state.is_terminal():
            return game.new_initial_state()
    return state


@dataclass(frozen=True, eq=False)
class _Playing:
    """A match under way; a `driver.Playable`."""

    seed: int
    thinking: Thinking
    questions: Questions[SelfPlayGame]
    evaluator: Evaluator
    watch: Stopwatch | None


class Round(Driver[SelfPlayGame]):
    """K matches of self-play in progress; `advance` until it says there is nothing more to do.

    Args:
        evaluator: answers at once when called or, by its `submit`, later.
        decision: how moves are drawn, as `play` takes it.
        seeds: one for each match.
        new_store: makes, of its seed, the store of a match's observations; without it the trees keep none.
        play: how a match is made, called as `self_play` is.

    Attributes:
        plies: moves chosen so far in all matches; random ones don't count.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        search: Search,
        evaluator: Evaluator,
        decision: Callable[[Any, random.Random], int],
        budget: Budget,
        seeds: Sequence[int],
        *,
        new_store: Callable[[int], Store] | None = None,
        play: Callable[..., Questions[SelfPlayGame]] = self_play,
    ) -> None:
        self.plies = 0
        self._next = 0
        self._game = game
        self._evaluator = evaluator
        self._new_store = new_store
        self._begun = len(seeds)
        super().__init__([self._match(search, decision, budget, seed, play) for seed in seeds])

    def begin(
        self,
        search: Search,
        decision: Callable[[Any, random.Random], int],
        budget: Budget,
        seed: int,
        play: Callable[..., Questions[SelfPlayGame]] = self_play,
    ) -> None:
        """Begin a further match beside those in progress; arguments as of the class."""
        self.add(self._begun, self._match(search, decision, budget, seed, play))
        self._begun += 1

    def _match(
        self,
        search: Search,
        decision: Callable[[Any, random.Random], int],
        budget: Budget,
        seed: int,
        play: Callable[..., Questions[SelfPlayGame]],
    ) -> _Playing:
        store = self._new_store(seed) if self._new_store else None
        watch = Stopwatch() if budget.timed else None
        thinking = Thinking(search, budget)

        def counted(node: Any, rng: random.Random) -> int:
            self.plies += 1
            thinking.plies += 1
            return decision(node, rng)

        questions = play(self._game, thinking, counted, seed, store, watch)
        return _Playing(seed, thinking, questions, self._evaluator, watch)

    @property
    def plies_in_play(self) -> int:
        """Moves chosen so far in the matches that have neither ended nor been dropped."""
        return sum(cast(_Playing, match).thinking.plies for _, match in self.playing())

    def reduce(self, search: Search, budget: Budget, most: int) -> list[int]:
        """Search for all further moves with `search` and `budget`, and drop the last matches in excess of `most`.

        Args:
            search: of the same kind as before.
            budget: without a limit in time, like the one before.

        Returns:
            The seeds of the dropped matches.
        """
        playing = [(index, cast(_Playing, match)) for index, match in self.playing()]
        dropped = {index: match.seed for index, match in playing[most:]}
        self.drop(dropped)
        for _, match in playing[:most]:
            match.thinking.search, match.thinking.budget = search, budget
        return list(dropped.values())

    def take(self) -> SelfPlayGame | None:
        """The match whose turn it is by the order of the seeds, if it has ended; the round lets go of it."""
        match = self._ended.pop(self._next, None)
        self._next += match is not None
        return match

    def matches(self) -> list[SelfPlayGame]:
        """The matches that have ended and were not taken, in the order of their seeds."""
        return [self._ended[index] for index in sorted(self._ended)]
