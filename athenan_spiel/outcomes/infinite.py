"""Infinite terminal function (the article, Remark 18), which approximates completion, for comparison.

A win has the value +∞ and a loss -∞, so no estimate exceeds a proven end, and no proofs are tracked. It replaces
completion:

    UBFM(game, outcome=InfiniteTerminal(), completion=False)

Winning lines may be needlessly long, since all have the same value. In games with draws it proves none. Infinite values
cannot be learned or averaged, so it is for play by minimax searches; other uses raise an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import pyspiel

from athenan_spiel.outcomes import Gain, gain


@dataclass(frozen=True)
class InfiniteTerminal:
    """Terminal value +∞ if player 0 has won, -∞ if player 1 has won, `drawn` for a draw."""

    drawn: Callable[[pyspiel.State], float] = field(default_factory=Gain)
    """Value of a draw; the gain, which is 0, by default."""

    def __call__(self, state: pyspiel.State) -> float:
        """Returns the value of `state`, which is terminal, for player 0."""
        won = gain(state)
        return math.copysign(math.inf, won) if won else float(self.drawn(state))
