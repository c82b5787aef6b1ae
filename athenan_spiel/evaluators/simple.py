"""Evaluators without a network, for tests, for measuring a search alone, and as opponents without knowledge."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.games.playout import playout


class ZeroEvaluator:
    """Returns 0 for every state. Only proofs and terminal values guide the search."""

    def __call__(self, states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        """Returns zeros, float64 [N]."""
        return np.zeros(len(states))


class RolloutEvaluator:
    """Returns the outcome of one random game from each state. History and `seed` determine the game.

    Args:
        outcome: terminal value for player 0.
        seed: random seed, in [0, 2^64).
    """

    def __init__(self, outcome: Callable[[pyspiel.State], float], seed: int) -> None:
        self._outcome = outcome
        self._key = struct.pack("<Q", seed)

    def __call__(self, states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        """Returns values, float64 [N]; in a game with rows [N, n]."""
        return np.array([self._value(state.clone()) for state in states], np.float64)

    def _value(self, state: pyspiel.State) -> Any:
        rng = random.Random(_hash(state.history(), self._key))
        return self._outcome(playout(state, rng.choice))


class UniformRandomEvaluator:
    """Returns a number from [-1, 1) for each state. History and `seed` determine it, in any process.

    Args:
        seed: random seed, in [0, 2^64).
    """

    def __init__(self, seed: int) -> None:
        self._key = struct.pack("<Q", seed)

    def __call__(self, states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        """Returns values, float64 [N]."""
        return np.array([self._value(state.history()) for state in states])

    def _value(self, history: list[int]) -> float:
        return (_hash(history, self._key) >> 11) / 2**52 - 1.0  # 53 bits: every such number is a float64


def _hash(history: Sequence[int], key: bytes) -> int:
    """Returns a 64-bit hash of the history, the same in any process."""
    packed = struct.pack(f"<{len(history)}q", *history)
    return int.from_bytes(blake2b(packed, digest_size=8, key=key).digest(), "little")
