"""Bots in games with chance: both of OpenSpiel's `evaluate_bots`, its MCTS, policies, and a trained run."""

from __future__ import annotations

import dataclasses
import pickle
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import evaluate_bots as python_flavour
from open_spiel.python.algorithms import expected_game_score
from training_runs import TINY

import agents
from agents.policy import BotPolicy
from athenan_spiel.config import SEARCH_CONFIGS, ExitConfig, SelfPlayConfig, TargetsConfig
from athenan_spiel.config.network import PolicyName
from athenan_spiel.config.search import SearchName
from athenan_spiel.errors import ConfigError, SearchError
from athenan_spiel.games import load_game
from athenan_spiel.games.chance import roll
from athenan_spiel.play.series import play_series
from athenan_spiel.solving.solver import solve
from athenan_spiel.training import train

PIG = "pig(players=2,winscore=20)"
TWO_PLAYERS = [PIG, "einstein_wurfelt_nicht", "backgammon", "banqi", "maedn(players=2)"]
ONE_PLAYER = ["catch(rows=5,columns=5)", "yacht(players=1)", "2048"]
SPECS = ["random", "mcts:10", "uct:10", "alphabeta(2)@100e", "alphabeta@0.01s"]

Flavour = Callable[[pyspiel.State, Sequence[pyspiel.Bot]], list[float]]


def by_cpp(state: pyspiel.State, bots: Sequence[pyspiel.Bot]) -> list[float]:
    return pyspiel.evaluate_bots(state, bots, 3)


def by_python(state: pyspiel.State, bots: Sequence[pyspiel.Bot]) -> list[float]:
    return python_flavour.evaluate_bots(state, bots, np.random.RandomState(0))


FLAVOURS = pytest.mark.parametrize("evaluate", [by_cpp, by_python])


def decision(game: pyspiel.Game, seed: int = 0) -> pyspiel.State:
    state = game.new_initial_state()
    roll(state, random.Random(seed).random)
    return state


@FLAVOURS
@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("name", [PIG, "einstein_wurfelt_nicht"])
def test_bots_play_with_chance(name: str, spec: str, evaluate: Flavour) -> None:
    game = load_game(name)
    for colour in range(2):
        bots = [agents.make_bot(spec, game, colour, seed=1), agents.make_bot("random", game, 1 - colour, seed=2)]
        state = game.new_initial_state()
        returns = evaluate(state, bots[::-1] if colour else bots)
        assert state.is_terminal()
        assert returns == state.returns()
        assert sum(returns) == 0


@FLAVOURS
def test_bots_play_backgammon(evaluate: Flavour) -> None:
    game = load_game("backgammon")
    bots = [agents.make_bot("alphabeta(1)", game, 0), agents.make_bot("mcts:2", game, 1)]
    assert sum(evaluate(game.new_initial_state(), bots)) == 0


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("name", TWO_PLAYERS)
def test_bots_choose_legal_actions(name: str, spec: str) -> None:
    game = load_game(name)
    state, rng = decision(game), random.Random(1)
    for _ in range(3):
        bot = agents.make_bot(spec, game, state.current_player())
        assert bot.step(state) in state.legal_actions()
        state.apply_action(rng.choice(state.legal_actions()))
        roll(state, rng.random)


@pytest.mark.parametrize("name", ONE_PLAYER)
def test_bots_play_alone(name: str) -> None:
    game = load_game(name)
    state = decision(game)
    assert agents.make_bot("alphabeta(1)", game, 0).step(state) in state.legal_actions()
    if game.get_type().reward_model == pyspiel.GameType.RewardModel.TERMINAL:
        assert agents.make_bot("mcts:10", game, 0).step(state) in state.legal_actions()
    else:
        with pytest.raises(ConfigError, match="mcts needs a game that rewards at its end only"):
            agents.make_bot("mcts:10", game, 0)


@pytest.mark.parametrize("spec", ["random", "mcts:2", "alphabeta(1)"])
def test_a_chance_state_is_refused(spec: str) -> None:
    game = load_game("backgammon")
    with pytest.raises(
        SearchError, match="expected a state in which one player is to move, got one where chance moves"
    ):
        agents.make_bot(spec, game, 0).step(game.new_initial_state())


@pytest.mark.parametrize("spec", ["mcts:50", "alphabeta(2)"])
def test_a_bot_is_determined_by_its_seed(spec: str) -> None:
    game = load_game("einstein_wurfelt_nicht")
    state = decision(game)
    bot = agents.make_bot(spec, game, state.current_player(), seed=4)
    twin = pickle.loads(pickle.dumps(bot))
    assert twin.step(state) == bot.step(state)


def test_a_search_in_depth_beats_random_play() -> None:
    game = load_game(PIG)
    series = play_series(
        game,
        lambda player: agents.make_bot("alphabeta(3)", game, player, seed=1),
        lambda player: agents.make_bot("random", game, player, seed=2),
        40,
        seed=1,
    )
    assert series.points > 0.7


def test_the_policy_of_exact_play_is_worth_the_solved_value() -> None:
    game = load_game("pig(players=2,winscore=6,horizon=6)")
    proof = solve(game)
    perfect = BotPolicy(game, agents.make_bot("alphabeta@20i", game, 0))
    returns = expected_game_score.policy_value(game.new_initial_state(), [perfect, perfect])
    assert returns[0] == pytest.approx(proof.value, abs=1e-9)


@pytest.mark.parametrize("algorithm", ["mcts", "puct", "gumbel", "exit", "alphabeta"])
@pytest.mark.parametrize("name", [PIG, "einstein_wurfelt_nicht"])
def test_every_search_trains_and_plays_with_chance(algorithm: SearchName, name: str, tmp_path: Path) -> None:
    game = load_game(name)
    policy: PolicyName = "dense" if SEARCH_CONFIGS[algorithm].needs_priors else "none"
    plain = dataclasses.replace(
        TINY,
        matches=2,
        matches_at_once=1,
        search=SEARCH_CONFIGS[algorithm](iterations=2, evaluations=30),
        network=dataclasses.replace(TINY.network, policy=policy),
        targets=TargetsConfig(method="root"),
    )
    train(game, plain, folder=tmp_path / "run")
    state = decision(game)
    bot = agents.make_bot(f"{tmp_path / 'run'}:{algorithm}@20e", game, state.current_player())
    assert bot.step(state) in state.legal_actions()


def test_an_apprentice_trains_with_chance(tmp_path: Path) -> None:
    game = load_game(PIG)
    apprentice = dataclasses.replace(
        TINY,
        self_play=SelfPlayConfig(method="apprentice"),
        search=ExitConfig(iterations=3),
        network=dataclasses.replace(TINY.network, policy="dense"),
        targets=TargetsConfig(method="root"),
    )
    train(game, apprentice, folder=tmp_path / "run")
    assert agents.make_bot(f"{tmp_path / 'run'}@4i", game, 0).step(decision(game)) in (0, 1)


def test_a_trained_bot_plays_with_chance(tmp_path: Path) -> None:
    game = load_game(PIG)
    train(game, TINY, folder=tmp_path / "pig")
    for search in ("", ":descent", ":ubfm", ":alphabeta(2)", ":mcts"):
        bot = agents.make_bot(f"{tmp_path / 'pig'}{search}@20e", game, 0)
        for evaluate in (by_cpp, by_python):
            assert sum(evaluate(game.new_initial_state(), [bot, agents.make_bot("uct:10", game, 1)])) == 0
