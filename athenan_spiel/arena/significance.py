"""How probable a result at least as one-sided is if two agents are equally strong: p-values, two-sided and exact.

1. `binomial_p`: the sign test of won against lost matches; draws are left out. It takes matches to be independent,
   which the two of an opening are not quite.
2. `wilcoxon_p`: Wilcoxon's signed-rank test of differences, such as a player's points minus the other's opening by
   opening. Only the openings have to be independent. Differences of zero are left out, equal ones share their rank, and
   the distribution is that of all signs given these ranks, so ties cost no exactness.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.errors import ConfigError, shown

MOST_EXACT = 300
"""So many differences have their distribution counted out; for more the normal one takes its place."""


def binomial_p(wins: int, losses: int) -> float:
    """The two-sided p-value of the sign test: that of a fair coin to fall at least as one-sidedly.

    Returns:
        A number in (0, 1]; 1 where nothing was won or lost.

    Raises:
        ConfigError: a count is negative.
    """
    if min(wins, losses) < 0:
        raise ConfigError(f"won and lost matches must be counts, got {shown((wins, losses))}")
    from scipy import special

    return min(1.0, 2.0 * float(special.bdtr(min(wins, losses), wins + losses, 0.5)))


def wilcoxon_p(differences: Sequence[float]) -> float:
    """The two-sided p-value of Wilcoxon's signed-rank test that the differences are as probable with the other sign.

    Returns:
        A number in (0, 1]; 1 where no difference is other than zero.

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
    if len(values) <= MOST_EXACT:
        return min(1.0, 2.0 * float(_sums(doubled)[: least + 1].sum()))
    # The sum of the ranks that chance makes positive has mean sum / 2 and variance sum of squares / 4.
    z = (least - doubled.sum() / 2) / math.sqrt(float((doubled**2).sum()) / 4)
    return min(1.0, math.erfc(-z / math.sqrt(2)))


def _doubled_ranks(sizes: NDArray[np.float64]) -> NDArray[np.int64]:
    """Twice the rank of each, from 1, equal ones sharing the middle one; twice, so that they are whole: int64 [n]."""
    _, inverse, counts = np.unique(np.round(sizes, 12), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    doubled: NDArray[np.int64] = (2 * last - counts + 1)[inverse]
    return doubled


def _sums(doubled: NDArray[np.int64]) -> NDArray[np.float64]:
    """The probability of each sum of ranks, where each counts with probability 1/2: float64 [sum + 1]."""
    found = np.zeros(int(doubled.sum()) + 1)
    found[0] = 1.0
    for rank in doubled:
        found[rank:] += found[:-rank]
        found /= 2
    return found
