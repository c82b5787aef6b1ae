"""A game clock: how it is shared, that agents keep to it, and what becomes of those who do not."""

from __future__ import annotations

import copy
import pickle
import random
from typing import Any

import pyspiel
import pytest
from clocks import Clock

import agents
import athenan_spiel as ath
from athenan_spiel.errors import AgentError, BudgetError
from athenan_spiel.evaluators.simple import ZeroEvaluator
from athenan_spiel.play import game_clock
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.driver import Driver
from athenan_spiel.play.game_clock import EXPECTED_MOVES, LEAST_SECONDS, MAX_RESERVE_SECONDS, TOLERANCE, GameClock
from athenan_spiel.play.match import OngoingGame, play_match
from athenan_spiel.search import UBFM, Budget

TIC_TAC_TOE = pyspiel.load_game("tic_tac_toe")
CONNECT_FOUR = pyspiel.load_game("connect_four")


def after(game: pyspiel.Game, *actions: int) -> pyspiel.State:
    state = game.new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state


def test_the_first_move_gets_an_even_share_of_what_is_expected() -> None:
    clock = GameClock.of(CONNECT_FOUR, 2.1)
    assert clock.allot(CONNECT_FOUR.new_initial_state()) == pytest.approx(2.1 * 0.95 / EXPECTED_MOVES)
    assert GameClock.of(CONNECT_FOUR, 100).allot(CONNECT_FOUR.new_initial_state()) == pytest.approx(99.5 / 20)
    assert GameClock.of(TIC_TAC_TOE, 1.0).allot(TIC_TAC_TOE.new_initial_state()) == pytest.approx(0.95 / 5)
    assert GameClock.of(TIC_TAC_TOE, 1.0).allot(after(TIC_TAC_TOE, 0)) == pytest.approx(0.95 / 4)


@pytest.mark.parametrize("spec", ["tic_tac_toe", "connect_four", "breakthrough", "othello", "morpion_solitaire"])
@pytest.mark.parametrize("seconds", [0.01, 1.0, 600.0])
def test_who_takes_what_it_is_allotted_keeps_the_reserve_to_the_end(spec: str, seconds: float) -> None:
    game = pyspiel.load_game(spec)
    clock = GameClock.of(game, seconds)
    state, rng = game.new_initial_state(), random.Random(1)
    reserve = min(MAX_RESERVE_SECONDS, 0.05 * seconds)
    while not state.is_terminal():
        if state.current_player() == 0:
            allotted = clock.allot(state)
            assert allotted == LEAST_SECONDS or 0 < allotted <= clock.left - reserve + 1e-9
            clock.spend(allotted)
        state.apply_action(rng.choice(state.legal_actions()))
    if seconds >= 1:
        assert clock.left >= reserve - 1e-9


def test_what_is_overspent_is_missing_later() -> None:
    clock = GameClock.of(CONNECT_FOUR, 10.0)
    state = CONNECT_FOUR.new_initial_state()
    share = clock.allot(state)
    clock.spend(share + 4.0)
    assert clock.allot(state) < share - 4.0 / EXPECTED_MOVES
    clock.spend(100.0)
    assert clock.left == 0.0
    assert clock.allot(state) == LEAST_SECONDS
    twin = clock.copy()
    clock.restart()
    assert (clock.left, twin.left) == (10.0, 0.0)
    assert clock.allot(state) == share


@pytest.mark.parametrize("spec", ["tic_tac_toe", "connect_four", "othello", "amazons(board_size=6)"])
@pytest.mark.parametrize("seconds", [0.01, 1.0, 600.0])
@pytest.mark.parametrize("increment", [0.0, 0.01, 2.0, 5000.0])
def test_nothing_is_allotted_before_it_is_there(spec: str, seconds: float, increment: float) -> None:
    """Promise 1, by a count of its own: S + I for each move before this one - what was used."""
    game = pyspiel.load_game(spec)
    clock = GameClock.of(game, seconds, increment)
    state, rng = game.new_initial_state(), random.Random(1)
    reserve = min(MAX_RESERVE_SECONDS, 0.05 * seconds)
    used, moves = 0.0, 0
    while not state.is_terminal():
        if state.current_player() == 0:
            allotted = clock.allot(state)
            left = seconds + increment * moves - used
            assert clock.allot(state) == allotted, "the same move asked about again"
            assert clock.left == pytest.approx(max(0.0, left))
            assert allotted == LEAST_SECONDS or 0 < allotted <= left - reserve + 1e-9
            taken = allotted * rng.choice([0.5, 1.0, 1.0])
            clock.spend(taken)
            used, moves = used + taken, moves + 1
        state.apply_action(rng.choice(state.legal_actions()))
    assert used <= seconds + increment * (moves - 1) + LEAST_SECONDS * moves


def test_the_increments_to_come_are_shared_too() -> None:
    clock = GameClock.of(CONNECT_FOUR, 100.0, 2.0)
    assert clock.allot(CONNECT_FOUR.new_initial_state()) == pytest.approx((99.5 + 19 * 2.0) / 20)
    short = GameClock.of(CONNECT_FOUR, 1.0, 10.0)
    assert short.allot(CONNECT_FOUR.new_initial_state()) == pytest.approx(0.95), "no more than is there"
    last = after(TIC_TAC_TOE, 0, 4, 1, 2, 6, 3, 5, 8)
    assert GameClock.of(TIC_TAC_TOE, 1.0, 10.0).allot(last) == pytest.approx(0.95), "the last move's comes too late"


def test_the_increment_comes_with_the_next_move() -> None:
    clock = GameClock.of(CONNECT_FOUR, 10.0, 3.0)
    state = CONNECT_FOUR.new_initial_state()
    clock.allot(state)
    clock.spend(4.0)
    assert (clock.left, clock.moves) == (6.0, 0)
    clock.allot(state)  # thought about once more
    clock.spend(1.0)
    assert (clock.left, clock.moves) == (5.0, 0)
    clock.arrive(after(CONNECT_FOUR, 3, 3))
    assert (clock.left, clock.moves) == (8.0, 1)
    twin = clock.copy()
    clock.arrive(state)  # a position before it brings nothing
    assert clock.moves == 1
    clock.restart()
    assert (clock.left, clock.moves, clock.ply) == (10.0, 0, None)
    assert (twin.left, twin.moves) == (8.0, 1)
    clock.arrive(after(CONNECT_FOUR, 3, 3))
    assert clock.moves == 0, "a match may begin there"


def test_in_a_long_match_a_move_comes_to_take_the_increment() -> None:
    game = pyspiel.load_game("chess")
    clock, state, rng = GameClock.of(game, 60.0, 2.0), game.new_initial_state(), random.Random(0)
    shares = []
    while not state.is_terminal() and len(shares) < 150:
        if state.current_player() == 1:
            shares.append(clock.allot(state))
            clock.spend(shares[-1])
        state.apply_action(rng.choice(state.legal_actions()))
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == pytest.approx((59.5 + 19 * 2.0) / 20)
    assert 2.0 < shares[-1] < 2.01


def test_what_may_ever_be_left() -> None:
    assert GameClock.of(TIC_TAC_TOE, 2.0).most == 2.0
    assert GameClock.of(TIC_TAC_TOE, 2.0, 1.0).most == 11.0
    assert GameClock.of(pyspiel.load_game("chess"), 1.0, 3e9).most == 3_153_600_000


@pytest.mark.parametrize("increment", [-1.0, float("inf"), float("nan"), "2", None, True, 1e12])
def test_an_increment_is_some_seconds_or_none(increment: Any) -> None:
    for make in (lambda: GameClock.of(TIC_TAC_TOE, 1.0, increment), lambda: make_agent(1.0, increment=increment)):
        with pytest.raises(BudgetError, match="the increment of a game clock must be from 0 to"):
            make()
    with pytest.raises(BudgetError, match=r"an increment needs a game clock: add match_seconds to 2\.0"):
        make_agent(None, Budget(iterations=1), increment=2.0)


@pytest.mark.parametrize("seconds", [0, -1.0, float("inf"), float("nan"), "60", 1e12])
def test_a_clock_has_some_seconds(seconds: Any) -> None:
    for make in (lambda: GameClock.of(TIC_TAC_TOE, seconds), lambda: make_agent(seconds)):
        with pytest.raises(BudgetError, match="the seconds of a game clock must be"):
            make()


def make_agent(match_seconds: float | None, budget: Budget | None = None, increment: float = 0.0) -> Agent:
    times: dict[str, Any] = {"match_seconds": match_seconds, "match_increment": increment}
    return Agent(CONNECT_FOUR, UBFM(CONNECT_FOUR), ZeroEvaluator(), budget=budget, **times)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The machine's time: it moves by a millisecond with each look."""
    clock = Clock(step=0.001)
    for module in ("search.drive", "play.agent", "play.driver"):
        monkeypatch.setattr(f"athenan_spiel.{module}.time", clock)
    return clock


def test_an_agent_keeps_to_its_clock(clock: Clock) -> None:
    agent = make_agent(1.0)
    assert (agent.match_seconds, agent.budget) == (1.0, Budget(seconds=1.0))
    result = play_match(CONNECT_FOUR, [agent, make_agent(None, Budget(iterations=1))])
    assert 0.3 < result.seconds[0] <= 1.0
    first = result.move_seconds[0]
    assert first == pytest.approx(0.95 / 20, abs=0.01)


def test_an_agent_keeps_to_its_clock_and_increments(clock: Clock) -> None:
    agent = make_agent(0.5, increment=0.1)
    assert (agent.match_seconds, agent.match_increment) == (0.5, 0.1)
    result = play_match(CONNECT_FOUR, [agent, make_agent(None, Budget(iterations=1))])
    times = [s for mover, s in zip(result.movers, result.move_seconds, strict=True) if mover == 0]
    for i in range(len(times)):
        assert sum(times[: i + 1]) <= 0.5 + 0.1 * i
    assert sum(times) > 0.5, "increments were used"
    fresh = [agent.for_game(0), pickle.loads(pickle.dumps(agent)), copy.deepcopy(agent)]
    assert [(one._clock.used, one._clock.moves, one.match_increment) for one in fresh] == [(0.0, 0, 0.1)] * 3


def test_what_was_saved_early_may_be_used_for_one_move(clock: Clock) -> None:
    agent = make_agent(0.01, increment=1.0)
    state = CONNECT_FOUR.new_initial_state()
    for _ in range(2):
        agent.step(state)
        state.apply_action(3)  # so that nothing is proven soon
        state.apply_action(3)
    agent.step(state)
    assert agent.result is not None
    assert agent.result.seconds > 0.5, "not the 0.01 s of the first move"


def test_thinking_twice_about_a_position_brings_one_increment(clock: Clock) -> None:
    agent = make_agent(1.0, increment=0.5)
    state = CONNECT_FOUR.new_initial_state()
    agent.think(state)
    state.apply_action(agent.step(state))
    state.apply_action(3)
    agent.think(state)
    assert agent._clock.moves == 1  # type: ignore[union-attr]


def test_a_budget_of_a_move_holds_beside_the_clock(clock: Clock) -> None:
    agent = make_agent(1.0, Budget(iterations=3))
    assert agent.budget == Budget(iterations=3, seconds=1.0)
    assert agent.think(CONNECT_FOUR.new_initial_state()).iterations == 3
    assert make_agent(1.0, Budget(seconds=5.0)).budget == Budget(seconds=1.0)
    quick = make_agent(100.0, Budget(seconds=0.02))
    assert quick.think(CONNECT_FOUR.new_initial_state()).seconds == pytest.approx(0.02, abs=0.01)


def test_the_clock_begins_anew_with_each_match_and_goes_on_in_a_clone(clock: Clock) -> None:
    agent = make_agent(1.0)
    state = CONNECT_FOUR.new_initial_state()
    agent.step(state)
    used = agent._clock.used  # type: ignore[union-attr]
    assert used > 0.04
    assert agent.clone()._clock == agent._clock
    assert agent.clone()._clock is not agent._clock
    fresh = [agent.for_game(0), agent.for_game(3), pickle.loads(pickle.dumps(agent)), copy.deepcopy(agent)]
    assert [one._clock.used for one in fresh] == [0.0] * 4
    assert agent._clock.used == used, "untouched by them"  # type: ignore[union-attr]
    agent.step(state)
    assert agent._clock.used == used, "answered from memory"  # type: ignore[union-attr]
    agent.restart_at(after(CONNECT_FOUR, 3))
    assert agent._clock.used == 0.0  # type: ignore[union-attr]


class Slow(pyspiel.Bot):  # type: ignore[misc]
    """Takes `takes` seconds a move by a clock of the test's."""

    def __init__(self, clock: Clock, takes: float, match_seconds: float | None, increment: float = 0.0) -> None:
        super().__init__()
        self.clock, self.takes, self.match_seconds, self.match_increment = clock, takes, match_seconds, increment

    def restart_at(self, state: pyspiel.State) -> None:
        """Nothing is kept."""

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        """Nothing is kept."""

    def step(self, state: pyspiel.State) -> int:
        self.clock.now += self.takes
        return int(state.legal_actions()[0])


def test_who_exceeds_its_clock_has_lost_on_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("athenan_spiel.play.driver.time", clock)
    bots = [Slow(clock, 0.5, None), Slow(clock, 0.5, 1.2)]
    said = r"player 1 \(Slow\) lost on time: its moves took 1.500 s and its game clock has 1.2 s"
    with pytest.raises(AgentError, match=said):
        play_match(TIC_TAC_TOE, bots)
    driver = Driver([OngoingGame(TIC_TAC_TOE, bots, [], forfeits=True)])
    while driver.advance():
        pass
    ((_, result),) = driver.take_all()
    assert result.forfeit is not None
    assert result.forfeit.player_id == 1
    assert "lost on time" in result.forfeit.reason
    assert result.returns == (1.0, -1.0)
    assert result.seconds == pytest.approx((1.5, 1.5))


@pytest.mark.parametrize(("over", "lost"), [(0.9 * TOLERANCE, False), (1.1 * TOLERANCE, True)])
def test_the_tolerance(over: float, lost: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("athenan_spiel.play.driver.time", clock)
    bots = [Slow(clock, 0.5, 2.0 - over), Slow(clock, 0.5, None)]
    if lost:
        with pytest.raises(AgentError, match="lost on time"):
            play_match(TIC_TAC_TOE, bots)
    else:
        assert play_match(TIC_TAC_TOE, bots).seconds[0] == pytest.approx(2.0)


def test_who_exceeds_its_clock_and_increments_has_lost_on_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("athenan_spiel.play.driver.time", clock)
    said = (
        r"player 1 \(Slow\) lost on time: its moves took 1.500 s and its game clock has 0.55 s and 0.4 s after each "
        r"of 2 moves"
    )
    with pytest.raises(AgentError, match=said):  # 0.5 <= 0.55, 1.0 <= 0.95 + 0.1, 1.5 > 1.35 + 0.1
        play_match(TIC_TAC_TOE, [Slow(clock, 0.5, None), Slow(clock, 0.5, 0.55, 0.4)])
    assert play_match(TIC_TAC_TOE, [Slow(clock, 0.5, None), Slow(clock, 0.5, 0.55, 0.45)]).seconds[1] == 1.5
    with pytest.raises(
        AgentError, match=r"has 0\.35 s and 5\.0 s after each of 0 moves"
    ):  # not there for the first one
        play_match(TIC_TAC_TOE, [Slow(clock, 0.5, 0.35, 5.0), Slow(clock, 0.5, None)])


@pytest.mark.parametrize("word", ["alphabeta@0.2s+0.05s", "mcts@0.2s+0.05s", "uct@0.2s+0.05s"])
def test_words_with_an_increment_play_a_match_within_it(word: str) -> None:
    bots = [agents.make_bot(word, CONNECT_FOUR, 0, seed=3), agents.make_bot("random", CONNECT_FOUR, 1, seed=3)]
    assert (bots[0].match_seconds, bots[0].match_increment) == (0.2, 0.05)
    assert pickle.loads(pickle.dumps(bots[0])).match_increment == 0.05
    result = play_match(CONNECT_FOUR, bots)
    moves = result.movers.count(0)
    assert result.seconds[0] < 0.2 + 0.05 * (moves - 1) + TOLERANCE


@pytest.mark.parametrize("word", ["alphabeta@1s/match", "mcts@1s/match", "uct@1s/match"])
def test_words_with_a_clock_play_a_match_within_it(word: str) -> None:
    for player in range(2):
        bots = [agents.make_bot(word if i == player else "random", CONNECT_FOUR, i, seed=3) for i in range(2)]
        assert bots[player].match_seconds == 1.0
        result = play_match(CONNECT_FOUR, bots)
        assert result.seconds[player] < 1.0 + TOLERANCE
        assert bots[player].match_seconds == pickle.loads(pickle.dumps(bots[player])).match_seconds


def test_a_run_is_loaded_with_a_clock(tiny_run: Any) -> None:
    agent = ath.load_agent(tiny_run, match_seconds=2.0)
    assert (agent.match_seconds, agent.budget) == (2.0, Budget(seconds=2.0))
    bot = agents.make_bot(f"{tiny_run}@3s/match", TIC_TAC_TOE, 0)
    assert (bot.match_seconds, bot.budget) == (3.0, Budget(seconds=3.0))
    both = agents.load_bot(
        "athenan", TIC_TAC_TOE, 0, {"checkpoint": str(tiny_run), "match_seconds": 3, "iterations": 2}
    )
    assert both.budget == Budget(seconds=3.0, iterations=2)
    assert ath.load_agent(tiny_run).budget == Budget(seconds=1.0)
    more = ath.load_agent(tiny_run, match_seconds=2.0, match_increment=0.5)
    assert (more.match_seconds, more.match_increment, more.budget) == (2.0, 0.5, Budget(seconds=2.0 + 9 * 0.5))
    assert agents.make_bot(f"{tiny_run}@1m+2s", TIC_TAC_TOE, 0).match_increment == 2.0


def test_the_file_says_the_numbers() -> None:
    assert game_clock.__doc__ is not None
    for name in ("EXPECTED_MOVES", "LEAST_SECONDS"):
        assert name in game_clock.__doc__
