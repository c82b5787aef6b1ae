"""The infinite terminal function (the article, Remark 18), which approximates completion, for comparison.

A won match is worth +∞ and a lost one -∞, so that no estimate outweighs a proven end, without any bookkeeping of
proofs. It is used in place of completion:

    UBFM(game, outcome=InfiniteTerminal(), completion=False)

Won lines may be needlessly long, as all are worth the same, and where there are draws it proves none. Infinite values
cannot be learned or averaged: it is for play by minimax searches, and refused elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import pyspiel

from athenan_spiel.outcomes import Gain, gain


@dataclass(frozen=True)
class InfiniteTerminal:
    """+∞ for a match that player 0 has won, -∞ for one that player 1 has, `drawn` for a draw."""

    drawn: Callable[[pyspiel.State], float] = field(default_factory=Gain)
    """The worth of a draw; the gain, which is 0, by default."""

    def __call__(self, state: pyspiel.State) -> float:
        """The worth of `state`, which is terminal, for player 0."""
        won = gain(state)
        return math.copysign(math.inf, won) if won else float(self.drawn(state))
