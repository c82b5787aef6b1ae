"""The games that positions come from, by source.

- `random`: both players draw among their legal actions.
- `mcts`: OpenSpiel's MCTS with 50 simulations per move plays the same with 200; colours are drawn.
- `self-play`: an agent of this library, trained by the preset `quick` with the seed of the set for a number of games
  defined per game, plays both sides with 20 iterations per move (UBFM over several lines). One of eight actions, on
  average, is random, to create different games. Everything is computed in float32, values by one thread. Another
  processor or version of the library may change the last bits of values, and so the games.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from pathlib import Path

import pyspiel

import athenan_spiel as ath
from athenan_spiel.play.openspiel_mcts import mcts_bot
from solved.games import SolvedGame

SIMULATIONS = (50, 200)
ITERATIONS = 20
SEARCH = "ubfm_k"
DRAWN = 1 / 8
"""Fraction of random actions in self-play."""
ENGINE = ath.EngineConfig(precision="float32", threads=1)

Choose = Callable[[pyspiel.State], int]
"""Chooses the actions of all players in one game."""
Begin = Callable[[random.Random], Choose]
"""Starts a game whose randomness comes from the argument."""


def begin_of(source: str, game: SolvedGame, seed: int, folder: Path) -> Begin:
    """Returns a function that starts games of a source; for `self-play`, trains in the folder first."""
    if source == "random":
        return _begin_random
    return _mcts(game) if source == "mcts" else _self_play(_train(game, seed, folder))


def play(game: pyspiel.Game, choose: Choose, plies: int) -> pyspiel.State | None:
    """Returns the state after `plies` of a game; None if the game is over by then."""
    state = game.new_initial_state()
    while state.move_number() < plies:
        state.apply_action(choose(state))
        if state.is_terminal():
            return None
    return state


def _begin_random(rng: random.Random) -> Choose:
    return lambda state: rng.choice(state.legal_actions())


def _mcts(game: SolvedGame) -> Begin:
    loaded = game.load()

    def begin(rng: random.Random) -> Choose:
        simulations = rng.sample(SIMULATIONS, 2)
        bots = [mcts_bot(loaded, count, rng.getrandbits(31)) for count in simulations]
        return lambda state: int(bots[state.current_player()].step(state))

    return begin


def _train(game: SolvedGame, seed: int, folder: Path) -> Path:
    quick = ath.preset("quick")
    learner = ath.LearnerConfig(batch_size=256, l2=1e-5, precision="float32")  # that of `quick` when they were made
    config = dataclasses.replace(
        quick, seconds=None, matches=game.training_matches, seed=seed, learner=learner, engine=ENGINE
    )
    return ath.train(game.load(), config, folder).folder


def _self_play(run: Path) -> Begin:
    agent = ath.load_agent(run, budget=ath.Budget(iterations=ITERATIONS), search=SEARCH, seed=0)

    def begin(rng: random.Random) -> Choose:
        agent.restart()

        def choose(state: pyspiel.State) -> int:
            return rng.choice(state.legal_actions()) if rng.random() < DRAWN else agent.step(state)

        return choose

    return begin
