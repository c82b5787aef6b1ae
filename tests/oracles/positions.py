"""Positions near the end of a match, late enough to be solved by brute force."""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass

import pyspiel

from oracles.brute_force import BruteForce, TooManyPositionsError, load, same_history


@dataclass(frozen=True, eq=False)
class LatePosition:
    """A state, and the oracle that has valued every history from there to the end, merging none."""

    state: pyspiel.State
    oracle: BruteForce

    @property
    def interest(self) -> tuple[int, int]:
        """How much a search can get wrong here: different results there are, and histories to the end."""
        return len(self.oracle.values_seen), self.oracle.positions


@functools.cache
def late_position(spec: str, seed: int, *, max_histories: int, matches: int) -> LatePosition:
    """Position of most interest in some random games, with at most `max_histories` histories below it.

    Tests share it, so they must not change its state.
    """
    game = load(spec)
    rng = random.Random(seed)
    return max((_earliest(game, rng, max_histories) for _ in range(matches)), key=lambda found: found.interest)


def _earliest(game: pyspiel.Game, rng: random.Random, max_histories: int) -> LatePosition:
    """The earliest position of a random match that is late enough; a match without any is played again."""
    state = game.new_initial_state()
    played = []
    while not state.is_terminal():
        played.append(state.clone())
        state.apply_action(rng.choice(state.legal_actions()))
    found = None
    while played:
        position = played.pop()
        oracle = BruteForce(key=same_history, max_positions=max_histories)
        try:
            oracle.value(position)
        except (TooManyPositionsError, RecursionError):
            break
        found = LatePosition(position, oracle)
    return found or _earliest(game, rng, max_histories)
