"""Agent that learns its game from nothing during a start clock, and continues to learn while it plays."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import pyspiel

from athenan_spiel.arguments import require_kind, require_whole
from athenan_spiel.config.settings import Seconds, require_argument
from athenan_spiel.errors import AgentError
from athenan_spiel.evaluators.base import Answer, Evaluator
from athenan_spiel.evaluators.simple import RolloutEvaluator
from athenan_spiel.games import given_game
from athenan_spiel.games.rows import rows_of
from athenan_spiel.outcomes import Gain, Score
from athenan_spiel.outcomes.rows import gain_of
from athenan_spiel.play.agent import Agent
from athenan_spiel.search import Budget, make_search
from athenan_spiel.search.algorithms import DEFAULT, parse_search
from athenan_spiel.search.choice import suited
from athenan_spiel.search.drive import Clock
from athenan_spiel.search.result import SearchResult
from athenan_spiel.search.walk import Requests
from athenan_spiel.training.background import BackgroundTraining, TrainingProgress

PLAYOUTS_SHARE = 0.02
"""Maximum duration of the random playouts of one request, as a fraction of the play clock."""
_log = logging.getLogger(__name__)


class LearningAgent(Agent):
    """Plays with the newest network of a `BackgroundTraining`; each move starts with a new one, if there is one.

    The start clock runs once: at the first `restart`, `restart_at` or move, or in `train_first`. Until the first
    network exists, random playouts evaluate the states. If the training fails, one warning is logged, and the agent
    continues with its last network. Clones share the training. A copy by `pickle` or `copy.deepcopy` trains anew.

    Args:
        game: game or game string.
        start_seconds: start clock: time of the training before the first game.
        move_seconds: play clock: time per move.
        seed: random seed of the training and of the choice between equal moves.
        learns_during_play: whether training continues after the start clock.

    Raises:
        UnsupportedGameError: the game is invalid, or violates an assumption of the algorithms.
        AgentError: an argument has the wrong type or is out of range.
    """

    _training: BackgroundTraining | None = None

    def __init__(
        self,
        game: pyspiel.Game | str,
        *,
        start_seconds: float = 60.0,
        move_seconds: float = 10.0,
        seed: int = 0,
        learns_during_play: bool = True,
    ) -> None:
        require_argument("start_seconds", start_seconds, Seconds, AgentError)
        require_argument("move_seconds", move_seconds, Seconds, AgentError)
        require_whole("seed", seed, AgentError)
        require_kind("learns_during_play", learns_during_play, bool, AgentError)
        game = given_game(game)
        self._made_of = str(game), start_seconds, move_seconds, seed, learns_during_play
        self._used: Agent | None = None
        outcome: Any = Score() if game.num_players() == 1 else Gain()
        if rows_of(game) is not None:
            outcome = gain_of(game)
        spec = parse_search(DEFAULT)
        super().__init__(
            game,
            make_search(game, spec.config, outcome),
            _Replaceable(_QuickPlayouts(outcome, seed % 2**64, PLAYOUTS_SHARE * move_seconds)),
            decision=suited(spec.algorithm.decision, game),
            budget=Budget(seconds=move_seconds),
            rng=random.Random(seed),
            proofs=True,
        )
        self._training = BackgroundTraining(game, start_seconds, seed=seed, continues=learns_during_play)

    @property
    def start_seconds(self) -> float:
        """Start clock, in seconds."""
        return self._made_of[1]

    @property
    def progress(self) -> TrainingProgress:
        """Progress of the training."""
        assert self._training is not None
        return self._training.progress

    def train_first(self, report: Callable[[TrainingProgress], None] = lambda progress: None) -> None:
        """Runs the start clock, unless it has run.

        Args:
            report: called repeatedly with the progress.
        """
        if self._training is not None:
            self._training.wait(report)

    def close(self) -> None:
        """Ends the training. The agent continues to play with its newest network."""
        if self._training is not None:
            self._training.close()

    def restart(self) -> None:
        """Starts a new game, after the start clock; the network stays."""
        super().restart()
        self.train_first()

    def thought(
        self,
        state: pyspiel.State,
        clock: Clock | None = None,
        *,
        root_actions: Sequence[int] | None = None,
        on_game_clock: bool = True,
    ) -> Requests[SearchResult]:
        """As `Agent.thought`, with the newest network."""
        self.train_first()
        if not self._is_last(state):
            self._use_newest()
        return (yield from super().thought(state, clock, root_actions=root_actions, on_game_clock=on_game_clock))

    def _use_newest(self) -> None:
        """Uses the newest network from now on. The tree has values of the previous one, and is dropped."""
        training = self._training
        assert training is not None
        if (problem := training.new_problem()) is not None:
            _log.warning("the training ended, and the agent keeps its last network: %s", problem)
        newest = training.newest
        if newest is None or newest is self._used:
            return
        newest.search.most_states = self.search.most_states
        self._used = newest
        self.search, self.decision = newest.search, newest.decision
        self.network, self.encoder = newest.network, newest.encoder
        assert isinstance(self.evaluator, _Replaceable)
        self.evaluator.current = newest.evaluator
        self._last = None  # so that the search starts a new tree

    def _twin(self) -> Self:
        twin = super()._twin()
        assert isinstance(self.evaluator, _Replaceable)
        twin.evaluator = _Replaceable(self.evaluator.current)
        return twin

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns a function and its arguments, for `pickle`."""
        return _made, self._made_of


class _QuickPlayouts:
    """Random playouts for a limited time per call. In slow games all states of a request would exceed the play clock.

    Args:
        outcome, seed: as for `RolloutEvaluator`.
        seconds: duration of a call after which no further playout begins; the other states have the value 0.
    """

    def __init__(self, outcome: Any, seed: int, seconds: float) -> None:
        self._playouts = RolloutEvaluator(outcome, seed)
        self._seconds = seconds

    def __call__(self, states: Sequence[pyspiel.State]) -> Answer:
        """Returns values, float64 [N]; in a game with rows [N, n]."""
        end = time.perf_counter() + self._seconds
        values = self._playouts(states[:1])
        rest = np.zeros((len(states) - len(values), *values.shape[1:]))
        for i, state in enumerate(states[1:]):
            if time.perf_counter() >= end:
                break
            rest[i] = self._playouts([state])[0]
        return np.concatenate([values, rest])


class _Replaceable:
    """An evaluator that can be replaced during a game: a driver keeps a reference to the evaluator of a player."""

    def __init__(self, current: Evaluator) -> None:
        self.current = current

    def __call__(self, states: Sequence[pyspiel.State]) -> Answer:
        """Returns the values of the current evaluator."""
        return self.current(states)


def _made(game: str, start_seconds: float, move_seconds: float, seed: int, learns_during_play: bool) -> LearningAgent:
    return LearningAgent(
        game, start_seconds=start_seconds, move_seconds=move_seconds, seed=seed, learns_during_play=learns_during_play
    )
