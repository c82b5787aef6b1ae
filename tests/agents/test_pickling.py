"""Bots and agents go into other processes: what `pickle` and `copy.deepcopy` give plays as the original would."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from training_runs import TIC_TAC_TOE

import agents
import athenan_spiel as ath
from agents.athenan import AthenanBot
from agents.human import HumanBot
from athenan_spiel.config import EngineConfig, NetworkConfig
from athenan_spiel.encoding import Encoder
from athenan_spiel.engines import make_engine
from athenan_spiel.evaluators import NetworkEvaluator, ZeroEvaluator
from athenan_spiel.games.transpositions import history_key
from athenan_spiel.networks import make_network
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.match import play_match
from athenan_spiel.search import MCTS, UBFM, AlphaBeta, Budget, Descent

WORDS = ["RUN@20i", "RUN#12:alphabeta(2)", "RUN:mcts(0.5)@20i", "RUN:descent@9i", "alphabeta(2)", "mcts:20", "random"]


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


both_ways = pytest.mark.parametrize("copied", [pickled, copy.deepcopy])


def history(game: pyspiel.Game, *bots: pyspiel.Bot) -> tuple[int, ...]:
    """A match of a copy, so that nothing in the bots changes where the copying is right."""
    return play_match(game, bots).history


@both_ways
@pytest.mark.parametrize("word", WORDS)
def test_a_copy_of_a_bot_plays_the_same_matches(word: str, copied: Callable[[Any], Any], tiny_run: Path) -> None:
    for player in range(2):
        bot = agents.make_bot(word.replace("RUN", str(tiny_run)), TIC_TAC_TOE, player, seed=7)
        twin = copied(bot)
        assert isinstance(twin, type(bot))
        histories = []
        for one in (bot, twin):
            other = agents.make_bot("random", TIC_TAC_TOE, 1 - player, seed=3)
            bots = [one, other] if player == 0 else [other, one]
            histories.append([history(TIC_TAC_TOE, *bots) for _ in range(3)])
        assert histories[0] == histories[1]


@both_ways
@pytest.mark.parametrize("spec", ["morpion_solitaire", "python_tic_tac_toe", "hex(board_size=3)"])
def test_games_of_every_kind_go_along(spec: str, copied: Callable[[Any], Any]) -> None:
    game = ath.load_game(spec)
    bot = agents.make_bot("alphabeta(1)", game, 0)
    state = game.new_initial_state()
    assert copied(bot).step(state) == bot.step(state)


@both_ways
def test_a_copy_in_the_middle_of_a_match_begins_one_with_the_same_weights_and_dice(
    copied: Callable[[Any], Any], tiny_run: Path
) -> None:
    agent = ath.load_agent(tiny_run, budget=Budget(iterations=20), seed=1)
    state = TIC_TAC_TOE.new_initial_state()
    state.apply_action(agent.step(state))
    twin = copied(agent)
    assert agent.tree.table
    assert not twin.tree.table
    assert twin.result is None
    assert twin.rng.getstate() == agent.rng.getstate()
    assert (twin.budget, twin.decision, str(twin.game)) == (agent.budget, agent.decision, str(agent.game))
    states = [state.child(action) for action in state.legal_actions()]
    assert np.array_equal(twin.evaluator(states), agent.evaluator(states))
    assert twin.encoder is twin.evaluator.encoder
    agent.restart()
    assert twin.step(state) == agent.step(state)


@both_ways
@pytest.mark.parametrize(
    "search",
    [
        Descent(TIC_TAC_TOE),
        UBFM(TIC_TAC_TOE, completion=False),
        AlphaBeta(TIC_TAC_TOE, depth=2),
        MCTS(TIC_TAC_TOE, exploration_constant=0.25, virtual_loss_batch=3),
    ],
    ids=lambda search: type(search).__name__,
)
def test_agents_made_by_hand_are_copied(search: Any, copied: Callable[[Any], Any]) -> None:
    agent = Agent(TIC_TAC_TOE, search, ZeroEvaluator(), budget=Budget(iterations=9), rng=random.Random(5))
    twin = copied(agent)
    kept = {name for name in vars(search) if name not in ("game", "key")}
    assert {name: getattr(twin.search, name) for name in kept} == {name: getattr(search, name) for name in kept}
    state = TIC_TAC_TOE.new_initial_state()
    assert twin.search.key(state) == search.key(state)
    assert twin.step(state) == agent.step(state)


def test_a_key_of_ones_own_goes_along() -> None:
    state = TIC_TAC_TOE.new_initial_state()
    own = UBFM(TIC_TAC_TOE, key=history_key(TIC_TAC_TOE))
    assert pickled(own).key is own.key
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(UBFM(TIC_TAC_TOE, key=lambda state: str(state)))
    assert own.key(state) == pickled(own).key(state)


@both_ways
@pytest.mark.parametrize("engine", ["torch", "openvino"])
def test_a_network_made_by_hand_keeps_its_weights_and_its_engine(engine: Any, copied: Callable[[Any], Any]) -> None:
    game = ath.load_game("hex(board_size=3)")
    encoder = Encoder(game, edges=True)
    network = make_network(encoder.shape, NetworkConfig(filters=4, neurons=8), bounded=True, scale=1.0, seed=3)
    config = EngineConfig(name=engine, precision="float32", threads=1)
    evaluator = NetworkEvaluator(encoder, make_engine(config, encoder.shape))
    assert copied(evaluator).engine.name == evaluator.engine.name, "without weights as yet"
    evaluator.load(network)
    twin = copied(evaluator)
    state = game.new_initial_state()
    assert np.array_equal(twin([state]), evaluator([state]))
    assert twin.engine.config == evaluator.engine.config
    assert twin.encoder.shape == encoder.shape


def step_in_another_process(bot: pyspiel.Bot) -> int:
    action: int = bot.step(TIC_TAC_TOE.new_initial_state())
    return action


def test_bots_go_into_processes_that_know_nothing_of_them(tiny_run: Path) -> None:
    bots = [agents.make_bot(word, TIC_TAC_TOE, 0, seed=2) for word in (f"{tiny_run}@20i", "mcts:20", "random")]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        answers = pool.map(step_in_another_process, bots)
    assert answers == [step_in_another_process(bot) for bot in bots]


def ask(prompt: str) -> str:
    return "4"


def tell(text: str) -> None:
    """Nobody is there."""


@both_ways
def test_a_person_is_made_again_of_the_same_terminal(copied: Callable[[Any], Any]) -> None:
    twin = copied(HumanBot(ask, tell, width=30))
    assert twin.step(TIC_TAC_TOE.new_initial_state()) == 4
    assert isinstance(copied(agents.make_bot("human", TIC_TAC_TOE, 0)), HumanBot)


def test_a_clone_goes_on_where_a_copy_begins(tiny_run: Path) -> None:
    bot = agents.make_bot(f"{tiny_run}@20i", TIC_TAC_TOE, 0)
    state = TIC_TAC_TOE.new_initial_state()
    action = bot.step(state)
    clone = bot.clone()
    assert isinstance(clone, AthenanBot)
    assert clone.agent.result is bot.agent.result
    assert clone.agent.tree.table
    assert clone.step(state) == action
    assert clone.agent.result is bot.agent.result, "without thinking again"


def test_openspiels_own_bots_are_not_copied() -> None:
    with pytest.raises(TypeError, match="cannot pickle"):
        pickle.dumps(agents.load_bot("fixed_action_preference", TIC_TAC_TOE, 0, {"actions": "0:1"}))
