"""Pondering: what it finds is there for the next move, and nothing goes on once it is stopped, however that comes."""

from __future__ import annotations

import copy
import gc
import pickle
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyspiel
import pytest
from clocks import HANG_SECONDS, Clock
from numpy.typing import NDArray

import agents
from athenan_spiel.errors import AgentError, EvaluatorError
from athenan_spiel.evaluators.simple import ZeroEvaluator
from athenan_spiel.play import background_search
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.driver import Driver
from athenan_spiel.play.match import OngoingGame, play_match
from athenan_spiel.play.player import ponders, require_own_time
from athenan_spiel.search import MCTS, UBFM, AlphaBeta, Budget, Descent, Search
from athenan_spiel.search.tree import Tree

TIC_TAC_TOE = pyspiel.load_game("tic_tac_toe")
CONNECT_FOUR = pyspiel.load_game("connect_four")


class Watched:
    """Values every state at zero; counts the questions of threads beside, which `gate` lets wait and `fails` fail."""

    def __init__(self) -> None:
        self.main = threading.get_ident()
        self.beside = 0
        self.gate = threading.Event()
        self.gate.set()
        self.fails: BaseException | None = None

    def __call__(self, states: Sequence[pyspiel.State]) -> NDArray[np.floating]:
        if threading.get_ident() != self.main:
            self.beside += 1
            self.gate.wait(HANG_SECONDS)
            if self.fails is not None:
                raise self.fails
        return np.zeros(len(states))


def pondering_agent(
    game: pyspiel.Game = CONNECT_FOUR, search: Callable[[pyspiel.Game], Search] = UBFM, iterations: int = 20
) -> Agent:
    return Agent(game, search(game), Watched(), budget=Budget(iterations=iterations), ponder=True)


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + HANG_SECONDS
    while not true():
        assert time.monotonic() < end
        time.sleep(0.001)


def questions_beside(agent: Agent) -> int:
    assert isinstance(agent.evaluator, Watched)
    return agent.evaluator.beside


def ponders_now(agent: Agent) -> bool:
    return agent._ponderer.is_pondering


def content(tree: Tree) -> list[Any]:
    """All that a search may change."""
    return [
        (key, list(node.values), list(node.completions), dict(node.visits), len(node.children))
        for key, node in tree.table.items()
    ]


def after(game: pyspiel.Game, *actions: int) -> pyspiel.State:
    state = game.new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    if pondering_threads():
        gc.collect()
    wait_until(lambda: not pondering_threads())


def pondering_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "pondering"]


def moved(agent: Agent, at_least: int = 30) -> pyspiel.State:
    """The state after a first move of the agent, which has pondered so many questions since."""
    state = agent.game.new_initial_state()
    state.apply_action(agent.step(state))
    wait_until(lambda: questions_beside(agent) >= at_least)
    return state


# What it finds.


def test_the_next_move_begins_with_what_was_pondered() -> None:
    agent = pondering_agent()
    state = moved(agent)
    agent.stop_pondering()
    tree = agent.tree
    node = tree.table[tree.key(state)]
    assert sum(node.visits.values()) >= 30 - 1, "a visit for each iteration, one of which may have been stopped"
    index, child = next((i, child) for i, child in node.children.items() if sum(child.visits.values()) >= 2)
    known = sum(child.visits.values())
    agent.budget = Budget(iterations=1)
    result = agent.think(state.child(node.actions[index]))
    assert agent.tree is tree
    assert result.node is child
    assert int(result.visits.sum()) == known + 1


def test_who_does_not_ponder_has_no_thread_and_draws_nothing() -> None:
    agent, twin = (
        Agent(CONNECT_FOUR, UBFM(CONNECT_FOUR), Watched(), budget=Budget(iterations=20), decision=lambda n, r: 0)
        for _ in range(2)
    )
    state = CONNECT_FOUR.new_initial_state()
    agent.step(state)
    twin.think(state)
    assert not ponders_now(agent)
    assert not ponders(agent)
    assert agent.rng.getstate() == twin.rng.getstate()
    agent.resume_pondering()
    assert not ponders_now(agent)


def test_to_ponder_changes_no_first_move() -> None:
    results = []
    for ponder in (False, True):
        agent = pondering_agent()
        agent.ponders = ponder
        agent.step(CONNECT_FOUR.new_initial_state())
        results.append(agent.result)
        agent.restart()
    assert results[0] is not None
    assert results[1] is not None
    np.testing.assert_array_equal(results[0].visits, results[1].visits)


@pytest.mark.parametrize("search", [UBFM, Descent, AlphaBeta, MCTS])
def test_matches_are_played_by_every_search(search: Callable[[pyspiel.Game], Search]) -> None:
    agent = pondering_agent(CONNECT_FOUR, search, iterations=3)
    result = play_match(CONNECT_FOUR, [agent, Thoughtful(agent)])
    assert sum(result.returns) == 0
    assert questions_beside(agent) > 0
    assert not ponders_now(agent)


class Thoughtful(pyspiel.Bot):  # type: ignore[misc]
    """As a person: plays at random, once `agent` has pondered a little; `fails` in place of its second move.

    A search whose tree has no new states asks no more questions, so it waits for 0.2 s at most.
    """

    elsewhere = True

    def __init__(self, agent: Agent, fails: BaseException | None = None) -> None:
        super().__init__()
        self.agent, self.fails, self.rng = agent, fails, random.Random(1)
        self.moves = 0

    def restart_at(self, state: pyspiel.State) -> None:
        """Nothing is kept."""

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        """Nothing is kept."""

    def step(self, state: pyspiel.State) -> int:
        self.moves += 1
        if self.agent.result is not None:
            begun, end = questions_beside(self.agent), time.monotonic() + 0.2
            wait_until(
                lambda: (
                    not ponders_now(self.agent)
                    or questions_beside(self.agent) > begun
                    or (begun > 0 and time.monotonic() > end)
                )
            )
        if self.fails is not None and self.moves == 2:
            raise self.fails
        return int(self.rng.choice(state.legal_actions()))


def test_it_ends_by_itself_once_the_root_is_resolved() -> None:
    agent = pondering_agent(TIC_TAC_TOE, iterations=1)
    state = TIC_TAC_TOE.new_initial_state()
    state.apply_action(agent.step(state))
    wait_until(lambda: not ponders_now(agent))
    assert agent.tree.table[agent.tree.key(state)].resolved
    asked = questions_beside(agent)
    agent.resume_pondering()
    wait_until(lambda: not ponders_now(agent))
    assert questions_beside(agent) == asked


def test_it_ends_by_itself_once_the_tree_is_full() -> None:
    agent = pondering_agent(iterations=2)
    agent.bound_tree(300)
    state = CONNECT_FOUR.new_initial_state()
    state.apply_action(agent.step(state))
    wait_until(lambda: not ponders_now(agent))
    assert len(agent.tree.table) == 300
    assert agent.step(state.child(3)) in range(7)
    agent.restart()


@pytest.mark.parametrize("search", [UBFM, Descent, AlphaBeta, MCTS])
def test_it_ends_by_itself_where_memory_is_short(
    search: Callable[[pyspiel.Game], Search], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = pondering_agent(CONNECT_FOUR, search, iterations=2)
    monkeypatch.setattr(background_search, "free_memory", lambda: None)
    moved(agent)
    monkeypatch.setattr(background_search, "free_memory", lambda: 10)
    wait_until(lambda: not ponders_now(agent))
    monkeypatch.setattr(background_search, "free_memory", lambda: background_search.MIN_FREE_BYTES)
    agent.resume_pondering()
    assert ponders_now(agent)
    agent.stop_pondering()


@pytest.mark.parametrize("spec", ["amazons(board_size=6)", "cliff_walking"])
def test_nothing_is_pondered_before_ones_own_next_action(spec: str) -> None:
    game = pyspiel.load_game(spec)
    outcome = agents.load_bot("alphabeta", game, 0, {"iterations": 1}).agent.search.outcome
    agent = Agent(game, UBFM(game, outcome=outcome), Watched(), budget=Budget(iterations=2), ponder=True)
    state = game.new_initial_state()
    state.apply_action(agent.step(state))
    assert state.current_player() == 0
    assert not ponders_now(agent)


def test_nothing_is_pondered_when_the_match_is_over() -> None:
    agent = pondering_agent(TIC_TAC_TOE, iterations=50)
    assert agent.step(after(TIC_TAC_TOE, 0, 3, 1, 4)) == 2
    assert not ponders_now(agent)


def test_pondering_is_none_of_ones_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(step=0.001)
    for module in ("search.drive", "play.agent"):
        monkeypatch.setattr(f"athenan_spiel.{module}.time", clock)
    search = UBFM(CONNECT_FOUR)
    agent = Agent(CONNECT_FOUR, search, Watched(), match_seconds=1.0, match_increment=0.1, ponder=True)
    moved(agent)
    used = agent._clock.used  # type: ignore[union-attr]
    clock.now += 100.0
    agent.stop_pondering()
    assert agent._clock.used == used  # type: ignore[union-attr]
    agent.restart()


# How it is stopped.

STOPS: dict[str, Callable[[Agent, pyspiel.State], object]] = {
    "stop": lambda agent, state: agent.stop_pondering(),
    "stop twice": lambda agent, state: (agent.stop_pondering(), agent.stop_pondering()),
    "the answer": lambda agent, state: agent.inform_action(state, 1, 3),
    "restart": lambda agent, state: agent.restart(),
    "restart at": lambda agent, state: agent.restart_at(state),
    "a takeback": lambda agent, state: agent.think(CONNECT_FOUR.new_initial_state()),
    "think": lambda agent, state: agent.think(state),
    "a bound": lambda agent, state: agent.bound_tree(10**6),
    "a clone": lambda agent, state: agent.clone(),
    "another match": lambda agent, state: agent.for_game(3),
    "a clone's thinking": lambda agent, state: agent.clone().think(state),
}


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("at_least", [0, 5])
def test_nothing_touches_the_tree_after_it_is_stopped(stop: str, at_least: int) -> None:
    agent = pondering_agent()
    state = moved(agent, at_least)
    thread = agent._ponderer._thread
    assert thread is not None
    STOPS[stop](agent, state)
    assert not thread.is_alive()
    before, asked = content(agent.tree), questions_beside(agent)
    time.sleep(0.02)
    assert content(agent.tree) == before
    assert questions_beside(agent) == asked


def test_stopped_hundreds_of_times_at_once() -> None:
    agent = pondering_agent(iterations=1)
    state = CONNECT_FOUR.new_initial_state()
    state.apply_action(agent.step(state))
    for i in range(300):
        agent.stop_pondering()
        assert not ponders_now(agent)
        agent.resume_pondering()
        if i % 10 == 0:
            time.sleep(0.0005)
    agent.stop_pondering()
    node = agent.tree.table[agent.tree.key(state)]
    for child in node.children.values():
        assert all(np.isfinite(child.values))
    assert agent.step(state.child(3)) in range(7)
    agent.restart()


@pytest.mark.parametrize("search", [UBFM, Descent, AlphaBeta, MCTS])
@pytest.mark.parametrize("at_least", [0, 300])
def test_nothing_more_is_asked_once_it_is_to_stop(search: Callable[[pyspiel.Game], Search], at_least: int) -> None:
    """Whatever the iteration that is under way, and however deep those before it went."""
    agent = pondering_agent(CONNECT_FOUR, search, iterations=2)
    assert isinstance(agent.evaluator, Watched)
    state = moved(agent, at_least)
    for _ in range(5):
        agent.stop_pondering()
        agent.evaluator.gate.clear()
        asked = questions_beside(agent)
        agent.resume_pondering()
        thread = agent._ponderer._thread
        assert thread is not None
        wait_until(lambda: questions_beside(agent) > asked)  # noqa: B023
        stopper = threading.Thread(target=agent.stop_pondering)
        stopper.start()
        wait_until(thread._stopped.is_set)
        agent.evaluator.gate.set()
        stopper.join(HANG_SECONDS)
        assert questions_beside(agent) == asked + 1
    assert agent.step(state.child(3)) in range(7)
    agent.restart()


def test_a_stop_waits_for_the_answer_to_the_last_question() -> None:
    agent = pondering_agent()
    assert isinstance(agent.evaluator, Watched)
    agent.evaluator.gate.clear()
    state = moved(agent, 1)
    stoppers = [threading.Thread(target=agent.stop_pondering) for _ in range(3)]
    for stopper in stoppers:
        stopper.start()
    time.sleep(0.02)
    assert all(stopper.is_alive() for stopper in stoppers)
    agent.evaluator.gate.set()
    for stopper in stoppers:
        stopper.join(HANG_SECONDS)
    assert not ponders_now(agent)
    assert questions_beside(agent) == 1
    assert agent.step(state.child(3)) in range(7)
    agent.restart()


def test_there_is_nothing_to_stop_before_the_first_move() -> None:
    agent = pondering_agent()
    agent.stop_pondering()
    agent.resume_pondering()
    assert not ponders_now(agent)


def test_what_was_broken_off_goes_on_until_the_match_does() -> None:
    agent = pondering_agent()
    state = moved(agent)
    adviser = agent.clone()
    adviser.ponders = False
    adviser.think(state)
    assert not ponders_now(agent)
    agent.resume_pondering()
    agent.resume_pondering()
    assert ponders_now(agent)
    agent.inform_action(state, 1, 3)
    agent.resume_pondering()
    assert not ponders_now(agent)


def test_copies_have_no_thread() -> None:
    agent = Agent(CONNECT_FOUR, UBFM(CONNECT_FOUR), ZeroEvaluator(), budget=Budget(iterations=5), ponder=True)
    agent.step(CONNECT_FOUR.new_initial_state())
    assert ponders_now(agent)
    for twin in (pickle.loads(pickle.dumps(agent)), copy.deepcopy(agent)):
        assert twin.ponders
        assert not ponders_now(twin)
        twin.step(CONNECT_FOUR.new_initial_state())
        assert ponders_now(twin)
        twin.restart()
    assert ponders_now(agent), "they have evaluators of their own"
    agent.restart()


def test_twins_share_an_evaluator_and_so_one_thread() -> None:
    agent = pondering_agent()
    moved(agent)
    twin = agent.clone()
    twin.restart()
    twin.step(CONNECT_FOUR.new_initial_state())
    assert ponders_now(twin)
    assert not ponders_now(agent)
    agent.stop_pondering()
    assert not ponders_now(twin)


def test_it_ends_with_its_agent() -> None:
    agent = pondering_agent()
    moved(agent)
    thread = agent._ponderer._thread
    assert thread is not None
    del agent
    gc.collect()
    wait_until(lambda: not thread.is_alive())


def test_it_ends_with_the_program() -> None:
    script = (
        "import agents, pyspiel\n"
        "bot = agents.load_bot('alphabeta', 'connect_four', 0, {'iterations': 2, 'ponder': True})\n"
        "bot.step(pyspiel.load_game('connect_four').new_initial_state())\n"
        "assert bot.agent._ponderer.is_pondering\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=HANG_SECONDS)
    assert (ended.returncode, ended.stderr) == (0, "")


# What fails.


@pytest.mark.parametrize("failure", [ValueError("the network is gone"), MemoryError(), SystemExit(3)])
@pytest.mark.parametrize("told", [False, True])
def test_what_fails_is_raised_at_the_next_move_once(failure: BaseException, told: bool) -> None:
    agent = pondering_agent()
    assert isinstance(agent.evaluator, Watched)
    agent.evaluator.fails = failure
    state = CONNECT_FOUR.new_initial_state()
    state.apply_action(agent.step(state))
    wait_until(lambda: not ponders_now(agent))
    agent.resume_pondering()
    assert not ponders_now(agent), "it has failed"
    if told:
        agent.inform_action(state, 1, 3)
    agent.stop_pondering()
    with pytest.raises(type(failure)) as raised:
        agent.step(state.child(3))
    assert raised.value is failure
    agent.evaluator.fails = None
    assert agent.step(state.child(3)) in range(7)
    agent.restart()


def test_an_answer_that_is_none_is_raised_as_any_search_does() -> None:
    agent = pondering_agent()
    agent.step(CONNECT_FOUR.new_initial_state())
    agent.stop_pondering()
    agent.evaluator = lambda states: np.full(len(states), np.nan)
    agent.restart()
    agent.ponders = False
    with pytest.raises(EvaluatorError, match="finite"):
        agent.step(CONNECT_FOUR.new_initial_state())


def test_what_has_failed_in_another_match_is_forgotten() -> None:
    agent = pondering_agent()
    assert isinstance(agent.evaluator, Watched)
    agent.evaluator.fails = ValueError("x")
    moved(agent, 1)
    agent.restart()
    agent.evaluator.fails = None
    moved(agent, 5)
    agent.restart()


# In matches.


def test_none_ponders_in_the_time_of_another_player_of_the_process() -> None:
    agent, other = pondering_agent(), pondering_agent()
    other.ponders = False
    random_bot = agents.make_bot("random", CONNECT_FOUR, 0)
    for players, who in (([agent, other], "player 0 .* of player 1"), ([random_bot, agent], "player 1 .* of player 0")):
        with pytest.raises(AgentError, match=f"{who}.*play against a person or an engine") as error:
            play_match(CONNECT_FOUR, players)
        assert "\n" not in str(error.value)
        assert not ponders_now(agent)
    with pytest.raises(AgentError, match="ponders"):
        play_match(CONNECT_FOUR, [agent, agent])
    require_own_time([agent])
    require_own_time([Thoughtful(agent), agent])
    bots = [agents.make_bot("human", CONNECT_FOUR, 0), agents.load_bot("alphabeta", CONNECT_FOUR, 1, {"ponder": True})]
    require_own_time(bots)
    assert ponders(bots[1])


@pytest.mark.parametrize("failure", [None, ValueError("x"), KeyboardInterrupt(), AgentError("y")])
def test_nobody_ponders_after_a_match_however_it_ends(failure: BaseException | None) -> None:
    agent = pondering_agent(iterations=2)
    players = [agent, Thoughtful(agent, failure)]
    if failure is None:
        play_match(CONNECT_FOUR, players)
    else:
        with pytest.raises(type(failure)):
            play_match(CONNECT_FOUR, players)
    assert questions_beside(agent) > 0
    assert not ponders_now(agent)


def test_nobody_ponders_after_a_match_that_is_lost_by_an_error() -> None:
    agent = pondering_agent(iterations=2)
    driver = Driver([OngoingGame(CONNECT_FOUR, [agent, Thoughtful(agent, ValueError("x"))], [], forfeits=True)])
    while driver.advance():
        pass
    ((_, result),) = driver.take_all()
    assert result.forfeit is not None
    assert not ponders_now(agent)
