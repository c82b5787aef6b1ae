"""OpenSpiel's own players: MCTS by simulations and by time, plain UCT, and the bots of its registry."""

from __future__ import annotations

import copy
import pickle
import time
from typing import Any

import pyspiel
import pytest

import agents
from agents.openspiel import OpenSpielBot
from athenan_spiel.errors import AgentError, BudgetError, ConfigError, SearchError
from athenan_spiel.play.match import play_match
from athenan_spiel.play.openspiel_mcts import ClockedMCTSBot, MCTSBot, MCTSSettings, make_mcts_bot
from athenan_spiel.play.player import thinks_by_time

TIC_TAC_TOE = pyspiel.load_game("tic_tac_toe")
CONNECT_FOUR = pyspiel.load_game("connect_four")
HANG = 60.0
"""A move of less than a second takes no longer on a machine that does something else."""


@pytest.mark.parametrize(
    ("text", "params"),
    [
        ("mcts@0.1s", {"seconds": 0.1}),
        ("mcts@2m/match", {"match_seconds": 120.0}),
        ("mcts@2m+1s", {"match_seconds": 120.0, "match_increment": 1.0}),
        ("uct:160", {"simulations": 160}),
        ("uct@2s", {"seconds": 2.0}),
        ("pyspiel:uniform_random", {"name": "uniform_random"}),
        (
            "pyspiel:fixed_action_preference(actions=0:1:2)",
            {"name": "fixed_action_preference", "parameters": "actions=0:1:2"},
        ),
        ("pyspiel:fixed_action_preference()", {"name": "fixed_action_preference"}),
    ],
)
def test_words(text: str, params: dict[str, object]) -> None:
    assert agents.parse_spec(text).params == params


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mcts", "mcts takes simulations per move, from 1 to 1,000,000,000, such as mcts:1000, or a time, such as"),
        (
            "uct",
            "uct takes simulations per move, from 1 to 1,000,000,000, such as uct:1000, or a time, such as uct@0",
        ),
        ("uct:0", "such as uct:1000"),
        ("uct:160@1s", "uct takes simulations (uct:160) or a time, not both; got 'uct:160@1s'"),
        (
            "mcts@200i",
            "mcts takes seconds per move (mcts@0.5s) or a game clock (mcts@60s/match) or a game clock with increment "
            "(mcts@5m+2s) and no other limit; got",
        ),
        ("pyspiel", "expected one of OpenSpiel's bots fixed_action_preference, uniform_random, "),
        ("pyspiel:uniform_randon", "got 'uniform_randon': did you mean 'uniform_random'?"),
        ("pyspiel:uniform_random@1s", "pyspiel takes no limit; got 'pyspiel:uniform_random@1s'"),
        ("pyspiel:uniform_random(", "expected one of OpenSpiel's bots"),
        ("pyspiel:uniform_random(x", "expected one of OpenSpiel's bots"),
        ("pyspiel:uniform_random(x)", "expected parameters in OpenSpiel's notation"),
        ("pyspiel:uniform_random(x=1))", "expected parameters in OpenSpiel's notation"),
        ("pyspiel:uniform_random(x=(1)", "expected parameters in OpenSpiel's notation"),
        ("pyspiel:uniform_random(x=1.2.3)", "expected parameters in OpenSpiel's notation"),
        ("pyspiel:uniform_random(x=99999999999999999999)", "expected parameters in OpenSpiel's notation"),
        ("pyspiel:uniform_random(x=-)", "expected parameters in OpenSpiel's notation"),
        (
            f"pyspiel:uniform_random({'x=y(' * 51}{')' * 51})",
            "expected parameters with at most 50 nested brackets, got 'x=y(x=y(",
        ),
    ],
)
def test_words_that_are_not_understood(text: str, said: str) -> None:
    with pytest.raises(AgentError) as error:
        agents.parse_spec(text)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_mcts_thinks_as_long_as_it_is_told() -> None:
    for word in ("mcts@0.2s", "uct@0.2s"):
        bot = agents.make_bot(word, CONNECT_FOUR, 0)
        assert thinks_by_time(bot)
        start = time.perf_counter()
        action = bot.step(CONNECT_FOUR.new_initial_state())
        assert 0.1 < time.perf_counter() - start < HANG
        assert action in range(7)


@pytest.mark.parametrize("spec", ["mcts:1", "mcts@0.000001s", "mcts@0.000002s/match"])
def test_a_single_simulation_is_a_random_action(spec: str) -> None:
    """OpenSpiel's own bot reads invalid memory."""
    state = CONNECT_FOUR.new_initial_state()
    actions = {agents.make_bot(spec, CONNECT_FOUR, 0, seed=seed).step(state) for seed in range(20)}
    assert len(actions) > 1
    assert actions <= set(range(7))


def test_a_time_of_few_rollouts_may_end_after_the_first() -> None:
    game = pyspiel.load_game("hive")
    state, bot = game.new_initial_state(), agents.make_bot("mcts@0.02s", game, 0)
    assert bot.step(state) in state.legal_actions()
    assert bot._two_simulations is False, "a rollout takes about 10 ms"


def test_both_ways_to_search_return_the_action_of_openspiel() -> None:
    for seed in range(5):
        state = CONNECT_FOUR.new_initial_state()
        for _ in range(4):
            settings = MCTSSettings(simulations=60)
            by_openspiel = make_mcts_bot(CONNECT_FOUR, settings, seed)
            expected = pyspiel.MCTSBot.step_with_policy(by_openspiel, state)
            assert make_mcts_bot(CONNECT_FOUR, settings, seed).step(state) == expected[1]
            assert make_mcts_bot(CONNECT_FOUR, settings, seed).step_with_policy(state) == expected
            state.apply_action(expected[1])


def test_a_proven_state_is_answered_at_once_by_the_solver_alone() -> None:
    state = TIC_TAC_TOE.new_initial_state()
    for action in (0, 3, 1, 4):
        state.apply_action(action)
    start = time.perf_counter()
    assert agents.make_bot("mcts@600s", TIC_TAC_TOE, 0).step(state) == 2
    assert time.perf_counter() - start < HANG
    root = agents.make_bot("mcts:100", TIC_TAC_TOE, 0).mcts_search(state)
    assert root.outcome == [1.0, -1.0]
    plain = agents.make_bot("uct:100", TIC_TAC_TOE, 0).mcts_search(state)
    assert not plain.outcome
    assert plain.explore_count == 100


def test_simulations_are_counted() -> None:
    state = CONNECT_FOUR.new_initial_state()
    for word, params, count in (
        ("mcts", {}, 1000),
        ("mcts", {"simulations": 30}, 30),
        ("uct", {}, 160),
        ("uct", {"simulations": 7, "exploration_constant": 1.5}, 7),
    ):
        assert agents.load_bot(word, CONNECT_FOUR, 0, params).mcts_search(state).explore_count == count


def test_the_constant_of_uct_is_its_own() -> None:
    """With c = 0 the best mean is followed, with a great one all actions alike."""

    def spread(constant: float) -> int:
        bot = agents.load_bot("uct", CONNECT_FOUR, 0, {"simulations": 700, "exploration_constant": constant})
        visits = [child.explore_count for child in bot.mcts_search(CONNECT_FOUR.new_initial_state()).children]
        return max(visits) - min(visits)

    assert spread(1000.0) <= 10 < spread(0.4)
    assert agents.load_bot("uct", CONNECT_FOUR, 0)._made_of[0].uct_constant == 0.4


@pytest.mark.parametrize("word", ["mcts:20", "mcts@20s", "mcts@60s/match", "mcts@60s+1s", "uct:20", "uct@20s/match"])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda bot: pickle.loads(pickle.dumps(bot))])
def test_copies_and_bots_of_a_match_are_made_of_the_same(word: str, copied: Any) -> None:
    bot = agents.make_bot(word, TIC_TAC_TOE, 1, seed=5)
    assert type(bot) is (ClockedMCTSBot if "match" in word or "+" in word else MCTSBot)
    assert copied(bot)._made_of == bot._made_of
    assert bot.for_game(0)._made_of == bot._made_of
    assert bot.for_game(1)._made_of[0] == bot._made_of[0]
    assert bot.for_game(1)._made_of[1] != bot._made_of[1]


def test_a_clocked_bot_is_a_bot() -> None:
    bot = agents.make_bot("mcts@0.3s/match", CONNECT_FOUR, 0)
    state = CONNECT_FOUR.new_initial_state()
    policy, action = bot.step_with_policy(state)
    assert bot.provides_policy()
    assert sum(probability for _, probability in policy) == pytest.approx(1.0)
    assert action in state.legal_actions()
    assert bot._clock.used > 0
    bot.inform_action(state, 0, action)
    bot.restart()
    assert bot._clock.used == 0
    pyspiel.evaluate_bots(CONNECT_FOUR.new_initial_state(), [bot, agents.make_bot("random", CONNECT_FOUR, 1)], 0)
    with pytest.raises(SearchError, match="expected a state of"):
        bot.step(TIC_TAC_TOE.new_initial_state())


@pytest.mark.parametrize(
    ("name", "params", "error", "said"),
    [
        ("mcts", {"seconds": 0.0}, BudgetError, "seconds must be more than zero"),
        ("uct", {"match_seconds": -1}, BudgetError, "the seconds of a game clock must be"),
        ("mcts", {"match_seconds": 1, "match_increment": -1}, BudgetError, "the increment of a game clock must be"),
        ("mcts", {"simulations": 9, "match_increment": 1.0}, BudgetError, "an increment needs a game clock: add"),
        ("uct", {"simulations": 0}, ConfigError, "simulations of UCT must be at least 1, got 0"),
        (
            "uct",
            {"exploration_constant": -0.5},
            ConfigError,
            "the exploration constant of UCT must be zero or more, got -0.5",
        ),
        (
            "uct",
            {"exploration_constant": float("nan")},
            ConfigError,
            "the exploration constant of UCT must be zero or more",
        ),
        ("mcts", {"simulations": 9, "seconds": 1.0}, ConfigError, "mcts takes simulations or a time, not both; got 9"),
        ("uct", {"simulations": 9, "match_seconds": 1.0}, ConfigError, "uct takes simulations or a time, not both"),
        ("mcts", {"exploration_constant": 1.0}, AgentError, "bot 'mcts' has the parameters"),
        ("pyspiel", {"name": "nobody"}, AgentError, "expected one of OpenSpiel's bots .*; got 'nobody'"),
        ("pyspiel", {}, AgentError, "bot 'pyspiel' needs the parameter 'name'"),
        (
            "pyspiel",
            {"name": "uniform_restricted_actions"},
            AgentError,
            r"does not play 'tic_tac_toe\(\)' as player 0; these bots do: fixed_action_preference, uniform_random",
        ),
    ],
)
def test_parameters_that_are_refused(name: str, params: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        agents.load_bot(name, TIC_TAC_TOE, 0, params)


def test_bots_of_the_registry_play_and_are_copied() -> None:
    word = "pyspiel:fixed_action_preference(actions=4:0:8:1:2:3:5:6:7)"
    bots = [agents.make_bot(word, TIC_TAC_TOE, 0), agents.make_bot("pyspiel:uniform_random", TIC_TAC_TOE, 1)]
    assert play_match(TIC_TAC_TOE, bots).history[0] == 4
    for bot in bots:
        twin = pickle.loads(pickle.dumps(bot))
        assert isinstance(twin, OpenSpielBot)
        assert twin._made_of == bot._made_of
        assert bot.provides_policy() == twin.provides_policy()
    state = TIC_TAC_TOE.new_initial_state()
    pyspiel.evaluate_bots(state, bots, 0)
    assert state.is_terminal()
    state = TIC_TAC_TOE.new_initial_state()
    state.apply_action(0)
    policy, action = bots[1].step_with_policy(state)
    assert dict(policy).keys() == dict(bots[1].get_policy(state)).keys() == set(state.legal_actions())
    assert action in state.legal_actions()
    for call in (bots[0].step, bots[0].get_policy, bots[0].step_with_policy):
        with pytest.raises(SearchError, match="expected a state in which player 0 is to move, got one where player 1"):
            call(state)
    bots[1].restart()


def test_the_settings_are_those_of_openspiels_example() -> None:
    assert (MCTSSettings().uct_constant, MCTSSettings().solve) == (2.0, True)
    with pytest.raises(ConfigError, match="uct needs a game in which one player moves at a time"):
        make_mcts_bot(pyspiel.load_game("goofspiel"), MCTSSettings(name="uct"), 0)
