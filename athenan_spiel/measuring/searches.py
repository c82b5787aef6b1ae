"""Measures the search with and without the network, in self-play and for single states."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterator
from typing import Protocol

from athenan_spiel.engines import make_engine
from athenan_spiel.games.chance import roll
from athenan_spiel.measuring.report import Play, SearchSpeed
from athenan_spiel.measuring.stand_ins import InstantEngine, TimedEngine
from athenan_spiel.measuring.subject import Subject
from athenan_spiel.play.driver import without_garbage_collection
from athenan_spiel.search import Budget, think
from athenan_spiel.search.algorithms import make_search
from athenan_spiel.training.actor import Actor

THOUGHT_SECONDS = 0.1
WARM_UP = 0.25
"""Fraction of the time before the measurement, in which engines compile for new batch sizes."""


class _Work(Protocol):
    """Searches that run step by step.

    Attributes:
        iterations, evaluations: counters of finished games or searches.
    """

    iterations: int
    evaluations: int

    def step(self) -> None:
        """Runs for a short time."""


def search_speeds(subject: Subject, seconds: float, say: Callable[[str], object]) -> Iterator[SearchSpeed]:
    """Measures for about `seconds` in total.

    Args:
        say: called with a description of the next measurement.
    """
    learner, each = subject.learner, seconds / 4
    for network in (True, False):
        engine = TimedEngine(make_engine(subject.config.engine, learner.encoder.shape) if network else InstantEngine())
        actor = Actor(subject.game, subject.config, learner.outcome, engine)
        actor.load(learner.published())
        label = "with the network" if network else "without the network"
        say(f"self-play {label}")
        yield _speed("self_play", network, _SelfPlay(subject, actor), engine, each)
        say(f"thinking {label}")
        yield _speed("thinking", network, _Thinking(subject, actor), engine, each)


def _speed(play: Play, network: bool, work: _Work, engine: TimedEngine, seconds: float) -> SearchSpeed:
    with without_garbage_collection():
        _run_for(work, WARM_UP * seconds)
        states, calls, waited = engine.states, engine.calls, engine.seconds
        taken = _run_for(work, seconds)
    states, calls, waited = engine.states - states, engine.calls - calls, engine.seconds - waited
    rate = states / taken
    return SearchSpeed(
        play=play,
        network=network,
        states_per_second=rate,
        iterations_per_second=rate * work.iterations / work.evaluations if work.evaluations else None,
        states_per_call=states / max(calls, 1),
        outside_network=1 - waited / taken if network else None,
    )


def _run_for(work: _Work, seconds: float) -> float:
    """Runs `work` for `seconds`, at least one step; returns the time."""
    start = time.perf_counter()
    while True:
        work.step()
        if (taken := time.perf_counter() - start) >= seconds:
            return taken


class _SelfPlay:
    """Self-play of a training. A new game starts whenever one ends."""

    def __init__(self, subject: Subject, actor: Actor) -> None:
        self.iterations = self.evaluations = 0
        self._at_once = subject.config.matches_at_once
        self._seeds = itertools.count()
        self._playing = actor.play(subject.learner.published(), None, [], 0.0)

    def step(self) -> None:
        while self._playing.alive < self._at_once:
            self._playing.begin(next(self._seeds), 0.0)
            self._count()
        self._playing.advance()
        self._count()

    def _count(self) -> None:
        for record in self._playing.take_any():
            self.iterations += record.iterations
            self.evaluations += record.evaluations


class _Thinking:
    """Random games, one after the other, with a search of `THOUGHT_SECONDS` per state and one tree per game."""

    def __init__(self, subject: Subject, actor: Actor) -> None:
        self.iterations = self.evaluations = 0
        self._rng = random.Random(0)
        self._evaluator = actor.evaluator
        self._search = make_search(subject.game, subject.config.search, subject.learner.outcome)
        self._new_game()

    def step(self) -> None:
        found = think(
            self._search,
            self._state,
            Budget(seconds=THOUGHT_SECONDS),
            self._evaluator,
            tree=self._tree,
            rng=self._rng,
        )
        self.iterations += found.iterations
        self.evaluations += found.evaluations
        self._state.apply_action(self._rng.choice(self._state.legal_actions()))
        roll(self._state, self._rng.random)
        if self._state.is_terminal():
            self._new_game()

    def _new_game(self) -> None:
        self._state, self._tree = self._search.game.new_initial_state(), self._search.new_tree()
        roll(self._state, self._rng.random)
