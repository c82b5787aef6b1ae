"""Calibration of values by the games of a run (Platt scaling, 1999), and its reliability.

Each position that a search valued without proving it is a pair of its value and the score that its game ended with.
Pairs are counted in bins by value. A logistic function of the value is fitted to the bins by maximum likelihood, with a
prior that counts like `PRIOR_POSITIONS` positions. Before a game is counted, its scores are predicted. Bins by
predicted score compare the predictions with the results (the reliability diagram). Older games count less and less,
since they were played by older networks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.errors import shown
from athenan_spiel.games.calibration import GAINS, Calibration
from athenan_spiel.games.rows import ZERO_SUM, rows_of
from athenan_spiel.outcomes import Gain, Outcome

VALUE_BINS = 20
"""Number of bins of equal width for values in [-scale, scale]; larger values are counted in the outermost bins."""
SCORE_BINS = 10
"""Number of bins of equal width for predicted scores in [0, 1]."""
KEPT_PER_GAME = 0.998
"""Factor by which a game reduces the weight of earlier games: 500 games ago, a position counts about 0.37."""
PRIOR_SLOPE = 3.0
"""Slope before any game, per scale: a value of half the scale has an expected score of 82 %."""
PRIOR_POSITIONS = 50.0
"""Weight of the prior, in positions."""
MIN_SLOPE = 0.05
"""Minimum slope, per scale: a larger value never has a smaller expected score."""
MAX_INTERCEPT = 50.0
"""Bound of the intercept where it is found for `MIN_SLOPE`."""
MAX_SCALES = 100.0
"""Maximum absolute value that is counted, in scales, so that sums stay finite whatever a network returns."""
MIN_BIN_POSITIONS = 20
"""Minimum weight, in positions, of a point of the reliability diagram."""
MAX_NEWTON_STEPS = 30
"""Maximum number of steps of a fit."""
MIN_STEP = 1e-5
"""Step of the intercept and the slope below which the fit has converged."""


@dataclass(frozen=True, eq=False)
class CalibrationTally:
    """Positions of a run by value and by predicted score. Immutable.

    Attributes:
        by_value: float64 [VALUE_BINS, 4]: number of positions, sum of their values, sum of their scores, and number of
            positions whose game was drawn.
        by_score: float64 [SCORE_BINS, 3]: number of positions, sum of their predicted scores, sum of their scores.
    """

    by_value: NDArray[np.float64] = field(default_factory=lambda: np.zeros((VALUE_BINS, 4)))
    by_score: NDArray[np.float64] = field(default_factory=lambda: np.zeros((SCORE_BINS, 3)))

    def __eq__(self, other: object) -> bool:
        """Returns whether both have the same sums."""
        return isinstance(other, CalibrationTally) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def add(
        self, game: pyspiel.Game, outcome: Outcome, values: NDArray[np.float32], returns: Sequence[float]
    ) -> CalibrationTally:
        """Returns the tally with one more game.

        Args:
            values: values of positions that were not proven: [n] for player 0, or [n, players] in a game with rows.
            returns: `state.returns()` of the end.
        """
        if game.num_players() == 1 or not values.size:
            return self
        calibration = self.fit(game, outcome)
        scores = np.array([_score(game, calibration, returns, player) for player in range(values[0].size)])
        scores = np.broadcast_to(scores, (len(values), len(scores))).ravel()
        most = MAX_SCALES * outcome.scale
        flat = np.clip(np.nan_to_num(values.astype(np.float64).ravel()), -most, most)
        is_draw = float(len(set(returns)) == 1)
        counts = np.stack([np.ones_like(flat), flat, scores, np.full_like(flat, is_draw)], axis=1)
        predicted = np.array([calibration.expected_score(value) for value in flat])
        compared = np.stack([np.ones_like(flat), predicted, scores], axis=1)
        by_value, by_score = KEPT_PER_GAME * self.by_value, KEPT_PER_GAME * self.by_score
        np.add.at(by_value, _bins((flat / outcome.scale + 1) / 2, VALUE_BINS), counts)
        np.add.at(by_score, _bins(predicted, SCORE_BINS), compared)
        return replace(self, by_value=by_value, by_score=by_score)

    def fit(self, game: pyspiel.Game, outcome: Outcome) -> Calibration:
        """Returns the mapping for the values of `outcome`: linear for the plain gain, else fitted to the positions."""
        default = default_calibration(game, outcome)
        counts, _, scores, drawn = self.by_value.T
        if not counts.any():
            return default
        with np.errstate(invalid="ignore"):
            even = 4 * scores / counts * (1 - scores / counts)
        draws = drawn.sum() / max(1e-9, float(np.nansum(counts * even)), float(drawn.sum()))
        default = replace(default, draws=float(draws))
        if default.slope is None:
            return default
        intercept, slope = self._logistic(outcome.scale, default.intercept)
        return replace(default, slope=slope / outcome.scale, intercept=intercept)

    def _logistic(self, scale: float, start: float) -> tuple[float, float]:
        """Returns intercept and slope, per scale, that maximise the likelihood of the positions and the prior.

        Args:
            start: intercept of the prior.
        """
        prior = [(x, 1 / (1 + math.exp(-start - PRIOR_SLOPE * x))) for x in (-0.5, 0.5)]
        bins = [(PRIOR_POSITIONS / 2, x, y) for x, y in prior]
        bins += [(n, values / n / scale, scores / n) for n, values, scores, _ in self.by_value.tolist() if n > 1e-9]

        def loss(intercept: float, slope: float) -> float:
            logits = [(n, intercept + slope * x, y) for n, x, y in bins]
            return sum(n * (max(z, 0.0) + math.log1p(math.exp(-abs(z))) - y * z) for n, z, y in logits)

        intercept, slope = start, PRIOR_SLOPE
        now = loss(intercept, slope)
        for _ in range(MAX_NEWTON_STEPS):  # Newton's method on a convex function of two numbers
            a = b = c = u = v = 0.0
            for n, x, y in bins:
                p = 0.5 + 0.5 * math.tanh(0.5 * (intercept + slope * x))
                curvature, gradient = n * p * (1 - p), n * (y - p)
                a, b, c = a + curvature, b + curvature * x, c + curvature * x * x
                u, v = u + gradient, v + gradient * x
            determinant = a * c - b * b
            if determinant < 1e-12:
                break
            step = ((c * u - b * v) / determinant, (a * v - b * u) / determinant)
            while (found := loss(intercept + step[0], slope + step[1])) > now and max(map(abs, step)) > MIN_STEP:
                step = step[0] / 2, step[1] / 2
            if found > now or max(map(abs, step)) <= MIN_STEP:
                break
            intercept, slope, now = intercept + step[0], slope + step[1], found
        if slope >= MIN_SLOPE:
            return intercept, slope
        from scipy.optimize import brentq

        total = sum(n * y for n, _, y in bins)  # the mean prediction is the mean score at the best intercept

        def excess(intercept: float) -> float:
            return sum(n / (1 + math.exp(-intercept - MIN_SLOPE * x)) for n, x, _ in bins) - total

        return float(brentq(excess, -MAX_INTERCEPT, MAX_INTERCEPT)), MIN_SLOPE

    def reliability(self) -> list[tuple[float, float, float]]:
        """Returns the mean predicted score, the mean score and the weight in positions of each bin with enough."""
        return [(float(p / n), float(s / n), float(n)) for n, p, s in self.by_score if n >= MIN_BIN_POSITIONS]

    def to_json(self) -> dict[str, list[list[float]]]:
        """Returns the content for a checkpoint."""
        return {"by_value": self.by_value.tolist(), "by_score": self.by_score.tolist()}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Returns the tally of a checkpoint.

        Raises:
            ValueError: the content is not a tally.
        """
        arrays = {}
        for name, shape in (("by_value", (VALUE_BINS, 4)), ("by_score", (SCORE_BINS, 3))):
            try:
                array = np.array(content[name], np.float64)
            except (KeyError, TypeError, ValueError, OverflowError):
                array = np.empty(0)
            sums = np.delete(array, 1, axis=1) if array.shape == shape else array
            if array.shape != shape or not np.isfinite(array).all() or (sums < 0).any() or (sums > sums[:, :1]).any():
                raise ValueError(
                    f"calibration.{name} must have {shape[0]} rows of {shape[1]} sums, got {shown(content)}"
                )
            arrays[name] = array
        return cls(**arrays)


def default_calibration(game: pyspiel.Game, outcome: object) -> Calibration:
    """Returns the mapping for the values of an outcome before any game: linear for gains, else a logistic function.

    With n players and a zero sum, the score 0 is the return of the others if one player wins all, -1 / (n - 1) of it. A
    value of 0 has the score of the return 0.
    """
    rows = rows_of(game)
    scale = float(getattr(outcome, "scale", getattr(getattr(outcome, "drawn", None), "scale", 1.0)))
    linear = GAINS
    if rows is not None:
        lowest = rows.lowest
        if game.get_type().utility == ZERO_SUM:
            lowest = max(lowest, -rows.highest / (rows.players - 1))
        linear = Calibration(lowest=lowest / rows.bound, highest=rows.highest / rows.bound)
    if isinstance(outcome, Gain):
        return linear
    even = min(0.99, max(0.01, linear.score_of_gain(0.0)))
    return replace(linear, slope=PRIOR_SLOPE / scale, intercept=math.log(even / (1 - even)))


def _score(game: pyspiel.Game, calibration: Calibration, returns: Sequence[float], player: int) -> float:
    """Returns the score of a player in a finished game."""
    rows = rows_of(game)
    if rows is None:
        return 0.5 + 0.5 * ((returns[player] > 0) - (returns[player] < 0))
    return calibration.score_of_gain(returns[player] / rows.bound)


def _bins(fractions: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    return np.clip(np.floor(fractions * count), 0, count - 1).astype(np.int64)
