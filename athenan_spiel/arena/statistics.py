"""Intervals by the bootstrap, and p-values of games: the sign test and Wilcoxon's test.

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
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.play.intervals import Interval

NO_SPREAD = 1e-9
"""Maximum difference between resamples that counts as a rounding error."""
RESAMPLES = 2_000
MAX_EXACT_DIFFERENCES = 300
"""Maximum number of differences with an exact distribution; for more, it is approximated by a normal distribution."""


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
