"""The gain, b_t of the papers: who has won, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyspiel

from athenan_spiel.outcomes.base import Outcome


def gain(state: pyspiel.State) -> int:
    """b_t(s) of the papers: 1 if player 0 has won the finished match, -1 if player 1 has, 0 for a draw."""
    worth: float = state.player_return(0)
    return (worth > 0) - (worth < 0)


@dataclass(frozen=True)
class Gain(Outcome):
    """The classical terminal evaluation, 1, 0 or -1."""

    name: ClassVar[str] = "gain"

    def __call__(self, state: pyspiel.State) -> float:
        """1, 0 or -1."""
        return float(gain(state))
