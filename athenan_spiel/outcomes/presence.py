"""Presence heuristic (the article, Section 6.2.4): the winner's surplus of pieces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyspiel

from athenan_spiel.games.measures import measured, piece_counts, why_not
from athenan_spiel.outcomes.base import Outcome
from athenan_spiel.outcomes.classic import gain


@dataclass(frozen=True)
class Presence(Outcome):
    """Surplus of pieces: max(n_1 - n_2, 1) if player 0 has won, min(n_1 - n_2, -1) if player 1 has won, 0 for a draw.

    n_1 and n_2 are the numbers of pieces of player 0 and player 1, as `games.piece_counts` returns them.
    """

    name: ClassVar[str] = "presence"

    def __call__(self, state: pyspiel.State) -> float:
        """Returns the winner's surplus of pieces, at least 1, with the winner's sign."""
        won = gain(state)
        if not won:
            return 0.0
        first, second = piece_counts(state)
        return float(won * max(won * (first - second), 1))

    @classmethod
    def why_none(cls, game: pyspiel.Game) -> str | None:
        """Returns a reason unless the number of pieces changes in the game."""
        if measured("pieces", game):
            return None
        return (
            f"'presence' needs a game with pieces that leave the board; {why_not('pieces', game)}: use 'additive_depth'"
        )
