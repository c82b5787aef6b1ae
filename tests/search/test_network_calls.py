"""Requests made one by one, the calls that this makes, and budgets in the time of the network (first version of
*Minimax Strikes Back*, Sections 7.1 and 7.2).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyspiel
import pytest
from clocks import Clock
from fake_game import FakeGame, first, score
from numpy.typing import NDArray
from oracles.brute_force import load
from oracles.evaluators import noise

from athenan_spiel.config import DescentConfig, MinimaxConfig, UbfmConfig
from athenan_spiel.errors import BudgetError, ConfigError, SearchError
from athenan_spiel.evaluators.base import Evaluation, joined
from athenan_spiel.experiments.settings import PlayConfig
from athenan_spiel.outcomes import Gain
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.self_play import Round
from athenan_spiel.search import MCTS, UBFM, AlphaBeta, Budget, Descent, Search, drive, make_search, think
from athenan_spiel.search.algorithms import budget_of
from athenan_spiel.search.choice import best

SEARCHES: dict[str, Callable[..., Search]] = {
    "Descent": Descent,
    "UBFM": UBFM,
    "alpha-beta": AlphaBeta,
    "MCTS": MCTS,
    "MCTS, in batches": partial(MCTS, virtual_loss_batch=4),
}
EVERY = pytest.mark.parametrize("make", SEARCHES.values(), ids=SEARCHES)
GAME = load("connect_four(rows=4,columns=4)")
START = GAME.new_initial_state()


class Counting:
    """Values at random; `sizes` of what it was asked."""

    def __init__(self, seconds: float = 0.0, clock: Clock | None = None) -> None:
        self.sizes: list[int] = []
        self._seconds = seconds
        self._clock = clock

    def __call__(self, states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        self.sizes.append(len(states))
        if self._clock is not None:
            self._clock.now += self._seconds
        return noise(0)(states)


@EVERY
def test_one_by_one_nothing_changes_but_the_calls(make: Callable[..., Search]) -> None:
    together, alone = Counting(), Counting()
    budget = Budget(iterations=40 if make is not AlphaBeta else 4)
    one, other = think(make(GAME), START, budget, together), think(make(GAME, batched=False), START, budget, alone)
    assert (one.visits.tolist(), one.values.tolist()) == (other.visits.tolist(), other.values.tolist())
    assert one.evaluations == other.evaluations == sum(together.sizes) == len(alone.sizes)
    assert set(alone.sizes) == {1}
    assert (one.requests, other.requests) == (len(together.sizes), len(alone.sizes))
    assert (one.requests < other.requests) == (max(together.sizes) > 1)


def test_one_by_one_an_evaluators_error_comes_through_and_the_tree_stays_sound() -> None:
    search = UBFM(GAME, batched=False)
    tree = search.new_tree()

    def broken(states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        if states[0].history() == [2]:
            raise KeyError("weights")
        return noise(0)(states)

    with pytest.raises(KeyError, match="weights"):
        think(search, START, Budget(iterations=5), broken, tree=tree)
    assert len(tree.nodes) == 0
    think(search, START, Budget(iterations=5), noise(0), tree=tree)
    assert len(tree.nodes) == 5


def test_one_by_one_the_root_is_valued_whole_however_short_the_time() -> None:
    """Descent ends an iteration where its time is over, but not before the first request is answered."""
    sizes: list[int] = []

    def slow(states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        sizes.append(len(states))
        time.sleep(0.002)
        return noise(0)(states)

    agent = Agent(GAME, Descent(GAME, batched=False), slow, budget=Budget(seconds=0.001))
    result = agent.think(START)
    assert result.evaluations == len(START.legal_actions()) == len(sizes)
    assert result.node is agent.tree.table[agent.tree.key(START)]


def test_what_was_said_one_by_one_is_joined_with_its_priors() -> None:
    assert joined([Evaluation([0.5]), Evaluation([-0.25])]) == Evaluation([0.5, -0.25])
    parts = [Evaluation([0.5], [[1.0]]), Evaluation([-0.25, 0.0], [[0.5, 0.5], [1.0]])]
    assert joined(parts) == Evaluation([0.5, -0.25, 0.0], [[1.0], [0.5, 0.5], [1.0]])


def test_batched_is_true_or_false() -> None:
    with pytest.raises(SearchError, match="batched must be"):
        MCTS(GAME, batched=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [1, 4])
def test_a_round_counts_calls_and_each_match_its_questions(count: int) -> None:
    evaluator = Counting()
    matches = Round(GAME, UBFM(GAME), evaluator, best, Budget(iterations=5), range(count))
    while matches.advance():
        pass
    ended = matches.matches()
    assert matches.calls == len(evaluator.sizes)
    assert matches.evaluations == sum(evaluator.sizes) == sum(match.evaluations for match in ended)
    requests = sum(match.requests for match in ended)
    assert requests == matches.calls if count == 1 else requests > matches.calls


# The time of the network


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(drive, "time", clock)
    return clock


class SlowKey:
    """A key that takes three seconds: all that a search does beside the network is slow."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def __call__(self, state: pyspiel.State) -> str:
        self._clock.now += 3.0
        return f"{state.current_player()} {state}"


@pytest.mark.parametrize(("limit", "calls"), [(0.125, 1), (0.25, 1), (0.5, 2), (1.0, 4)])
def test_only_the_time_of_the_network_counts(limit: float, calls: int, clock: Clock) -> None:
    evaluator = Counting(0.25, clock)
    search = UBFM(GAME, key=SlowKey(clock))
    result = think(search, START, Budget(network_seconds=limit), evaluator)
    assert result.requests == len(evaluator.sizes) == calls
    assert result.seconds > 10 * limit


def test_of_an_iteration_that_asks_nothing_its_own_time_counts(clock: Clock) -> None:
    """Without completion the only line has ended, and thinking about it would go on for ever."""
    clock.step = 0.125
    game: Any = FakeGame(first(0.0, A=1.0))
    search = UBFM(game, outcome=score, key=str, completion=False)
    result = think(search, game.new_initial_state(), Budget(network_seconds=1.0), noise(0))
    assert (result.evaluations, result.requests) == (0, 0)
    assert result.iterations > 1


def test_playouts_do_not_search_for_ever_in_no_time_of_the_network() -> None:
    result = think(MCTS(GAME, rollouts=True), START, Budget(network_seconds=0.02), noise(0))
    assert result.requests == 0
    assert result.iterations > 0


def test_matches_side_by_side_have_their_own_time_of_the_network() -> None:
    matches = Round(GAME, UBFM(GAME), noise(0), best, Budget(network_seconds=0.002), range(4))
    while matches.advance():
        pass
    assert len(matches.matches()) == 4


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan"), 1e308, "1"])
def test_a_limit_that_is_none(limit: Any) -> None:
    with pytest.raises(BudgetError, match="a budget's network_seconds must be"):
        Budget(network_seconds=limit)


def test_settings_say_it_in_training_and_in_experiments() -> None:
    config = DescentConfig(iterations=None, network_seconds=1.5, batched=False)
    assert budget_of(config) == Budget(network_seconds=1.5)
    assert not make_search(GAME, config, Gain()).batched
    play = PlayConfig(search=UbfmConfig(iterations=None, network_seconds=1.5, batched=False)).search_config()
    assert (play.network_seconds, play.batched, play.iterations) == (1.5, False, None)
    with pytest.raises(ConfigError, match="must be limited by seconds, iterations, evaluations or network_seconds"):
        DescentConfig(iterations=None)
    with pytest.raises(ConfigError, match="network_seconds must be none, as 'minimax' looks one action ahead"):
        MinimaxConfig(network_seconds=1.5)
