"""Score heuristic (the article, Section 6.2.1): the margin of a win."""

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

MIN_MARGIN_POINTS = 0.5
"""Minimum margin of a win, in points: the smallest winning margin in Go.

Some games are won without a lead: Amazons by the last move on the last square.
"""


@dataclass(frozen=True)
class Score(Outcome):
    """Score of a game (Section 6.2.1).

    If the rules' count is known (`counted`), the value is the margin s_1 - s_2, but at least 1/2 if player 0 has won,
    at most -1/2 if player 1 has won, and 0 for a draw. Definition 21 therefore holds also if points do not decide: a Go
    game that ends by a repeated position is a draw whatever the area. Otherwise the value is the return of player 0,
    which for one player is the sum of the rewards.
    """

    name: ClassVar[str] = "score"
    counted: bool = False

    def __call__(self, state: pyspiel.State) -> float:
        """Returns the margin, or the return of player 0."""
        if not self.counted:
            return float(state.player_return(0))
        won = gain(state)
        if not won:
            return 0.0
        first, second = score(state)
        return won * max(MIN_MARGIN_POINTS, won * (first - second))

    @classmethod
    def why_none(cls, game: pyspiel.Game) -> str | None:
        """Returns a reason unless there is a count by the rules, or returns that may carry a score.

        A game for two players with its own measures would include that of a score.
        """
        told = measured("score", game) or game.num_players() == 1 or not measures_itself(game)
        return None if told else _no_score(game)

    @classmethod
    def for_game(cls, game: pyspiel.Game, sample: Sample) -> Self:
        """Returns the score by the rules' count if it is known, else by the returns if those of the sample carry a
        score."""
        counted = measured("score", game)
        carried = (
            game.num_players() == 1 or not sample.ends or any(abs(worth) not in (0.0, 1.0) for worth in sample.returns)
        )
        if not counted and not carried:
            raise ConfigError.at(SETTING, _no_score(game))
        return cls(counted=counted).scaled(sample)


def _no_score(game: pyspiel.Game) -> str:
    others = "" if measures_itself(game) else ", and any whose returns() carry one"
    return f"'score' needs a game with a score; {why_not('score', game)}{others}: use 'additive_depth'"
