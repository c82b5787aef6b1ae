"""Expected scores: what a value means for a reader.

The expected score of a player is 1 for a certain win, 0 for a certain loss and 1/2 for a draw. In a game with rows
(`games.rows`) it is the position of the expected return between the worst and the best possible one. A calibration maps
values, which are in units of an outcome, to expected scores. `outcomes.calibration` fits it to the games of a run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

MIN_ESTIMATE = 0.001
"""Smallest expected score of an estimate; only a proven result has the score 0 or 1."""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Mapping from the value of a state to an expected score.

    Attributes:
        slope: steepness of the logistic mapping 1 / (1 + exp(-(intercept + slope * value))), per unit of value; None
            if values are gains and the mapping is linear.
        intercept: the logit of the expected score of the value 0.
        lowest, highest: gains with the scores 0 and 1. A linear mapping also uses them for values.
        draws: share of draws among games with an expected score of 1/2.
    """

    slope: float | None = None
    intercept: float = 0.0
    lowest: float = -1.0
    highest: float = 1.0
    draws: float = 0.0

    def expected_score(self, value: float) -> float:
        """Returns the expected score of the player whose value it is, in [`MIN_ESTIMATE`, 1 - `MIN_ESTIMATE`]."""
        if self.slope is None:
            score = self.score_of_gain(value)
        else:
            logit = self.intercept + self.slope * value
            score = 1 / (1 + math.exp(-logit)) if logit > -700 else 0.0
        return min(1 - MIN_ESTIMATE, max(MIN_ESTIMATE, score))

    def score_of_gain(self, gain: float) -> float:
        """Returns the score of a gain, such as a proven one: its position between `lowest` and `highest`, in [0, 1]."""
        return min(1.0, max(0.0, (gain - self.lowest) / (self.highest - self.lowest)))

    def draw_share(self, score: float) -> float:
        """Returns the estimated probability of a draw at an expected score; at most 2 min(score, 1 - score)."""
        return min(self.draws * 4 * score * (1 - score), 2 * score, 2 * (1 - score))


GAINS = Calibration()
"""Mapping for values that are gains in a zero-sum game for two players."""
