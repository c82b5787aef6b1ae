"""Bots in every seat of games for more than two players, in both of OpenSpiel's `evaluate_bots`."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import evaluate_bots as python_flavour

import agents
from agents import AthenanBot
from athenan_spiel.errors import AgentError
from athenan_spiel.evaluators.simple import RolloutEvaluator
from athenan_spiel.games import load_game
from athenan_spiel.outcomes.rows import gain_of
from athenan_spiel.play.agent import Agent
from athenan_spiel.search import MCTS, UBFM, Budget, Descent

Flavour = Callable[[pyspiel.State, Sequence[pyspiel.Bot]], list[float]]
PIGS = ["pig(players=3,winscore=10)", "pig(players=5,winscore=10)"]


def by_cpp(state: pyspiel.State, bots: Sequence[pyspiel.Bot]) -> list[float]:
    return pyspiel.evaluate_bots(state, bots, 3)


def by_python(state: pyspiel.State, bots: Sequence[pyspiel.Bot]) -> list[float]:
    return python_flavour.evaluate_bots(state, bots, np.random.RandomState(0))


FLAVOURS = pytest.mark.parametrize("evaluate", [by_cpp, by_python])


def searching(game: pyspiel.Game, player: int) -> AthenanBot:
    """Returns a bot of this library, with another search for each player."""
    search = (UBFM, Descent, MCTS)[player % 3](game)
    evaluator = RolloutEvaluator(gain_of(game), 1)
    return AthenanBot(Agent(game, search, evaluator, budget=Budget(iterations=3), rng=random.Random(player)))


@FLAVOURS
@pytest.mark.parametrize("name", PIGS)
def test_bots_of_this_library_play_each_other(name: str, evaluate: Flavour) -> None:
    game = load_game(name)
    state = game.new_initial_state()
    returns = evaluate(state, [searching(game, player) for player in range(game.num_players())])
    assert state.is_terminal()
    assert returns == state.returns()
    assert max(returns) == 1
    assert sum(returns) == pytest.approx(0)


@FLAVOURS
@pytest.mark.parametrize("name", [PIGS[0], "yacht(players=3)", "chinese_checkers(players=3)", "maedn(players=4)"])
def test_registered_bots_play_in_every_seat(name: str, evaluate: Flavour) -> None:
    game = load_game(name)
    players = game.num_players()
    for seat in range(players if name == PIGS[0] else 1):
        specs = ["mcts:2" if player == seat and "pig" in name else "random" for player in range(players)]
        bots = [agents.make_bot(spec, game, player, seed=player) for player, spec in enumerate(specs)]
        state = game.new_initial_state()
        assert evaluate(state, bots) == state.returns()
        assert state.is_terminal()


def test_a_seat_that_does_not_exist() -> None:
    with pytest.raises(AgentError, match="player_id must be from 0 to 2"):
        agents.load_bot("random", PIGS[0], 3)


@pytest.mark.parametrize(
    ("bot", "params", "said"),
    [
        ("gtp", {"command": "cat"}, "GTP is for two players"),
        ("uci", {"command": "cat"}, "UCI engines play"),
        ("aei", {"command": "cat"}, "AEI engines play"),
        ("gnubg", {}, "GNU Backgammon plays"),
    ],
)
def test_engines_refuse_three_players(bot: str, params: dict[str, object], said: str) -> None:
    with pytest.raises(AgentError, match=said) as error:
        agents.load_bot(bot, PIGS[0], 2, params)
    assert "\n" not in str(error.value)
