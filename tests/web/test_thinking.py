"""A bot that thinks beside the page: what is seen of it meanwhile, how it is stopped, and what becomes of an error."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

import pyspiel
import pytest

import agents
import athenan_spiel as ath
from athenan_spiel.web import mind, thinking
from athenan_spiel.web.thinking import Thinking

PATIENCE = 60.0
"""Seconds after which a test gives up, on a busy machine too."""


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def thinking_of(word: str, game: str = "connect_four") -> tuple[Thinking, pyspiel.State]:
    loaded = ath.load_game(game)
    state = loaded.new_initial_state()
    return Thinking(agents.make_bot(word, loaded, 0, 1), state), state


@pytest.mark.parametrize("word", ["random", "mcts:20", "alphabeta(2)@1s"])
def test_a_move_comes_of_it(word: str) -> None:
    thought, state = thinking_of(word)
    thought.start().wait(PATIENCE)
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
        thought = Thinking(agents.AthenanBot(agent), state)
        thought.start().wait(PATIENCE)
        seen = thought.seen
        assert seen is not None
        assert thought.action == seen.action == seen.principal_variation[0]
        assert mind.of_actions(seen, state)[0].action == seen.action
        assert mind.why_not(seen, state, seen.action).endswith("it is the move to play")
        other = next(a for a in state.legal_actions() if a != seen.action)
        assert f"; {state.action_to_string(seen.action)} is " in mind.why_not(seen, state, other)
        again = thinking.look_at(agent, state, random.Random(0), 0.0)
        assert again is not None
        assert again.node is not agent.result.node  # type: ignore[union-attr]


def test_our_searches_are_seen_while_they_think(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thinking, "LOOK_SECONDS", 0.0)
    thought, state = thinking_of("alphabeta@30s", "breakthrough")
    thought.start()
    until(lambda: thought.seen is not None)
    seen = thought.seen
    assert seen is not None
    assert not thought.is_over
    assert sorted(seen.actions) == state.legal_actions()
    before = seen.values.copy(), seen.visits.copy()
    time.sleep(0.2)
    assert (seen.values == before[0]).all()
    assert (seen.visits == before[1]).all()
    thought.stop()
    thought.wait(PATIENCE)
    assert thought.is_over
    assert thought.action is None
    assert thought.error is None


@pytest.mark.parametrize("word", ["alphabeta@30s", "alphabeta@100000i"])
def test_who_is_stopped_can_think_again(word: str) -> None:
    loaded = ath.load_game("breakthrough")
    bot = agents.make_bot(word, loaded, 0, 1)
    first = Thinking(bot, loaded.new_initial_state()).start()
    first.stop()
    first.wait(PATIENCE)
    assert first.is_over
    assert first.action is None
    bot.agent.budget = ath.Budget(seconds=0.05)
    again = Thinking(bot, loaded.new_initial_state()).start()
    again.wait(PATIENCE)
    assert again.error is None
    assert again.action in loaded.new_initial_state().legal_actions()


def test_what_fails_is_kept_and_the_thread_ends() -> None:
    class Broken(pyspiel.Bot):  # type: ignore[misc]
        def step(self, state: pyspiel.State) -> int:
            raise ValueError("no idea")

    threads = threading.active_count()
    thought = Thinking(Broken(), ath.load_game("tic_tac_toe").new_initial_state()).start()
    thought.wait(PATIENCE)
    assert thought.is_over
    assert str(thought.error) == "no idea"
    assert thought.action is None
    until(lambda: threading.active_count() <= threads)


def test_memory_that_runs_short_ends_the_search_with_a_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thinking, "free_memory", lambda: 0)
    monkeypatch.setattr(thinking, "LOOK_SECONDS", 0.0)
    thought, state = thinking_of("alphabeta@600s", "breakthrough")
    thought.start().wait(PATIENCE)
    assert thought.is_over
    assert thought.error is None
    assert thought.action in state.legal_actions()


def test_memory_that_runs_short_without_a_clock_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thinking, "free_memory", lambda: 0)
    monkeypatch.setattr(thinking, "LOOK_SECONDS", 0.0)
    thought, _ = thinking_of("alphabeta@100000i", "breakthrough")
    thought.start().wait(PATIENCE)
    assert thought.is_over
    assert isinstance(thought.error, MemoryError)
    assert thought.action is None
