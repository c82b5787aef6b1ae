"""Random matches: what is known of a game before anything is learned of it."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pyspiel

SAMPLE_MATCHES = 32
"""Random matches from which lengths are estimated: enough for a mean within some 10 %, a second's work at most."""


@dataclass(frozen=True)
class Sample:
    """What a number of uniformly random matches showed of a game: their terminal states."""

    ends: tuple[pyspiel.State, ...]

    @property
    def lengths(self) -> tuple[int, ...]:
        """The number of actions of each match."""
        return tuple(end.move_number() for end in self.ends)

    @property
    def returns(self) -> tuple[float, ...]:
        """What `returns()` gave player 0 at the end of each match."""
        return tuple(end.player_return(0) for end in self.ends)


def sample_matches(game: pyspiel.Game, rng: random.Random, matches: int = SAMPLE_MATCHES) -> Sample:
    """Play `matches` uniformly random matches."""
    ends = []
    for _ in range(matches):
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(rng.choice(state.legal_actions()))
        ends.append(state)
    return Sample(tuple(ends))
