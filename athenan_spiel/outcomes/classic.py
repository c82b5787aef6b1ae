"""The gain, b_t of the papers: who has won, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyspiel

from athenan_spiel.errors import SearchError, shown
from athenan_spiel.outcomes.base import Outcome


def gain(state: pyspiel.State) -> int:
    """b_t(s) of the papers: 1 if player 0 has won the finished match, -1 if player 1 has, 0 for a draw.

    A match of one player is neither won nor lost, so its gain is 0: completion then proves no win, and resolves a
    state once all its children are (Remark 30).

    Args:
        state: terminal.

    Raises:
        SearchError: `state` is no state.
    """
    try:
        if state.num_players() == 1:
            return 0
        worth: float = state.player_return(0)
    except AttributeError:
        if hasattr(state, "player_return"):
            raise  # a fault of the game
        raise SearchError(f"expected a finished match, a state, got {shown(state)}") from None
    return (worth > 0) - (worth < 0)


@dataclass(frozen=True)
class Gain(Outcome):
    """The classical terminal evaluation, 1, 0 or -1."""

    name: ClassVar[str] = "gain"

    def __call__(self, state: pyspiel.State) -> float:
        """1, 0 or -1."""
        return float(gain(state))


@dataclass(frozen=True)
class ScaledGain(Outcome):
    """The gain times the scale of an outcome that is not at hand, whose large values are of that size.

    A network was trained on values of that size, so ends and estimates stay comparable.
    """

    def __call__(self, state: pyspiel.State) -> float:
        """The scale, 0 or minus the scale."""
        return self.scale * gain(state)
