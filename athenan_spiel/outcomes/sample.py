"""Playouts from the initial state, from which the constants of outcomes are estimated."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

import pyspiel

from athenan_spiel.games.playout import random_moves

SAMPLE_MATCHES = 32
"""Random matches from which lengths are estimated: enough for a mean within some 10 %, a second's work
in nearly all games."""
SAMPLE_SECONDS = 5.0
"""Time of this thread that they are given. In a large game of Ludii's a single match may take longer."""


@dataclass(frozen=True)
class Sample:
    """What a number of uniformly random matches showed of a game: their terminal states; none where no match ended."""

    ends: tuple[pyspiel.State, ...]

    @property
    def lengths(self) -> tuple[int, ...]:
        """The number of actions of each match."""
        return tuple(end.move_number() for end in self.ends)

    @property
    def returns(self) -> tuple[float, ...]:
        """What `returns()` gave player 0 at the end of each match."""
        return tuple(end.player_return(0) for end in self.ends)


def sample_matches(
    game: pyspiel.Game,
    rng: random.Random,
    matches: int = SAMPLE_MATCHES,
    *,
    seconds: float = SAMPLE_SECONDS,
    clock: Callable[[], float] = time.thread_time,
) -> Sample:
    """Play `matches` uniformly random matches, or those that end within `seconds` by `clock`.

    That is time of this thread, so what else the machine does changes nothing.
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
