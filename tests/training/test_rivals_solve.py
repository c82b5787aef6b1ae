"""AlphaZero and Gumbel AlphaZero learn games that are small enough to be looked through: they keep what they have."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Hashable
from pathlib import Path

import pyspiel
import pytest

from athenan_spiel.config import ReplayConfig
from athenan_spiel.games.transpositions import key_function
from athenan_spiel.play.agent import Agent
from athenan_spiel.search import Budget
from athenan_spiel.training import load_agent, preset, train

MATCHES = 600
THOUGHT = Budget(iterations=200)
CONNECT_FOUR_4 = "connect_four(rows=4,columns=4)"
rivals = pytest.mark.parametrize("name", ["alphazero", "gumbel"])


def trained(spec: str, name: str, folder: Path) -> Agent:
    """By the preset, but for a small network that learns more of each match, in float32.

    On a processor with matrix units for bfloat16 the preset learns in bfloat16. Three of three such trainings made a
    mistake, and so did two of two with 1,500 matches; in float32 none of three did. Rounding decides, too: on an AMD
    EPYC without these units, three of nine trainings with the seeds 0 to 2 made none, and with seed 0 one of three.
    """
    rival = preset(name)
    config = dataclasses.replace(
        rival,
        seconds=None,
        matches=MATCHES,
        matches_at_once=16,
        network=dataclasses.replace(rival.network, filters=16, neurons=32),
        replay=ReplayConfig(matches=500, duplication=8.0),
        learner=dataclasses.replace(rival.learner, batch_size=64, learning_rate=2e-3, precision="float32"),
    )
    return load_agent(train(spec, config, folder).folder, budget=THOUGHT, seed=0)


class Solver:
    """The worth of every state for player 0, by looking through the game."""

    def __init__(self, game: pyspiel.Game) -> None:
        self._key = key_function(game)
        self._known: dict[Hashable, float] = {}

    def __call__(self, state: pyspiel.State) -> float:
        if state.is_terminal():
            return float(state.returns()[0])
        key = self._key(state)
        if key not in self._known:
            best: Callable[[list[float]], float] = max if state.current_player() == 0 else min
            self._known[key] = best([self(state.child(action)) for action in state.legal_actions()])
        return self._known[key]

    def keeps(self, state: pyspiel.State, action: int) -> bool:
        return self(state.child(action)) == self(state)


@pytest.mark.slow("trains 600 matches")
@rivals
def test_tic_tac_toe_is_not_lost_whatever_is_replied(name: str, tmp_path: Path) -> None:
    game = pyspiel.load_game("tic_tac_toe")
    agent, solver = trained("tic_tac_toe", name, tmp_path / "run"), Solver(game)
    for colour in (0, 1):
        seen, stack = set(), [game.new_initial_state()]
        while stack:
            state = stack.pop()
            if state.is_terminal():
                assert state.returns()[colour] >= 0, str(state)
            elif state.current_player() != colour:
                stack.extend(state.child(action) for action in state.legal_actions())
            elif str(state) not in seen:
                seen.add(str(state))
                agent.restart()
                action = agent.step(state)
                assert solver.keeps(state, action), f"{state}\n{action}"
                stack.append(state.child(action))


@pytest.mark.slow("trains 600 matches")
def test_connect_four_of_four_by_four_is_not_lost(tmp_path: Path) -> None:
    """Against a player who never makes a mistake, and against one who plays at random every other move."""
    game = pyspiel.load_game(CONNECT_FOUR_4)
    agent, solver, rng = trained(CONNECT_FOUR_4, "alphazero", tmp_path / "run"), Solver(game), random.Random(0)
    assert solver(game.new_initial_state()) == 0
    for match in range(60):
        state, colour, mistakes = game.new_initial_state(), match % 2, match // 2 % 2 / 2
        agent.restart()
        while not state.is_terminal():
            if state.current_player() == colour:
                action = agent.step(state)
            else:
                legal = state.legal_actions()
                kept = [a for a in legal if rng.random() < mistakes or solver.keeps(state, a)]
                action = rng.choice(kept or legal)
            state.apply_action(action)
        assert state.returns()[colour] >= 0, f"{state.history()}"
