"""The gain, b_t of the papers: win, draw or loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyspiel

from athenan_spiel.errors import SearchError, shown
from athenan_spiel.outcomes.base import Outcome


def gain(state: pyspiel.State) -> int:
    """Returns the gain b_t(s): 1 if player 0 has won, -1 if player 1 has won, 0 for a draw.

    A game for one player is neither won nor lost, so its gain is 0. Completion then proves no win, and resolves a state
    once all its children are resolved (Remark 30).

    Args:
        state: terminal state.

    Raises:
        SearchError: `state` is not a state.
    """
    try:
        if state.num_players() == 1:
            return 0
        returned: float = state.player_return(0)
    except AttributeError:
        if hasattr(state, "player_return"):
            raise  # a fault of the game
        raise SearchError(f"expected a terminal state, got {shown(state)}") from None
    return (returned > 0) - (returned < 0)


@dataclass(frozen=True)
class Gain(Outcome):
    """Classical terminal evaluation: the gain."""

    name: ClassVar[str] = "gain"

    def __call__(self, state: pyspiel.State) -> float:
        """Returns 1, 0 or -1."""
        return float(gain(state))


@dataclass(frozen=True)
class ScaledGain(Outcome):
    """Gain times the scale of an outcome whose code is not available.

    A network trained with that outcome estimates values of this size, so terminal values and estimates stay comparable.
    """

    def __call__(self, state: pyspiel.State) -> float:
        """Returns the scale, 0 or minus the scale."""
        return self.scale * gain(state)
