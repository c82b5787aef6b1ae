"""The Elo scale: Elo differences, and ratings by the model of Bradley and Terry (1952) with intervals.

1. i scores against j with probability p_ij = 1 / (1 + 10^((r_j - r_i) / 400)); a draw is half a win. The ratings
   maximise the likelihood, by evalica (Newman's iteration, JMLR 24, 2023).
2. Each pair that has met gets `PRIOR` additional drawn games in every estimate. So an agent that won or lost every game
   has a finite rating; with n games per pair the prior moves a share s to (n s + 1/2) / (n + 1).
3. The mean of the ratings is 0; with an anchor its rating is 0, and the intervals are of the differences to it.
4. The variance is that of the estimating equations with clusters (the sandwich estimator). Openings are the independent
   units, and both games of an opening count together. The variance is never below that of the same number of
   independent wins and losses, so draws and openings that decide for a colour don't narrow it. The quantile is
   Student's, by the agent's number of openings.
5. If no chain of games joins all agents, there are no ratings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.play.intervals import POINTS_PER_DECADE, Interval, quantile

PRIOR = 1.0
"""Number of additional drawn games of each pair that has met."""
NATURAL = POINTS_PER_DECADE / math.log(10)
"""Elo points of a factor e in the odds."""
TOLERANCE = 1e-12
MOST_ITERATIONS = 100_000


@dataclass(frozen=True)
class Meeting:
    """The games of two agents from one opening.

    Attributes:
        a, b: names of the agents.
        points: points of a in each game.
    """

    a: str
    b: str
    points: tuple[float, ...]


@dataclass(frozen=True)
class Rating:
    """The rating of an agent.

    Attributes:
        name: the agent.
        elo: rating in Elo points; None if the agents cannot be compared.
        interval: its interval; None for the anchor.
    """

    name: str
    elo: float | None
    interval: Interval | None


def ratings(
    names: Sequence[str], meetings: Sequence[Meeting], *, confidence: float = 0.95, anchor: str | None = None
) -> list[Rating]:
    """Returns the ratings of all agents, the strongest first; without values if no chain of games joins all agents.

    Args:
        names: names of the agents.
        anchor: agent with rating 0; None: the mean rating is 0.

    Raises:
        ConfigError: the anchor or an agent of a meeting is not among the names, or there is no game.
    """
    index = {name: i for i, name in enumerate(names)}
    if anchor is not None and anchor not in index:
        raise ConfigError(f"the anchor must be one of the agents {', '.join(names)}, got {shown(anchor)}")
    if foreign := next((name for m in meetings for name in (m.a, m.b) if name not in index), None):
        raise ConfigError(f"ratings are of the agents {', '.join(names)}, got a game of {shown(foreign)}")
    totals = _totals(index, meetings)
    if not totals.played.any():
        raise ConfigError("ratings need at least one game, got none")
    if not _joined(totals.played):
        return [Rating(name, None, None) for name in names]
    elo = _maximum_likelihood(totals) * NATURAL
    contrasts = np.eye(len(names)) - (1 / len(names) if anchor is None else np.eye(len(names))[index[anchor]])
    errors = _standard_errors(elo / NATURAL, index, meetings, totals, contrasts)
    elo = contrasts @ elo
    found = []
    for name, i in index.items():
        openings = sum(name in (m.a, m.b) for m in meetings)
        reach = quantile(confidence, openings) * float(errors[i]) * NATURAL
        interval = Interval(float(elo[i]), float(elo[i]) - reach, float(elo[i]) + reach, confidence)
        found.append(Rating(name, float(elo[i]), None if name == anchor else interval))
    return sorted(found, key=lambda rating: -(rating.elo or 0.0))


@dataclass(frozen=True)
class _Totals:
    """Points and numbers of games between each two agents, [n, n], and the games of the prior."""

    points: NDArray[np.float64]
    played: NDArray[np.float64]

    @property
    def prior(self) -> NDArray[np.float64]:
        return np.where(self.played > 0, PRIOR, 0.0)


def _totals(index: dict[str, int], meetings: Sequence[Meeting]) -> _Totals:
    points, played = np.zeros((2, len(index), len(index)))
    for meeting in meetings:
        a, b = index[meeting.a], index[meeting.b]
        points[a, b] += sum(meeting.points)
        points[b, a] += len(meeting.points) - sum(meeting.points)
        played[a, b] += len(meeting.points)
        played[b, a] += len(meeting.points)
    return _Totals(points, played)


def _joined(played: NDArray[np.float64]) -> bool:
    """Returns whether a chain of games joins all agents."""
    reached = np.zeros(len(played), bool)
    reached[0] = True
    for _ in range(len(played)):
        reached |= (played[reached] > 0).any(axis=0)
    return bool(reached.all())


def _maximum_likelihood(totals: _Totals) -> NDArray[np.float64]:
    """Returns the maximum-likelihood ratings in natural units with mean 0, float64 [n]."""
    import evalica

    wins = totals.points + totals.prior / 2  # a win counts 1, a draw 1/2 for both
    rows, columns = np.nonzero(wins)
    result = evalica.bradley_terry(
        rows.tolist(),
        columns.tolist(),
        [evalica.Winner.X] * len(rows),
        weights=wins[rows, columns].tolist(),
        tolerance=TOLERANCE,
        limit=MOST_ITERATIONS,
    )
    strengths = np.log(result.scores.sort_index().to_numpy(np.float64))
    return np.asarray(strengths - strengths.mean(), np.float64)


def _standard_errors(
    strengths: NDArray[np.float64],
    index: dict[str, int],
    meetings: Sequence[Meeting],
    totals: _Totals,
    contrasts: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Returns the standard errors of `contrasts` @ strengths, in natural units, float64 [n]."""
    expected = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
    weights = (totals.played + totals.prior) * expected * (1 - expected)
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights, hermitian=True)
    scores = np.zeros((len(meetings), len(strengths)))
    for row, meeting in zip(scores, meetings, strict=True):
        a, b = index[meeting.a], index[meeting.b]
        row[a] = sum(meeting.points) - len(meeting.points) * expected[a, b]
        row[b] = -row[a]
    count = len(meetings)
    sandwich = inverse @ (scores.T @ scores) @ inverse * (count / (count - 1) if count > 1 else 1.0)
    variances = [np.einsum("ij,jk,ik->i", contrasts, matrix, contrasts) for matrix in (sandwich, inverse)]
    return np.asarray(np.sqrt(np.maximum(*variances).clip(min=0.0)), np.float64)
