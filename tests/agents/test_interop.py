"""Soft policies of bots, bots as policies of OpenSpiel, and OpenSpiel's tools and examples with our bots."""

from __future__ import annotations

import copy
import math
import pickle
import random
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pyspiel
import pytest
from open_spiel.python.algorithms import exploitability

import agents
from agents.athenan import AthenanBot
from agents.policy import BotPolicy
from athenan_spiel.errors import AgentError
from athenan_spiel.evaluators.simple import ZeroEvaluator
from athenan_spiel.outcomes import AdditiveDepth
from athenan_spiel.play.agent import Agent
from athenan_spiel.search import UBFM, Budget
from athenan_spiel.search.node import NodeKind
from athenan_spiel.search.policy import SoftPolicy

TIC_TAC_TOE = pyspiel.load_game("tic_tac_toe")


def node(values: list[float], completions: list[int], kind: NodeKind = NodeKind.MAXIMISER) -> Any:
    return SimpleNamespace(actions=list(range(len(values))), values=values, completions=completions, kind=kind)


def test_softmax_of_open_values() -> None:
    found = SoftPolicy(0.5, scale=2.0).probabilities(node([1.0, 0.0, -1.0], [0, 0, 0]))
    weights = [1.0, math.exp(-1), math.exp(-2)]
    assert found == pytest.approx([w / sum(weights) for w in weights])
    assert SoftPolicy(0.5, 2.0).probabilities(node([-1.0, 0.0, 1.0], [0] * 3, NodeKind.MINIMISER)) == pytest.approx(
        found
    )


@pytest.mark.parametrize(
    ("values", "completions", "kind", "expected"),
    [
        ([0.9, 1.0, 1.0], [0, 1, 1], NodeKind.MAXIMISER, [0.0, 0.5, 0.5]),
        ([0.9, -1.0, 1.0], [0, -1, 1], NodeKind.MINIMISER, [0.0, 1.0, 0.0]),
        ([0.2, 0.2, -9.0], [0, 0, -1], NodeKind.MAXIMISER, [0.5, 0.5, 0.0]),
        ([-1.0, -1.0], [-1, -1], NodeKind.MAXIMISER, [0.5, 0.5]),
        ([math.inf, math.inf, 0.0], [0, 0, 0], NodeKind.MAXIMISER, [0.5, 0.5, 0.0]),
        ([-math.inf, 0.0], [0, 0], NodeKind.MAXIMISER, [0.0, 1.0]),
        ([-1e300, 1e300], [0, 0], NodeKind.MAXIMISER, [0.0, 1.0]),
    ],
)
def test_what_is_proven_comes_first(values: Any, completions: Any, kind: NodeKind, expected: list[float]) -> None:
    assert SoftPolicy(1.0).probabilities(node(values, completions, kind)) == pytest.approx(expected)


@pytest.mark.parametrize("temperature", [0, -1.0, math.inf, math.nan, "hot", True])
def test_a_temperature_is_above_zero(temperature: Any) -> None:
    bot = agents.make_bot("alphabeta@2i", TIC_TAC_TOE, 0)
    for call in (
        lambda: SoftPolicy(temperature),
        lambda: bot.agent.policy(TIC_TAC_TOE.new_initial_state(), temperature),
    ):
        with pytest.raises(AgentError, match="the temperature of a policy must be"):
            call()


def make_agent(seed: int = 0, iterations: int = 40) -> Agent:
    search = UBFM(TIC_TAC_TOE, outcome=AdditiveDepth(scale=9.0, longest=9, exact=True))
    return Agent(TIC_TAC_TOE, search, ZeroEvaluator(), budget=Budget(iterations=iterations), rng=random.Random(seed))


def test_an_agents_policy_with_a_temperature_changes_nothing_else() -> None:
    agent = make_agent()
    state = TIC_TAC_TOE.new_initial_state()
    played = agent.step(state)
    for temperature in (1e-9, 0.3, 1e9):
        policy = agent.policy(state, temperature)
        assert [action for action, _ in policy] == state.legal_actions()
        assert sum(p for _, p in policy) == pytest.approx(1.0)
    assert agent.step(state) == played
    assert dict(agent.policy(state))[played] == 1.0
    assert agent.soft_policy(0.3) == SoftPolicy(0.3, agent.search.outcome.scale)  # type: ignore[attr-defined]


def test_a_bot_with_a_temperature_draws_what_it_plays() -> None:
    state = TIC_TAC_TOE.new_initial_state()
    drawn: Counter[int] = Counter()
    for seed in range(200):
        bot = AthenanBot(make_agent(seed, iterations=3), 1e6)
        policy, action = bot.step_with_policy(state)
        assert bot.step(state) == action
        assert policy == bot.get_policy(state)
        drawn[action] += 1
    assert len(drawn) == 9
    assert max(drawn.values()) < 60


def test_a_temperature_goes_along() -> None:
    bot = agents.load_bot("alphabeta", TIC_TAC_TOE, 0, {"iterations": 2, "temperature": 0.7})
    for twin in (bot.clone(), bot.for_game(2), pickle.loads(pickle.dumps(bot)), copy.deepcopy(bot)):
        assert twin.temperature == 0.7
        assert twin.agent.decision == bot.agent.decision == bot.agent.soft_policy(0.7)
    assert agents.load_bot("alphabeta", TIC_TAC_TOE, 0, {"iterations": 2}).temperature is None


def test_perfect_play_cannot_be_exploited_and_random_play_can() -> None:
    nim = pyspiel.load_game("nim(pile_sizes=1;2)")
    perfect = BotPolicy(nim, agents.make_bot("alphabeta@50i", nim, 0))
    assert exploitability.exploitability(nim, perfect) == 0.0
    hot = agents.load_bot("alphabeta", nim, 0, {"depth": 1, "temperature": 1e6})
    assert exploitability.exploitability(nim, BotPolicy(nim, hot)) > 0.1


def test_a_bot_without_a_policy_is_none() -> None:
    with pytest.raises(AgentError, match=r"expected a bot with a policy, got .*HumanBot"):
        BotPolicy(TIC_TAC_TOE, agents.make_bot("human", TIC_TAC_TOE, 0))
    with pytest.raises(AgentError, match="bot must be a Bot, got 'random'"):
        BotPolicy(TIC_TAC_TOE, "random")


def test_openspiels_example_of_mcts_plays_our_bots() -> None:
    """It reads flags as it is imported, so it has a process of its own."""
    code = """
import pyspiel, agents
from absl import flags
from open_spiel.python.examples import mcts
flags.FLAGS(["x", "--quiet"])
game = pyspiel.load_game("tic_tac_toe")
bots = [agents.make_bot("alphabeta@9i", game, 0), agents.make_bot("uct:20", game, 1)]
returns, history = mcts._play_game(game, bots, ["x(1,1)"])
assert sum(returns) == 0 and history[0] == "x(1,1)", (returns, history)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Returns:" in done.stdout
