"""What the matches of a single player say of it: the mean of its scores with its interval, the best and the worst."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from athenan_spiel.arena.statistics import Interval, quantile
from athenan_spiel.errors import ConfigError
from athenan_spiel.play.match import MatchResult


@dataclass(frozen=True)
class Scores:
    """Finished matches of one agent in a game for one player.

    Attributes:
        agent: its name, such as the agent word of the command line.
        results: the matches; at least one.
        failures: why other matches have no result.
        confidence: of the interval.
    """

    agent: str
    results: tuple[MatchResult, ...]
    failures: tuple[str, ...] = ()
    confidence: float = 0.95

    @property
    def scores(self) -> list[float]:
        """What each match returned."""
        return [result.returns[0] for result in self.results]

    @property
    def cut(self) -> int:
        """Number of matches that the game's length limit ended."""
        return sum(result.cut for result in self.results)

    @property
    def mean(self) -> Interval:
        """The mean score of the agent's matches."""
        return mean_interval(self.scores, self.confidence)

    @property
    def best(self) -> float:
        """The highest score."""
        return max(self.scores)

    @property
    def worst(self) -> float:
        """The lowest score."""
        return min(self.scores)

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "agent": self.agent,
            "matches": len(self.results),
            "mean": self.mean.to_json(),
            "best": self.best,
            "worst": self.worst,
            "scores": self.scores,
            "cut": self.cut,
            "failed": list(self.failures),
            "seconds": sum(result.seconds[0] for result in self.results),
        }


def mean_interval(numbers: Sequence[float], confidence: float = 0.95) -> Interval:
    """The mean of independent numbers, with Student's interval.

    It is infinite for a single number, and where all are equal: numbers without a spread do not say that there is none.

    Raises:
        ConfigError: there is no number, or `confidence` is not between 0 and 1.
    """
    if not numbers:
        raise ConfigError("a mean needs at least one match, got none")
    if not 0 < confidence < 1:
        raise ConfigError(f"confidence must be between 0 and 1, got {confidence!r}")
    mean, count = float(np.mean(numbers)), len(numbers)
    spread = float(np.std(numbers, ddof=1)) if count > 1 else 0.0
    if spread == 0:
        return Interval(mean, -math.inf, math.inf, confidence)
    reach = quantile(confidence, count) * spread / math.sqrt(count)
    return Interval(mean, mean - reach, mean + reach, confidence)
