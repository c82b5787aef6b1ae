"""The score heuristic (the article, Section 6.2.1): by how much a match was won."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import pyspiel

from athenan_spiel.errors import ConfigError
from athenan_spiel.outcomes.base import Outcome
from athenan_spiel.outcomes.sample import Sample


@dataclass(frozen=True)
class Score(Outcome):
    """The score of the match (Section 6.2.1), for games whose `returns()` carry more than who has won."""

    name: ClassVar[str] = "score"

    def __call__(self, state: pyspiel.State) -> float:
        """What `returns()` gives player 0."""
        return float(state.player_return(0))

    @classmethod
    def for_game(cls, game: pyspiel.Game, sample: Sample) -> Self:
        """The score, if the returns of the sample carry one."""
        if not any(abs(worth) not in (0.0, 1.0) for worth in sample.returns):
            raise ConfigError(
                f"outcome 'score' needs a game whose returns() carry a score; those of {str(game)!r} only say who has "
                "won: take 'additive_depth'"
            )
        return cls(scale=max(map(abs, sample.returns)))
