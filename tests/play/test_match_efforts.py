"""What a match says of each move: who chose it, how long that took, and what was asked for it."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pyspiel
import pytest

from agents import AthenanBot
from athenan_spiel.arena.comparison import effort_of
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.match import Forfeit, MatchResult, OngoingGame, play_match
from athenan_spiel.search import UBFM, Budget

TIC = pyspiel.load_game("tic_tac_toe")
TWICE = pyspiel.load_game("amazons")
"""A turn is three actions of the same player."""


class Plays:
    """The first legal action, or an error at one move."""

    def __init__(self, fails_at: int | None = None) -> None:
        self._left = fails_at

    def restart_at(self, state: pyspiel.State) -> None: ...

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None: ...

    def step(self, state: pyspiel.State) -> int:
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                raise ValueError("no idea")
        action: int = state.legal_actions()[0]
        return action


class CountingEvaluator:
    def __init__(self) -> None:
        self.states = self.calls = 0

    def __call__(self, states: list[pyspiel.State]) -> np.ndarray:
        self.states += len(states)
        self.calls += 1
        return np.zeros(len(states))


def ended(match: OngoingGame) -> MatchResult:
    with pytest.raises(StopIteration) as end:
        next(match.requests)
    result = end.value.value
    assert isinstance(result, MatchResult)
    return result


def test_movers_are_who_chose_each_action_after_the_opening() -> None:
    result = play_match(TIC, [Plays(), Plays()], opening=[8, 7, 6])
    assert result.opening_plies == 3
    assert result.movers == tuple(ply % 2 for ply in range(3, len(result.history)))
    assert len(result.move_seconds) == len(result.movers)


def test_movers_are_asked_of_the_state() -> None:
    """In a game with turns of several actions a player chooses them all."""
    result = play_match(TWICE, [Plays(), Plays()])
    state = TWICE.new_initial_state()
    movers = []
    for action in result.history:
        movers.append(state.current_player())
        state.apply_action(action)
    assert result.movers == tuple(movers)
    assert any(one == other for one, other in itertools.pairwise(movers))


def test_the_seconds_of_the_moves_are_those_of_the_players() -> None:
    result = play_match(TIC, [Plays(), Plays()])
    for player in range(2):
        of_player = [s for mover, s in zip(result.movers, result.move_seconds, strict=True) if mover == player]
        assert min(of_player) >= 0
        assert sum(of_player) == pytest.approx(result.seconds[player])


def test_evaluations_and_questions_are_those_that_were_asked() -> None:
    evaluator = CountingEvaluator()
    agent = Agent(TIC, UBFM(TIC), evaluator, budget=Budget(iterations=4), rng=random.Random(0))
    result = play_match(TIC, [Plays(), AthenanBot(agent)], opening=[4])
    assert result.evaluations == (0, evaluator.states)
    assert result.requests == (0, evaluator.calls)
    assert evaluator.states > evaluator.calls > 0


def test_a_failing_move_counts_for_nothing() -> None:
    result = ended(OngoingGame(TIC, [Plays(), Plays(fails_at=1)], [8], forfeits=True))
    assert result.forfeit == Forfeit(1, "ValueError: no idea")
    assert result.movers == (1, 0)
    assert len(result.history) == 3
    assert len(result.move_seconds) == 2


def test_an_effort_is_that_of_one_player() -> None:
    one = MatchResult((0, 1, 2), 1, (1.0, -1.0), (1.0, 2.0), None, (1, 0), (2.0, 1.0), (10, 20), (1, 2))
    effort = effort_of([(one, 0), (one, 1)])
    assert (effort.matches, len(effort.seconds), effort.evaluations, effort.requests) == (2, 2, 30, 3)
    assert effort.times() == {"mean": 1.5, "99_percent": pytest.approx(1.99), "longest": 2.0}
    assert effort.counts() == {"moves": 2, "evaluations": 30, "requests": 3}
    nothing = effort_of([])
    assert (nothing.counts()["moves"], nothing.times()["mean"]) == (0, None)
