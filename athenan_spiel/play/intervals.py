"""Intervals of means of games: Wilson's score interval, Student's interval, and Elo differences.

Two games of a series that share an opening are not independent, and a drawn game carries other information than a won
one. So the variance of the share is estimated from the points of each opening together (the ratio estimator over
clusters: Cochran, Sampling Techniques, 1977, Chapter 9A). It is converted to the number of independent decisive games
with the same variance, for which Wilson's interval (1927) is computed. This is the modified Wilson interval of Dean and
Pagano (Journal of Survey Statistics and Methodology, 2015). It has a positive width at 0 and 1 as well. The number is
never above the number of games, so draws and openings that decide for a colour don't narrow it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from athenan_spiel.arguments import is_number
from athenan_spiel.errors import ConfigError, shown

POINTS_PER_DECADE = 400.0
"""Elo's convention: 400 points are a factor of ten in the odds."""


@dataclass(frozen=True)
class Interval:
    """An estimate and the interval that contains the true value with probability `confidence`."""

    estimate: float
    low: float
    high: float
    confidence: float

    def mapped(self, function: Callable[[float], float]) -> Interval:
        """Returns the interval of an increasing `function` of the value."""
        return Interval(function(self.estimate), function(self.low), function(self.high), self.confidence)

    def ends(self) -> dict[str, float]:
        """Returns the ends and the confidence level as JSON values."""
        return {"low": self.low, "high": self.high, "confidence": self.confidence}

    def to_json(self) -> dict[str, Any]:
        """Returns the interval as JSON values; infinite numbers become None."""
        values = {"estimate": self.estimate, "low": self.low, "high": self.high, "confidence": self.confidence}
        return {name: value if math.isfinite(value) else None for name, value in values.items()}


def share_interval(groups: Iterable[Sequence[float]], confidence: float = 0.95) -> Interval:
    """Returns the mean of numbers in [0, 1] in independent groups, with its interval.

    Raises:
        ConfigError: there is no number, or `confidence` is not between 0 and 1.
    """
    clusters = [list(group) for group in groups if group]
    if not clusters:
        raise ConfigError("an interval needs at least one game, got none")
    _require_confidence(confidence)
    total = sum(map(len, clusters))
    share = sum(map(sum, clusters)) / total
    size = _effective_matches(clusters, share, total)
    return Interval(share, *_wilson(share, size, quantile(confidence, len(clusters))), confidence)


def _effective_matches(clusters: Sequence[Sequence[float]], share: float, total: int) -> float:
    """Returns the number of independent wins and losses whose share has the variance of the clusters."""
    k = len(clusters)
    if k == 1:
        return 1.0
    residuals = (sum(cluster) - share * len(cluster) for cluster in clusters)
    variance = k / (k - 1) * sum(residual**2 for residual in residuals) / total**2
    decisive = share * (1 - share)
    return min(total, max(1.0, decisive / variance)) if variance > 0 else float(total)


def quantile(confidence: float, clusters: int) -> float:
    """Returns Student's two-sided quantile for a variance estimated from `clusters` numbers; for one number, the normal
    quantile."""
    level = (1 + confidence) / 2
    return float(special.stdtrit(clusters - 1, level) if clusters > 1 else special.ndtri(level))


def _wilson(share: float, size: float, z: float) -> tuple[float, float]:
    """Returns the ends of Wilson's score interval of a share among `size` trials."""
    scale = 1 + z * z / size
    middle = (share + z * z / (2 * size)) / scale
    reach = z / scale * math.sqrt(share * (1 - share) / size + z * z / (4 * size * size))
    # Rounding must not put the share outside of its own interval.
    return min(share, max(0.0, middle - reach)), max(share, min(1.0, middle + reach))


def mean_interval(numbers: Sequence[float], confidence: float = 0.95) -> Interval:
    """Returns the mean of independent numbers with Student's interval.

    The interval is infinite for a single number or equal numbers, because their spread is unknown.

    Raises:
        ConfigError: there is no number, or `confidence` is not between 0 and 1.
    """
    if not numbers:
        raise ConfigError("a mean needs at least one game, got none")
    _require_confidence(confidence)
    mean, count = float(np.mean(numbers)), len(numbers)
    spread = float(np.std(numbers, ddof=1)) if count > 1 else 0.0
    if spread == 0:
        return Interval(mean, -math.inf, math.inf, confidence)
    reach = quantile(confidence, count) * spread / math.sqrt(count)
    return Interval(mean, mean - reach, mean + reach, confidence)


def _require_confidence(confidence: float) -> None:
    if not (is_number(confidence) and 0 < confidence < 1):
        raise ConfigError(f"confidence must be between 0 and 1, got {shown(confidence)}")


def elo_difference(share: float) -> float:
    """Returns the Elo difference of a share of the points: 400 log10(share / (1 - share)).

    This is the logistic model with draws as half a win; a share of 1 or 0 gives an infinite difference.

    Raises:
        ConfigError: `share` is outside [0, 1].
    """
    if not 0.0 <= share <= 1.0:
        raise ConfigError(f"a share of the points must be in [0, 1], got {share!r}")
    if share in (0.0, 1.0):
        return math.copysign(math.inf, share - 0.5)
    return POINTS_PER_DECADE * math.log10(share / (1.0 - share))
