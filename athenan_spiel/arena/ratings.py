"""The Elo scale: differences of strength, and ratings by the model of Bradley and Terry (1952) with intervals.

1. i scores against j with probability p_ij = 1 / (1 + 10^((r_j - r_i) / 400)); a draw is half a win. The ratings are
   the most probable ones, by evalica (Newman's iteration, JMLR 24, 2023).
2. Each two agents that have met are given `PRIOR` drawn matches more, in every estimate. So an agent that has won or
   lost everything has a finite rating; of n matches a pair the prior moves a share s to (n s + 1/2) / (n + 1).
3. The ratings' mean is 0; or that of one agent, the anchor, is, and the others' intervals are of their distances to it.
4. The variance is that of the estimating equations with clusters (the sandwich): what is independent are openings, of
   which both matches count together. It is never taken below the variance of as many independent wins and losses, so
   draws and openings that decide for a colour narrow nothing, and the quantile is Student's, of the agent's openings.
5. Agents that no chain of matches joins cannot be compared, and none is rated then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.arena.statistics import Interval, quantile
from athenan_spiel.errors import ConfigError, shown

POINTS_PER_DECADE = 400.0
"""Elo's convention: 400 points more mean ten times the odds."""
PRIOR = 1.0
"""Drawn matches that each two agents which have met are given."""
NATURAL = POINTS_PER_DECADE / math.log(10)
"""Elo points of a factor e of the odds."""
TOLERANCE = 1e-12
MOST_ITERATIONS = 100_000


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


@dataclass(frozen=True)
class Meeting:
    """The matches of two agents that began with one opening.

    Attributes:
        a, b: their names.
        points: a's points in each match.
    """

    a: str
    b: str
    points: tuple[float, ...]


@dataclass(frozen=True)
class Rating:
    """How strong an agent is.

    Attributes:
        name: the agent.
        elo: in Elo points; None for the agents that cannot be compared.
        interval: of it; None for the anchor, too.
    """

    name: str
    elo: float | None
    interval: Interval | None


def ratings(
    names: Sequence[str], meetings: Sequence[Meeting], *, confidence: float = 0.95, anchor: str | None = None
) -> list[Rating]:
    """The ratings of all agents, the strongest first; those that no matches join have none.

    Args:
        names: of the agents.
        anchor: whose rating is 0; none: the mean of all is.

    Raises:
        ConfigError: the anchor, or who met, is not among the names; no match was played.
    """
    index = {name: i for i, name in enumerate(names)}
    if anchor is not None and anchor not in index:
        raise ConfigError(f"the anchor must be one of the agents {', '.join(names)}, got {shown(anchor)}")
    if foreign := next((name for m in meetings for name in (m.a, m.b) if name not in index), None):
        raise ConfigError(f"ratings are of the agents {', '.join(names)}, got a match of {shown(foreign)}")
    met = _points(index, meetings)
    if not met.played.any():
        raise ConfigError("ratings need at least one match, got none")
    if not _joined(met.played):
        return [Rating(name, None, None) for name in names]
    elo = _most_probable(met) * NATURAL
    away = np.eye(len(names)) - (1 / len(names) if anchor is None else np.eye(len(names))[index[anchor]])
    spread = _spread(elo / NATURAL, index, meetings, met, away)
    elo = away @ elo
    found = []
    for name, i in index.items():
        openings = sum(name in (m.a, m.b) for m in meetings)
        reach = quantile(confidence, openings) * float(spread[i]) * NATURAL
        interval = Interval(float(elo[i]), float(elo[i]) - reach, float(elo[i]) + reach, confidence)
        found.append(Rating(name, float(elo[i]), None if name == anchor else interval))
    return sorted(found, key=lambda rating: -(rating.elo or 0.0))


@dataclass(frozen=True)
class _Met:
    """Points and matches between any two agents, each [n, n], and the prior's matches beside them."""

    points: NDArray[np.float64]
    played: NDArray[np.float64]

    @property
    def prior(self) -> NDArray[np.float64]:
        return np.where(self.played > 0, PRIOR, 0.0)


def _points(index: dict[str, int], meetings: Sequence[Meeting]) -> _Met:
    points, played = np.zeros((2, len(index), len(index)))
    for meeting in meetings:
        a, b = index[meeting.a], index[meeting.b]
        points[a, b] += sum(meeting.points)
        points[b, a] += len(meeting.points) - sum(meeting.points)
        played[a, b] += len(meeting.points)
        played[b, a] += len(meeting.points)
    return _Met(points, played)


def _joined(played: NDArray[np.float64]) -> bool:
    """Whether a chain of matches leads from each agent to each other one."""
    reached = np.zeros(len(played), bool)
    reached[0] = True
    for _ in range(len(played)):
        reached |= (played[reached] > 0).any(axis=0)
    return bool(reached.all())


def _most_probable(met: _Met) -> NDArray[np.float64]:
    """The ratings in natural units, their mean 0: float64 [n]."""
    import evalica

    wins = met.points + met.prior / 2  # each point counts as a win; a draw has given half a one to both
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


def _spread(
    strengths: NDArray[np.float64],
    index: dict[str, int],
    meetings: Sequence[Meeting],
    met: _Met,
    away: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The standard error of each of the distances `away` @ strengths, in natural units: float64 [n]."""
    expected = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
    weights = (met.played + met.prior) * expected * (1 - expected)
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights, hermitian=True)
    scores = np.zeros((len(meetings), len(strengths)))
    for row, meeting in zip(scores, meetings, strict=True):
        a, b = index[meeting.a], index[meeting.b]
        row[a] = sum(meeting.points) - len(meeting.points) * expected[a, b]
        row[b] = -row[a]
    count = len(meetings)
    sandwich = inverse @ (scores.T @ scores) @ inverse * (count / (count - 1) if count > 1 else 1.0)
    variances = [np.einsum("ij,jk,ik->i", away, matrix, away) for matrix in (sandwich, inverse)]
    return np.asarray(np.sqrt(np.maximum(*variances).clip(min=0.0)), np.float64)
