"""Intervals and p-values of games: Wilson's score interval, the stratified bootstrap, the sign test, Wilcoxon's test.

Two games of a series that share an opening are not independent, and a drawn game carries other information than a won
one. So the variance of the share is estimated from the points of each opening together (the ratio estimator over
clusters: Cochran, Sampling Techniques, 1977, Chapter 9A). It is converted to the number of independent decisive games
with the same variance, for which Wilson's interval (1927) is computed. This is the modified Wilson interval of Dean and
Pagano (Journal of Survey Statistics and Methodology, 2015). It has a positive width at 0 and 1 as well. The number is
never above the number of games, so draws and openings that decide for a colour don't narrow it.

The bootstrap resamples a mean over strata. A resample draws, independently in each stratum and with replacement, as
many units as the stratum has. The interval lies between two percentiles of the resamples (Efron and Tibshirani, An
Introduction to the Bootstrap, 1993, Chapter 13). With few units such intervals are somewhat too narrow.

P-values are probabilities of results at least as one-sided between two equally strong agents; they are two-sided and
exact.

1. `binomial_p`: the sign test of won against lost games without draws. It assumes independent games, which the two of
   an opening are not quite.
2. `wilcoxon_p`: Wilcoxon's signed-rank test of differences, such as the points minus the opponent's for each opening.
   Only openings have to be independent. Zeros are left out, equal differences share their rank, and the distribution is
   that of all signs given these ranks, so ties cost no exactness.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.play.series import Series

NO_SPREAD = 1e-9
"""Maximum difference between resamples that counts as a rounding error."""
RESAMPLES = 2_000
MAX_EXACT_DIFFERENCES = 300
"""Maximum number of differences with an exact distribution; for more, it is approximated by a normal distribution."""


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


def points_interval(series: Series, confidence: float = 0.95) -> Interval:
    """Returns the contender's share of the points with its interval.

    Raises:
        ConfigError: the series is empty, or `confidence` is not between 0 and 1.
    """
    return share_interval(series.points_by_opening.values(), confidence)


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
    if not 0 < confidence < 1:
        raise ConfigError(f"confidence must be between 0 and 1, got {confidence!r}")


def draws(rng: np.random.Generator, count: int, resamples: int) -> NDArray[np.float64]:
    """Returns the count of each unit in each resample, [1 + resamples, count]. The first row is the data: all 1."""
    drawn = rng.multinomial(count, np.full(count, 1 / count), size=resamples)
    return np.concatenate([np.ones((1, count)), drawn])


def percentile_interval(estimate: float, samples: NDArray[np.float64], confidence: float) -> Interval | None:
    """Returns the percentile interval that contains `confidence` of the samples; None without spread."""
    if np.ptp(samples) <= NO_SPREAD:
        return None
    tail = (1 - confidence) / 2
    low, high = np.quantile(samples, [tail, 1 - tail])
    return Interval(float(estimate), float(low), float(high), confidence)


def stratified_mean(
    strata: Sequence[Sequence[float]],
    confidence: float,
    seed: int,
    resamples: int = RESAMPLES,
    *,
    weights: Sequence[float] | None = None,
) -> tuple[float, Interval | None]:
    """Returns the mean over strata of the means of their units, with its interval.

    Args:
        strata: units of each stratum, none of them empty.
        weights: weights of the strata with sum 1; by default equal.

    Returns:
        The estimate, and the interval; None if the resamples show no spread.
    """
    rng = np.random.default_rng(abs(seed))
    means = np.zeros(resamples + 1)
    for units, weight in zip(strata, weights or [1 / len(strata)] * len(strata), strict=True):
        means += weight * (draws(rng, len(units), resamples) @ np.asarray(units, np.float64)) / len(units)
    return float(means[0]), percentile_interval(means[0], means[1:], confidence)


def binomial_p(wins: int, losses: int) -> float:
    """Returns the two-sided p-value of the sign test.

    Returns:
        A number in (0, 1]; 1 without won or lost games.

    Raises:
        ConfigError: a count is negative.
    """
    if min(wins, losses) < 0:
        raise ConfigError(f"won and lost games must be counts, got {shown((wins, losses))}")
    return min(1.0, 2.0 * float(special.bdtr(min(wins, losses), wins + losses, 0.5)))


def wilcoxon_p(differences: Sequence[float]) -> float:
    """Returns the two-sided p-value of Wilcoxon's signed-rank test that differences are symmetric around zero.

    Returns:
        A number in (0, 1]; 1 if all differences are zero.

    Raises:
        ConfigError: a difference is not finite.
    """
    values = np.asarray(differences, np.float64)
    if not np.isfinite(values).all():
        raise ConfigError(f"differences must be finite, got {shown(list(differences))}")
    values = values[values != 0]
    if not len(values):
        return 1.0
    doubled = _doubled_ranks(np.abs(values))
    positive = int(doubled[values > 0].sum())
    least = min(positive, int(doubled.sum()) - positive)
    if len(values) <= MAX_EXACT_DIFFERENCES:
        return min(1.0, 2.0 * float(_sums(doubled)[: least + 1].sum()))
    # With random signs, the sum of positive ranks has mean sum / 2 and variance (sum of squares) / 4.
    z = (least - doubled.sum() / 2) / math.sqrt(float((doubled**2).sum()) / 4)
    return min(1.0, math.erfc(-z / math.sqrt(2)))


def _doubled_ranks(sizes: NDArray[np.float64]) -> NDArray[np.int64]:
    """Returns twice the ranks from 1, int64 [n]. Equal sizes share the mean rank, and twice that is a whole number."""
    _, inverse, counts = np.unique(np.round(sizes, 12), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    doubled: NDArray[np.int64] = (2 * last - counts + 1)[inverse]
    return doubled


def _sums(doubled: NDArray[np.int64]) -> NDArray[np.float64]:
    """Returns the distribution of the sum of ranks if each rank is included with probability 1/2, float64 [sum + 1]."""
    found = np.zeros(int(doubled.sum()) + 1)
    found[0] = 1.0
    for rank in doubled:
        found[rank:] += found[:-rank]
        found /= 2
    return found
