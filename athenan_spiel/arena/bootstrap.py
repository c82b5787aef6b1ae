"""The stratified bootstrap: what a mean over strata comes to when within each of them what was seen is drawn again.

A resample draws, in each stratum by itself and with replacement, as many of its independent units as it has. The
interval is that between two percentiles of the resamples (Efron and Tibshirani, An Introduction to the Bootstrap, 1993,
Chapter 13). Of few units such intervals are somewhat too narrow.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.arena.intervals import Interval

NO_SPREAD = 1e-9
"""Resamples that differ by no more than this differ by rounding alone."""
RESAMPLES = 2_000


def draws(rng: np.random.Generator, count: int, resamples: int) -> NDArray[np.float64]:
    """How often each of `count` units was drawn, [1 + B, count]; in the first row once each."""
    drawn = rng.multinomial(count, np.full(count, 1 / count), size=resamples)
    return np.concatenate([np.ones((1, count)), drawn])


def percentile_interval(estimate: float, samples: NDArray[np.float64], confidence: float) -> Interval | None:
    """The percentile interval: `confidence` of the samples lie within, as many above as below; None without spread."""
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
    """The mean over strata of the means of their units, with its interval.

    Args:
        strata: the units of each; none is empty.
        weights: of the strata, of sum 1; by default all the same.

    Returns:
        The estimate, and the interval, None where the resamples show no spread.
    """
    rng = np.random.default_rng(abs(seed))
    means = np.zeros(resamples + 1)
    for units, weight in zip(strata, weights or [1 / len(strata)] * len(strata), strict=True):
        means += weight * (draws(rng, len(units), resamples) @ np.asarray(units, np.float64)) / len(units)
    return float(means[0]), percentile_interval(means[0], means[1:], confidence)
