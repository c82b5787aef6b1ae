"""Self-play of many games at once.

A round is K games that start together and run in one `Driver`, which can add more; the papers use K = 1. With a budget
in iterations or evaluations a game depends only on its seed and the evaluator, so a round can be repeated exactly. With
a budget in seconds each game has its own time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pyspiel

from athenan_spiel.evaluators.base import Evaluator
from athenan_spiel.games.chance import roll
from athenan_spiel.play.driver import Driver, Stopwatch
from athenan_spiel.play.lazy_states import LazyStates
from athenan_spiel.search.base import Search
from athenan_spiel.search.choice import Decision
from athenan_spiel.search.drive import Budget, Clock, search_under
from athenan_spiel.search.tree import Store, Tree
from athenan_spiel.search.walk import Requests


@dataclass
class Thinking:
    """Search and budget of the moves of one game, which may be replaced during the game. Implements `drive.Limits`.

    A new budget applies to the move in progress, too; a new search applies from the next move on.
    """

    search: Search
    budget: Budget
    plies: int = 0
    """Number of moves chosen so far, without random opening moves."""

    @property
    def timed(self) -> bool:
        """Whether a limit needs a clock."""
        return self.budget.timed

    @property
    def iterations(self) -> int | None:
        """Maximum number of iterations."""
        return self.budget.iterations

    @property
    def network_seconds(self) -> float | None:
        """Maximum time spent waiting for evaluations, in seconds."""
        return self.budget.network_seconds

    def spent(self, seconds: float, iterations: int, evaluations: int, network_seconds: float = 0.0) -> bool:
        """Returns whether the resources used reach a limit."""
        return self.budget.spent(seconds, iterations, evaluations, network_seconds)


@dataclass(frozen=True, eq=False)
class SelfPlayGame:
    """A finished game of self-play and its search tree.

    Attributes:
        seed: random seed of the game.
        history: all actions.
        returns: `state.returns()` of the terminal state.
        tree: search tree of the game, with its final values.
        states: the searched states, in order, then the terminal state. In `self_play` these are all states after the
            random opening in which a player moves, and the chance states after the first of them; an apprentice's game
            has one searched state.
        values: v(s) of each searched state at the end of its search, then the terminal value. A chance state has the
            value of the state after it, whose expectation is its own.
        proven: whether each searched state was proven at the end of its search.
        policies: policy target of each searched state at the end of its search, as (legal actions, probabilities),
            empty for a chance state; an empty list if the search has no policy.
        iterations, evaluations, requests: resources used by the whole game; `requests` counts requests
            for evaluations.
    """

    seed: int
    history: list[int]
    returns: list[float]
    tree: Tree
    states: LazyStates
    values: list[float]
    proven: list[bool]
    policies: list[tuple[Sequence[int], Sequence[float]]]
    iterations: int
    evaluations: int
    requests: int


def self_play(
    game: pyspiel.Game,
    thinking: Thinking,
    decision: Decision,
    seed: int,
    store: Store | None = None,
    clock: Clock | None = None,
    opening_plies: int = 0,
) -> Requests[SelfPlayGame]:
    """Plays one game from the initial state; both players search in the same tree (inner loop of Algorithm 3).

    The seed also determines the outcomes of chance.

    After a search that requested no evaluation and did not prove its root, the generator yields an empty request, so
    that other games continue.

    Args:
        game: game to play.
        thinking: search and budget of the moves.
        decision: selects the action to play.
        seed: random seed of the game.
        store: store for the observations of the tree.
        clock: clock for the budget's time limits; the machine's by default.
        opening_plies: maximum number of random actions before the first search. The number is drawn uniformly from 0 to
            this maximum. If these actions end the game, none is played.
    """
    rng = random.Random(seed)
    state = _after_opening(game, opening_plies, rng)
    roll(state, rng.random)
    tree = thinking.search.new_tree(store)
    plies: list[int] = []
    values: list[float] = []
    proven: list[bool] = []
    policies: list[tuple[Sequence[int], Sequence[float]]] = []
    iterations = evaluations = requests = 0
    unrecorded = state.move_number()  # first ply after the last action
    while not state.is_terminal():
        search = thinking.search
        node, used = yield from search_under(search, tree, state, thinking, rng, clock)
        iterations += used.iterations
        evaluations += used.evaluations
        requests += used.requests
        if used.iterations and not used.evaluations and not node.resolved:
            yield []
        policy = search.policy(node)
        if policy is not None:
            policies.extend([((), ())] * (state.move_number() - unrecorded))
            policies.append((node.actions, policy))
        plies.extend(range(unrecorded, state.move_number() + 1))
        proven.extend([node.resolved] * (len(plies) - len(values)))
        values.extend([node.value] * (len(plies) - len(values)))
        state.apply_action(node.actions[decision(node, rng)])
        unrecorded = state.move_number()
        roll(state, rng.random)
    if policies:
        policies.extend([((), ())] * (state.move_number() - unrecorded))
    plies.extend(range(unrecorded, state.move_number() + 1))
    values.extend([thinking.search.outcome(state)] * (len(plies) - len(values)))
    return SelfPlayGame(
        seed,
        history := state.history(),
        state.returns(),
        tree,
        LazyStates(game, history, plies),
        values,
        proven,
        policies,
        iterations,
        evaluations,
        requests,
    )


def _after_opening(game: pyspiel.Game, most: int, rng: random.Random) -> pyspiel.State:
    """Returns a state after 0 to `most` random actions of players; the initial state if they end the game."""
    state = game.new_initial_state()
    for _ in range(rng.randint(0, most) if most else 0):
        roll(state, rng.random)
        if not state.is_terminal():
            state.apply_action(rng.choice(state.legal_actions()))
        if state.is_terminal():
            return game.new_initial_state()
    return state


@dataclass(frozen=True, eq=False)
class _GameInProgress:
    """A game in progress, which implements `driver.Playable`."""

    seed: int
    thinking: Thinking
    requests: Requests[SelfPlayGame]
    evaluator: Evaluator
    watch: Stopwatch | None


class Round(Driver[SelfPlayGame]):
    """K games of self-play in progress: call `advance` until it returns False.

    Args:
        game: game to play.
        search: search of the moves.
        evaluator: evaluates states; used asynchronously if it has `submit`.
        decision: passed to `play`, which selects its actions with it.
        budget: budget per move.
        seeds: random seed of each game.
        new_store: makes the store for the observations of a game from the game's seed. None stores no observations.
        play: returns the generator of a game; has the parameters of `self_play`.

    Attributes:
        plies: number of moves chosen so far in all games, without random opening moves.
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
        play: Callable[..., Requests[SelfPlayGame]] = self_play,
    ) -> None:
        self.plies = 0
        self._next_index = 0
        self._game = game
        self._evaluator = evaluator
        self._new_store = new_store
        self._count = len(seeds)
        super().__init__([self._new_game(search, decision, budget, seed, play) for seed in seeds])

    def begin(
        self,
        search: Search,
        decision: Callable[[Any, random.Random], int],
        budget: Budget,
        seed: int,
        play: Callable[..., Requests[SelfPlayGame]] = self_play,
    ) -> None:
        """Starts another game beside those in progress; the arguments are those of the class."""
        self.add(self._count, self._new_game(search, decision, budget, seed, play))
        self._count += 1

    def _new_game(
        self,
        search: Search,
        decision: Callable[[Any, random.Random], int],
        budget: Budget,
        seed: int,
        play: Callable[..., Requests[SelfPlayGame]],
    ) -> _GameInProgress:
        store = self._new_store(seed) if self._new_store else None
        watch = Stopwatch() if budget.timed else None
        thinking = Thinking(search, budget)

        def counted(node: Any, rng: random.Random) -> int:
            self.plies += 1
            thinking.plies += 1
            return decision(node, rng)

        requests = play(self._game, thinking, counted, seed, store, watch)
        return _GameInProgress(seed, thinking, requests, self._evaluator, watch)

    @property
    def plies_in_play(self) -> int:
        """Number of moves chosen so far in the games that have neither ended nor been dropped."""
        return sum(cast(_GameInProgress, game).thinking.plies for _, game in self.playing())

    def reduce(self, search: Search, budget: Budget, most: int) -> list[int]:
        """Replaces the search and the budget of all games, as `Thinking` describes; drops the last games beyond `most`.

        Args:
            search: new search, of the same class as before.
            budget: new budget. Neither budget has a time limit.
            most: maximum number of games to keep.

        Returns:
            Seeds of the dropped games.
        """
        playing = [(index, cast(_GameInProgress, game)) for index, game in self.playing()]
        dropped = {index: game.seed for index, game in playing[most:]}
        self.drop(dropped)
        for _, game in playing[:most]:
            game.thinking.search, game.thinking.budget = search, budget
        return list(dropped.values())

    def take(self) -> SelfPlayGame | None:
        """Removes and returns the next game in the order of the seeds; None if it has not ended."""
        game = self._ended.pop(self._next_index, None)
        self._next_index += game is not None
        return game

    def matches(self) -> list[SelfPlayGame]:
        """Returns the games that have ended and that `take` has not removed, in the order of their seeds."""
        return [self._ended[index] for index in sorted(self._ended)]
