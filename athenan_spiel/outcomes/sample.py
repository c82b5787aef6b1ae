"""Random games from the initial state, from which the constants of outcomes are estimated."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

import pyspiel

from athenan_spiel.games.playout import random_moves

SAMPLE_MATCHES = 32
"""Number of random games. The mean length is accurate to about 10 %.

All of them together take about a second in nearly all games.
"""
SAMPLE_SECONDS = 5.0
"""Time limit of the random games, in seconds of this thread. In a large Ludii game a single game may take longer."""


@dataclass(frozen=True)
class Sample:
    """Terminal states of uniformly random games; empty if no game ended."""

    ends: tuple[pyspiel.State, ...]

    @property
    def lengths(self) -> tuple[int, ...]:
        """Number of actions of each game."""
        return tuple(end.move_number() for end in self.ends)

    @property
    def returns(self) -> tuple[float, ...]:
        """Return of player 0 at the end of each game."""
        return tuple(end.player_return(0) for end in self.ends)


def sample_matches(
    game: pyspiel.Game,
    rng: random.Random,
    matches: int = SAMPLE_MATCHES,
    *,
    seconds: float = SAMPLE_SECONDS,
    clock: Callable[[], float] = time.thread_time,
) -> Sample:
    """Plays `matches` uniformly random games, or those that end within `seconds` by `clock`.

    The clock counts the time of this thread, so other work on the machine has no effect.
    """
    ends: list[pyspiel.State] = []
    end = clock() + seconds
    while len(ends) < matches:
        state = game.new_initial_state()
        for _ in random_moves(state, rng.choice):
            if clock() >= end:
                return Sample(tuple(ends))
        ends.append(state)
    return Sample(tuple(ends))
