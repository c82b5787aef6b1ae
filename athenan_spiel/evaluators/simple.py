"""Evaluators without a network: for tests, for measuring a search alone, and as opponents that know nothing."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import pyspiel
from numpy.typing import NDArray


class ZeroEvaluator:
    """Values every state 0: only what the search proves or sees at a match's end counts."""

    def __call__(self, states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        """Zeros, float64 [N]."""
        return np.zeros(len(states))


class UniformRandomEvaluator:
    """Values a state by a number from [-1, 1) that its history and `seed` alone decide, in any process.

    Args:
        seed: in [0, 2^64).
    """

    def __init__(self, seed: int) -> None:
        self._key = struct.pack("<Q", seed)

    def __call__(self, states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        """Values float64 [N]."""
        return np.array([self._value(state.history()) for state in states])

    def _value(self, history: list[int]) -> float:
        packed = struct.pack(f"<{len(history)}q", *history)
        bits = int.from_bytes(blake2b(packed, digest_size=8, key=self._key).digest(), "little")
        return (bits >> 11) / 2**52 - 1.0  # 53 bits: every such number is a float64
