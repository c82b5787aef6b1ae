"""The sequential probability ratio test (SPRT): games are played until they decide between two strengths.

1. The result of an opening is the mean of the contender's points over its two games: 0, 1/4, 1/2, 3/4 or 1 (the
   pentanomial model). Openings are independent; nothing is assumed about draws or the two games of an opening.
2. H0: the mean is s(elo0). H1: the mean is s(elo1). Here s(x) = 1 / (1 + 10^(-x / 400)).
3. The log-likelihood ratio is the generalised one: each hypothesis takes the most probable distribution over the five
   results with its mean (Van den Bergh, A Practical Introduction to the GSPRT, 2019). A result without observations
   counts `UNSEEN` times, so that every mean is possible.
4. The test accepts H0 at or below log(beta / (1 - alpha)) and H1 at or above log((1 - beta) / alpha) (Wald, Sequential
   Tests of Statistical Hypotheses, 1945). The error probabilities are then about alpha and beta.
5. The test runs after each opening, in the order of the openings, independently of the order in which games end.

The points of a stopped test are biased towards the accepted hypothesis.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from athenan_spiel.config import Settings
from athenan_spiel.errors import ConfigError, shown

UNSEEN = 1e-3
"""Count of a result without observations, as in Stockfish's tests."""
MOST_ELO = 2_000.0
"""Maximum Elo difference of a hypothesis."""
VALUES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Possible results of an opening."""
_STEPS = 50
"""Number of bisection steps."""

Verdict = Literal["H0", "H1"]


@dataclass(frozen=True, kw_only=True)
class Sprt(Settings):
    """Hypotheses and error probabilities of a sequential test.

    Raises:
        ConfigError: elo0 is not below elo1, one is out of range, or alpha or beta is not between 0 and 1/2.
    """

    table: ClassVar[str] = "sequential."

    elo0: float
    """The contender's Elo difference under H0."""
    elo1: float
    """The contender's Elo difference under H1."""
    alpha: float = 0.05
    """Probability of accepting H1 if H0 is true."""
    beta: float = 0.05
    """Probability of accepting H0 if H1 is true."""

    def check(self) -> None:
        """Check the order of the hypotheses and the range of the probabilities."""
        if not -MOST_ELO <= self.elo0 < self.elo1 <= MOST_ELO:
            raise ConfigError.at(
                "sequential.elo0",
                f": a sequential test needs elo0 below elo1, both from {-MOST_ELO:g} to {MOST_ELO:g}, "
                f"got {shown((self.elo0, self.elo1))}",
            )
        for name in ("alpha", "beta"):
            self.require(0 < getattr(self, name) < 0.5, name, "between 0 and 0.5")

    @classmethod
    def of(cls, hypotheses: tuple[float, float] | None) -> Sprt | None:
        """Returns the test of the `--sprt` hypotheses (elo0, elo1) with default error probabilities; None for None."""
        if hypotheses is None:
            return None
        try:
            return cls(elo0=hypotheses[0], elo1=hypotheses[1])
        except ConfigError as error:
            raise ConfigError.at("--sprt", error.problem) from None

    @property
    def lower(self) -> float:
        """Log-likelihood ratio at or below which H0 is accepted."""
        return math.log(self.beta / (1 - self.alpha))

    @property
    def upper(self) -> float:
        """Log-likelihood ratio at or above which H1 is accepted."""
        return math.log((1 - self.beta) / self.alpha)

    def llr(self, counts: Sequence[float]) -> float:
        """Returns the log-likelihood ratio of H1 to H0.

        Args:
            counts: number of openings with each of the five `VALUES`.
        """
        if not any(counts):
            return 0.0
        counts = [count if count > 0 else UNSEEN for count in counts]
        # A result has the probability share / tilt. The shares are the same under both hypotheses.
        both = zip(counts, _tilts(counts, self.elo0), _tilts(counts, self.elo1), strict=True)
        return sum(count * math.log(tilt0 / tilt1) for count, tilt0, tilt1 in both)

    def to_json(self) -> dict[str, float]:
        """Returns the test's parameters as JSON values."""
        return {**dataclasses.asdict(self), "lower": self.lower, "upper": self.upper}

    def __str__(self) -> str:
        return f"H0 {self.elo0:+g} Elo, H1 {self.elo1:+g} Elo, α {self.alpha:g}, β {self.beta:g}"


def expected_points(elo: float) -> float:
    """Returns the expected share of the points with a lead of `elo` points: 1 / (1 + 10^(-elo / 400))."""
    return 1 / (1 + 10 ** (-elo / 400))


def _tilts(counts: Sequence[float], elo: float) -> list[float]:
    """Returns 1 + t (value - mean) of each value. With this t, the shares divided by them have the mean of `elo`."""
    deviations = [value - expected_points(elo) for value in VALUES]
    low, high = -1 / max(deviations), -1 / min(deviations)  # for t between them, all results are positive
    for _ in range(_STEPS):
        t = (low + high) / 2
        excess = sum(count * x / (1 + t * x) for count, x in zip(counts, deviations, strict=True))  # decreases in t
        low, high = (t, high) if excess > 0 else (low, t)
    return [1 + (low + high) / 2 * x for x in deviations]


class SequentialTest:
    """A running test. Openings may end in any order and are evaluated by their numbers.

    Attributes:
        sprt: the hypotheses.
        openings: number of evaluated openings; it does not change after the verdict.
        llr: log-likelihood ratio after them.
        verdict: the accepted hypothesis, if there is one.
        left_out: number of openings left out before the verdict because a game failed.
    """

    def __init__(self, sprt: Sprt) -> None:
        self.sprt = sprt
        self.openings = 0
        self.llr = 0.0
        self.verdict: Verdict | None = None
        self.left_out = 0
        self._counts = [0] * len(VALUES)
        self._points: dict[int, list[float]] = {}
        self._dropped: set[int] = set()

    def add(self, number: int, points: float) -> None:
        """Add a game: the number of its opening, from 0, and the contender's points 0, 1/2 or 1."""
        self._points.setdefault(number, []).append(points)
        self._evaluate()

    def drop(self, number: int) -> None:
        """Excludes an opening, because one of its games has no result."""
        self._dropped.add(number)
        self._evaluate()

    def _evaluate(self) -> None:
        """Evaluate the finished openings in their order, until the verdict."""
        while self.verdict is None:
            number = self.openings + self.left_out
            if number in self._dropped:
                self.left_out += 1
                continue
            if len(self._points.get(number, ())) < 2:
                return
            self._counts[round(2 * sum(self._points[number]))] += 1
            self.openings += 1
            self.llr = self.sprt.llr(self._counts)
            if self.llr >= self.sprt.upper:
                self.verdict = "H1"
            elif self.llr <= self.sprt.lower:
                self.verdict = "H0"

    def counts(self) -> Mapping[str, int]:
        """Returns the number of openings by the contender's points of two."""
        return {f"{2 * value:g}": count for value, count in zip(VALUES, self._counts, strict=True)}

    def to_json(self) -> dict[str, Any]:
        """Returns the state of the test as JSON values."""
        return {
            **self.sprt.to_json(),
            "llr": self.llr,
            "verdict": self.verdict,
            "openings": self.openings,
            "counts": dict(self.counts()),
        }

    def __str__(self) -> str:
        verdict = f"{self.verdict} accepted" if self.verdict else "undecided"
        return (
            f"SPRT ({self.sprt}): {verdict} after {self.openings} openings, "
            f"LLR {self.llr:+.2f} in ({self.sprt.lower:.2f}, {self.sprt.upper:.2f})"
        )
