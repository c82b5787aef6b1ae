"""Background search for a bot's move: snapshots, stopping, errors, memory."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

import pyspiel
import pytest

import agents
import athenan_spiel as ath
from athenan_spiel.games.calibration import Calibration
from athenan_spiel.play import background_search
from athenan_spiel.search.result import action_evaluations
from athenan_spiel.web import analysis, bot_search
from athenan_spiel.web.bot_search import BotSearch
from athenan_spiel.web.opponents import PLAYOUTS
from athenan_spiel.web.search_limits import TreeMemory

PATIENCE = 60.0
"""Seconds after which a test gives up, on a busy machine too."""


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def begun(bot: pyspiel.Bot, state: pyspiel.State) -> BotSearch:
    search = BotSearch(bot, state)
    search.start()
    return search


def search_of(word: str, game: str = "connect_four") -> tuple[BotSearch, pyspiel.State]:
    loaded = ath.load_game(game)
    state = loaded.new_initial_state()
    return BotSearch(agents.make_bot(word, loaded, 0, 1), state), state


@pytest.mark.parametrize("word", ["random", "mcts:20", "alphabeta(2)@1s"])
def test_a_move_comes_of_it(word: str) -> None:
    thought, state = search_of(word)
    thought.start()
    thought.join(PATIENCE)
    assert thought.is_over
    assert thought.error is None
    assert thought.action in state.legal_actions()
    assert 0 < thought.seconds < PATIENCE
    assert not state.history()


def test_what_is_seen_in_the_end_begins_with_the_move() -> None:
    """The page's line, its table and the reason why not another name the move that is played."""
    game = ath.load_game("connect_four")
    for seed in range(10):
        evaluator = ath.evaluators.UniformRandomEvaluator(seed)
        agent = ath.Agent(game, ath.UBFM(game), evaluator, budget=ath.Budget(iterations=30))
        state = game.new_initial_state()
        thought = BotSearch(agents.AthenanBot(agent), state)
        thought.start()
        thought.join(PATIENCE)
        seen = thought.latest
        assert seen is not None
        assert thought.action == seen.action == seen.principal_variation[0]
        assert action_evaluations(seen, state)[0].action == seen.action
        assert analysis.why_not(seen, state, seen.action, 0).endswith("it is the best move")
        other = next(a for a in state.legal_actions() if a != seen.action)
        assert f"; {state.action_to_string(seen.action)}: " in analysis.why_not(seen, state, other, 0)
        again = bot_search.snapshot(agent, state, random.Random(0), 0.0)
        assert again is not None
        assert again.node is not agent.result.node  # type: ignore[union-attr]


def test_our_searches_are_seen_while_they_think(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bot_search, "SNAPSHOT_SECONDS", 0.0)
    thought, state = search_of("alphabeta@30s", "breakthrough")
    thought.start()
    until(lambda: thought.latest is not None)
    seen = thought.latest
    assert seen is not None
    assert not thought.is_over
    assert sorted(seen.actions) == state.legal_actions()
    before = seen.values.copy(), seen.visits.copy()
    time.sleep(0.2)
    assert (seen.values == before[0]).all()
    assert (seen.visits == before[1]).all()
    thought.stop()
    thought.join(PATIENCE)
    assert thought.is_over
    assert thought.action is None
    assert thought.error is None


def test_snapshots_have_the_calibration_of_the_agent() -> None:
    game = ath.load_game("connect_four")
    agent = ath.Agent(game, ath.UBFM(game), ath.evaluators.ZeroEvaluator(), budget=ath.Budget(iterations=30))
    agent.search.calibration = Calibration(slope=2.0, intercept=1.0)
    agent.think(game.new_initial_state())
    seen = bot_search.snapshot(agent, game.new_initial_state(), random.Random(0), 0.0)
    assert seen is not None
    assert seen.calibration == agent.search.calibration


@pytest.mark.parametrize("word", ["alphabeta@30s", "alphabeta@100000i"])
def test_who_is_stopped_can_think_again(word: str) -> None:
    loaded = ath.load_game("breakthrough")
    bot = agents.make_bot(word, loaded, 0, 1)
    first = begun(bot, loaded.new_initial_state())
    first.stop()
    first.join(PATIENCE)
    assert first.is_over
    assert first.action is None
    bot.agent.budget = ath.Budget(seconds=0.05)
    again = begun(bot, loaded.new_initial_state())
    again.join(PATIENCE)
    assert again.error is None
    assert again.action in loaded.new_initial_state().legal_actions()


def test_a_stopped_search_has_its_own_duration() -> None:
    """The clock of its limits jumps when it is stopped, also between two searches of one agent."""
    game = ath.load_game("breakthrough")
    for seconds in (0.02, 0.1, 0.3, 0.5):
        bot = PLAYOUTS.make(game, 0, 1.2, 1, TreeMemory(10**9, 1))
        search = begun(bot, game.new_initial_state())
        time.sleep(seconds)
        search.stop()
        search.join(PATIENCE)
        assert search.latest is None or search.latest.seconds < PATIENCE


def test_what_fails_is_kept_and_the_thread_ends() -> None:
    class Broken(pyspiel.Bot):  # type: ignore[misc]
        def step(self, state: pyspiel.State) -> int:
            raise ValueError("no idea")

    threads = threading.active_count()
    thought = begun(Broken(), ath.load_game("tic_tac_toe").new_initial_state())
    thought.join(PATIENCE)
    assert thought.is_over
    assert str(thought.error) == "no idea"
    assert thought.action is None
    until(lambda: threading.active_count() <= threads)


def test_memory_that_runs_short_ends_the_search_with_a_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_search, "free_memory", lambda: 0)
    monkeypatch.setattr(bot_search, "SNAPSHOT_SECONDS", 0.0)
    thought, state = search_of("alphabeta@600s", "breakthrough")
    thought.start()
    thought.join(PATIENCE)
    assert thought.is_over
    assert thought.error is None
    assert thought.action in state.legal_actions()


def test_memory_that_runs_short_without_a_clock_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_search, "free_memory", lambda: 0)
    monkeypatch.setattr(bot_search, "SNAPSHOT_SECONDS", 0.0)
    thought, _ = search_of("alphabeta@100000i", "breakthrough")
    thought.start()
    thought.join(PATIENCE)
    assert thought.is_over
    assert isinstance(thought.error, MemoryError)
    assert thought.action is None
