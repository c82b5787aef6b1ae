"""OpenSpiel's own player, in the one setting in which this project measures itself against it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Self

import pyspiel

from athenan_spiel.config.settings import MOST
from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.games import load_game
from athenan_spiel.games.given import require_open_state
from athenan_spiel.play.player import seed_of_match

UCT_CONSTANT = 2.0
"""Exploration constant; this and the next two are those of OpenSpiel's MCTS example in Python."""
ROLLOUTS = 1
"""Random rollouts for each new leaf, so a simulation is one rollout."""
SOLVE = True
"""Proven results are backed up (MCTS-Solver)."""
MEMORY_MB = 1000
"""A tree larger than this loses its least visited parts; a tree lives for one move."""


def mcts_bot(game: pyspiel.Game, simulations: int, seed: int) -> pyspiel.Bot:
    """`pyspiel.MCTSBot` (UCT) with random rollouts and the constants above, for either colour.

    Args:
        simulations: of each move.
        seed: of the choices among equals and of the rollouts.

    Raises:
        ConfigError: `simulations` is less than 1 or more than a billion, or the game rewards on the way or lets players
            move at the same time, which `MCTSBot` cannot play.
    """
    if game.get_type().dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        raise ConfigError(f"mcts needs a game in which one player moves at a time, got {str(game)!r}")
    if game.get_type().reward_model != pyspiel.GameType.RewardModel.TERMINAL:
        raise ConfigError(f"mcts needs a game that rewards at its end only, got {str(game)!r}: take another agent")
    if not 1 <= simulations <= MOST:
        bound = "at least 1" if simulations < 1 else f"at most {MOST:,}"
        raise ConfigError(f"simulations of MCTS must be {bound}, got {shown(simulations)}")
    kind = _MCTSBotOfPythonGames if hasattr(game, "make_py_observer") else MCTSBot
    return kind(game, simulations, seed)


class MCTSBot(pyspiel.MCTSBot):  # type: ignore[misc]
    """`pyspiel.MCTSBot` as `mcts_bot` makes it, which `pickle` takes: what comes back is as new, its seed the same."""

    def __init__(self, game: pyspiel.Game, simulations: int, seed: int) -> None:
        seeds = random.Random(seed)
        evaluator = pyspiel.RandomRolloutEvaluator(ROLLOUTS, seeds.getrandbits(31))
        super().__init__(game, evaluator, UCT_CONSTANT, simulations, MEMORY_MB, SOLVE, seeds.getrandbits(31), False)
        self._game = game
        self._made_of = str(game), simulations, seed

    def __reduce__(self) -> tuple[Callable[[str, int, int], pyspiel.Bot], tuple[str, int, int]]:
        """For `pickle`."""
        return _mcts_bot_for, self._made_of

    def for_match(self, number: int) -> Self:
        """This bot for one match of a series, as `player.MatchPlayer` has it."""
        _, simulations, seed = self._made_of
        return type(self)(self._game, simulations, seed_of_match(seed, number))

    def step(self, state: pyspiel.State) -> int:
        """The action to play in `state`.

        Raises:
            SearchError: no player is to move in it, or it is not of the bot's game: OpenSpiel would crash.
        """
        require_open_state(self._game, state)
        action: int = super().step(state)
        return action

    def step_with_policy(self, state: pyspiel.State) -> tuple[list[tuple[int, float]], int]:
        """The policy in `state`, and the action to play.

        Raises:
            SearchError: as `step`.
        """
        require_open_state(self._game, state)
        answer: tuple[list[tuple[int, float]], int] = super().step_with_policy(state)
        return answer


def _mcts_bot_for(game: str, simulations: int, seed: int) -> pyspiel.Bot:
    return mcts_bot(load_game(game), simulations, seed)


class _MCTSBotOfPythonGames(MCTSBot):
    """The same, for a game written in Python: OpenSpiel 2.0.2's `step` lets go of Python's lock and then crashes."""

    def step(self, state: pyspiel.State) -> int:
        """The action that `step_with_policy` chooses, which is `step`'s and keeps the lock."""
        action: int = self.step_with_policy(state)[1]
        return action
