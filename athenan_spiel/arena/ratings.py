"""Differences of strength on the Elo scale."""

from __future__ import annotations

import math

from athenan_spiel.errors import ConfigError

POINTS_PER_DECADE = 400.0
"""Elo's convention: 400 points more mean ten times the odds."""


def elo_difference(share: float) -> float:
    """How many Elo points stand behind a share of the points: 400 log10(share / (1 - share)).

    This is the logistic model, draws counting half; a share of 1 or 0 is infinitely many points.

    Raises:
        ConfigError: `share` is outside [0, 1].
    """
    if not 0.0 <= share <= 1.0:
        raise ConfigError(f"a share of the points must be in [0, 1], got {share!r}")
    if share in (0.0, 1.0):
        return math.copysign(math.inf, share - 0.5)
    return POINTS_PER_DECADE * math.log10(share / (1.0 - share))
