"""Evaluators that know nothing, little, everything, or lie: what a proof must not depend on.

Each is a function of the state alone, so it can be asked twice; none may be asked about a finished match.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from hashlib import blake2b

import numpy as np
import pyspiel
from numpy.typing import NDArray

from oracles.brute_force import BruteForce

Evaluator = Callable[[Sequence[pyspiel.State]], NDArray[np.float64]]
HUGE = 1e300


def _valued(value: Callable[[pyspiel.State], float]) -> Evaluator:
    def evaluate(states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        assert states, "an empty question"
        assert not any(state.is_terminal() for state in states), "a terminal state was asked about"
        return np.array([value(state) for state in states])

    return evaluate


def _noise(state: pyspiel.State, seed: int) -> float:
    """A number in (-1, 1) drawn from the position and the seed."""
    return _drawn(f"{seed} {state.current_player()} {state}")


def _drawn(text: str) -> float:
    return (int.from_bytes(blake2b(text.encode(), digest_size=6).digest(), "big") + 0.5) / 2**47 - 1


def noise(seed: int) -> Evaluator:
    """A random number in (-1, 1) for each position."""
    return _valued(lambda state: _noise(state, seed))


def noise_by_history(seed: int) -> Evaluator:
    """A random number in (-1, 1) for each way to a position."""
    return _valued(lambda state: _drawn(f"{seed} {state.history()}"))


def coarse(seed: int) -> Evaluator:
    """-1/2, 0 or 1/2 at random: many ties."""
    return _valued(lambda state: round(1.5 * _noise(state, seed)) / 2)


def huge(seed: int) -> Evaluator:
    """Numbers far beyond any worth of a match."""
    return _valued(lambda state: HUGE * _noise(state, seed))


def constant(value: float) -> Evaluator:
    """The same for all states."""
    return _valued(lambda state: value)


def truth(oracle: BruteForce) -> Evaluator:
    """The minimax value itself."""
    return _valued(oracle.value)


def lie(oracle: BruteForce) -> Evaluator:
    """The opposite of the minimax value: every won state looks lost."""
    return _valued(lambda state: -oracle.value(state))


def movers_view(oracle: BruteForce) -> Evaluator:
    """The minimax value as the mover would see it: what an evaluator that mistakes the convention says."""
    return _valued(lambda state: oracle.value(state) if state.current_player() == 0 else -oracle.value(state))


def playouts(count: int, seed: int) -> Evaluator:
    """The mean gain of `count` random matches from the state: a fair guess at any game."""

    def value(state: pyspiel.State) -> float:
        rng = random.Random(f"{seed} {state}")
        total = 0.0
        for _ in range(count):
            playout = state.clone()
            while not playout.is_terminal():
                playout.apply_action(rng.choice(playout.legal_actions()))
            total += playout.player_return(0)
        return total / count

    return _valued(value)


LIARS: dict[str, Callable[[BruteForce], Evaluator]] = {
    "zero": lambda oracle: constant(0.0),
    "all won": lambda oracle: constant(1.0),
    "all lost": lambda oracle: constant(-1.0),
    "lie": lie,
    "movers_view": movers_view,
    "huge": lambda oracle: huge(0),
    "coarse": lambda oracle: coarse(0),
}
"""Evaluators to mislead a search, each made for the game that an oracle knows."""


class Counting:
    """An evaluator that keeps the questions put to another one."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self.asked: list[int] = []

    def __call__(self, states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        self.asked.append(len(states))
        return self._evaluator(states)
