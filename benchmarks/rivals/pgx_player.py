"""Plays by the Gumbel AlphaZero of `pgx_gumbel.py`: one search per position, and its best action.

mctx compiles the number of simulations into the search. When a time per move is set, the number that fits is measured.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import pgx_games
import pgx_network
import pgx_search
from pgx_gumbel import WEIGHTS

MOST = 4096
"""Maximum number of simulations for a time per move."""
SHARE = 0.85
"""Fraction of the time per move that the search uses; the rest is for other work and slower positions."""
TRIALS = 5


class Player:
    """Plays by the weights in a folder.

    Args:
        folder: folder of the training.
        game: OpenSpiel game string.
        simulations: simulations per search until a time is set.
        seed: seed of the search. It has little effect, as Gumbel noise is off.

    Attributes:
        simulations: simulations per search.

    Raises:
        OSError, ValueError: the folder has no weights of a network for this game.
    """

    def __init__(self, folder: Path, game: str, simulations: int, seed: int) -> None:
        self._env = pgx_games.load(game)
        self._init, self._step = jax.jit(self._env.init), jax.jit(self._env.step)
        self._start = self._init(jax.random.PRNGKey(0))
        shape, actions = self._start.observation.shape, self._start.legal_action_mask.shape[0]
        self._weights = pgx_network.load(folder / WEIGHTS, shape, actions)
        self._key = jax.random.PRNGKey(seed)
        self._seconds = 0.0
        self._compile(simulations)
        self.choose([int(jnp.argmax(self._start.legal_action_mask))])  # also compiles the rules

    def set_seconds(self, seconds: float) -> None:
        """Sets the approximate time per move."""
        if seconds == self._seconds:
            return
        self._seconds = seconds
        for _ in range(2):  # the cost of a simulation depends a little on their number
            count = int(self.simulations * SHARE * seconds / self._measured())
            self._compile(min(MOST, max(1, count)))
        self.choose([])

    def choose(self, history: list[int]) -> int:
        """Returns the action to play after the actions in `history`."""
        state = self._start
        for action in history:
            state = self._step(state, jnp.int32(action))
        self._key, drawn = jax.random.split(self._key)
        states = jax.tree.map(lambda x: x[None], state)
        return int(self._search(self._weights, states, drawn).action[0])

    def _compile(self, simulations: int) -> None:
        self.simulations = simulations
        self._search: Any = jax.jit(pgx_search.searcher(self._env, simulations, gumbel_scale=0.0))

    def _measured(self) -> float:
        """Returns the seconds of a search from the first position, the slowest of several."""
        self.choose([])
        seconds = 0.0
        for _ in range(TRIALS):
            start = time.perf_counter()
            self.choose([])
            seconds = max(seconds, time.perf_counter() - start)
        return seconds
