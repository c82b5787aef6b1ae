"""The score heuristic (the article, Section 6.2.1): by how much a match was won."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import pyspiel

from athenan_spiel.errors import ConfigError
from athenan_spiel.games.extensions import measures_itself
from athenan_spiel.games.measures import measured, score, why_not
from athenan_spiel.outcomes.base import SETTING, Outcome
from athenan_spiel.outcomes.classic import gain
from athenan_spiel.outcomes.sample import Sample

LEAST_MARGIN = 0.5
"""Of a won match: half a point, the least by which Go is won. Some matches are won without being ahead: in Amazons by
the last move on the last square."""


@dataclass(frozen=True)
class Score(Outcome):
    """The score of the match (Section 6.2.1).

    Where the rules' count is known (`counted`), the margin s_1 - s_2, but at least 1/2 if player 0 has won, at most
    -1/2 if player 1 has, and 0 for a draw, so Definition 21 holds also where points do not decide: Go on a position
    that recurs is a draw whatever the area. Else what `returns()` gives player 0, which for one player is the sum of
    the rewards.
    """

    name: ClassVar[str] = "score"
    counted: bool = False

    def __call__(self, state: pyspiel.State) -> float:
        """The margin, or the return of player 0."""
        if not self.counted:
            return float(state.player_return(0))
        won = gain(state)
        if not won:
            return 0.0
        first, second = score(state)
        return won * max(LEAST_MARGIN, won * (first - second))

    @classmethod
    def why_none(cls, game: pyspiel.Game) -> str | None:
        """There must be a count by the rules, or returns that may carry one.

        A game for two players that brings its own measures would bring that of a score.
        """
        told = measured("score", game) or game.num_players() == 1 or not measures_itself(game)
        return None if told else _no_score(game)

    @classmethod
    def for_game(cls, game: pyspiel.Game, sample: Sample) -> Self:
        """The score by the rules' count if it is known, else by the returns if those of the sample carry one."""
        counted = measured("score", game)
        carried = (
            game.num_players() == 1 or not sample.ends or any(abs(worth) not in (0.0, 1.0) for worth in sample.returns)
        )
        if not counted and not carried:
            raise ConfigError.at(SETTING, _no_score(game))
        return cls(counted=counted).scaled(sample)


def _no_score(game: pyspiel.Game) -> str:
    others = "" if measures_itself(game) else ", and any whose returns() carry one"
    return f"'score' needs a game with a score; {why_not('score', game)}{others}: take 'additive_depth'"
