"""Ratings recover known strengths with the declared error and coverage."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import optimize

from athenan_spiel.arena.ratings import NATURAL, PRIOR, Meeting, ratings
from athenan_spiel.errors import ConfigError

STRENGTHS = {"a": -150.0, "b": -50.0, "c": 0.0, "d": 40.0, "e": 160.0}


def simulated(rng: np.random.Generator, openings: int, *, draws: float = 0.0, same: float = 0.0) -> list[Meeting]:
    """Every two of `STRENGTHS` play each opening with both colours; the model holds for each match.

    Args:
        draws: the share of drawn matches between equals.
        same: the probability that the second match of an opening ends as the first one did.
    """
    found = []
    for a, b in itertools.combinations(STRENGTHS, 2):
        expected = 1 / (1 + 10 ** ((STRENGTHS[b] - STRENGTHS[a]) / 400))
        drawn = draws * 2 * min(expected, 1 - expected)
        for _ in range(openings):
            one, other = rng.choice([1.0, 0.5, 0.0], 2, p=[expected - drawn / 2, drawn, 1 - expected - drawn / 2])
            found.append(Meeting(a, b, (one, one if rng.random() < same else other)))
    return found


def errors_and_coverage(seed: int, times: int, openings: int, **options: float) -> tuple[float, float]:
    """Returns the root mean square error in Elo points, and the share of intervals that contain the truth."""
    rng = np.random.default_rng(seed)
    errors, held = [], []
    for _ in range(times):
        for rating in ratings(list(STRENGTHS), simulated(rng, openings, **options)):
            truth = STRENGTHS[rating.name]
            assert rating.elo is not None
            assert rating.interval is not None
            errors.append(rating.elo - truth)
            held.append(rating.interval.low <= truth <= rating.interval.high)
    return math.sqrt(np.mean(np.square(errors))), float(np.mean(held))


def test_rating_errors_shrink_with_the_root_of_the_games() -> None:
    """Of n matches with each of the 4 others the standard error is about 400 / ln 10 x 2 / sqrt(5 n) Elo points."""
    few, _ = errors_and_coverage(0, 60, 10)
    many, _ = errors_and_coverage(0, 60, 90)
    assert few == pytest.approx(NATURAL * 2 / math.sqrt(5 * 20), rel=0.2)
    assert many == pytest.approx(NATURAL * 2 / math.sqrt(5 * 180), rel=0.2)
    assert few / many == pytest.approx(3.0, rel=0.2)


def test_intervals_cover_the_truth_at_95_percent() -> None:
    """400 tournaments of 5 agents, 2000 intervals: their standard error would be 0.5 % were all independent."""
    _, held = errors_and_coverage(1, 400, 20)
    assert 0.935 <= held <= 0.985


def test_intervals_cover_if_games_of_an_opening_are_dependent() -> None:
    _, held = errors_and_coverage(2, 200, 20, same=0.8)
    assert 0.925 <= held <= 0.985


def test_draws_do_not_make_intervals_too_narrow() -> None:
    _, held = errors_and_coverage(3, 200, 20, draws=0.6)
    assert held >= 0.95


def test_ratings_equal_those_of_another_maximisation() -> None:
    meetings = simulated(np.random.default_rng(4), 10, draws=0.3)
    names = list(STRENGTHS)

    def surprise(x: np.ndarray) -> float:
        total = 0.0
        for a, b in itertools.combinations(names, 2):
            points = [p for m in meetings if (m.a, m.b) == (a, b) for p in m.points]
            gap = x[names.index(a)] - x[names.index(b)]
            won, lost = sum(points) + PRIOR / 2, len(points) - sum(points) + PRIOR / 2
            total += won * np.log1p(np.exp(-gap)) + lost * np.log1p(np.exp(gap))
        return float(total + x.sum() ** 2)

    found = optimize.minimize(surprise, np.zeros(len(names)), tol=1e-12).x * NATURAL
    for rating in ratings(names, meetings):
        assert rating.elo == pytest.approx(found[names.index(rating.name)], abs=0.01)


def test_two_agents_differ_by_the_elo_of_their_points() -> None:
    first, second = ratings(["x", "y"], [Meeting("x", "y", (1.0, 1.0)), Meeting("x", "y", (1.0, 0.0))])
    assert (first.name, second.name) == ("x", "y")
    assert first.elo is not None
    assert second.elo is not None
    assert first.elo - second.elo == pytest.approx(400 * math.log10(3.5 / 1.5))  # with the drawn match of the prior


def test_an_agent_that_lost_every_game_has_a_rating() -> None:
    found = ratings(["x", "y"], [Meeting("y", "x", (1.0, 1.0))] * 10)
    assert [rating.name for rating in found] == ["y", "x"]
    for rating in found:
        assert rating.interval is not None
        assert math.isfinite(rating.interval.low)
        assert math.isfinite(rating.interval.high)
    assert found[0].elo == pytest.approx(200 * math.log10(20.5 / 0.5))


def test_the_anchor_is_zero_and_has_no_interval() -> None:
    meetings = simulated(np.random.default_rng(5), 10)
    free = {rating.name: rating for rating in ratings(list(STRENGTHS), meetings)}
    held = {rating.name: rating for rating in ratings(list(STRENGTHS), meetings, anchor="c")}
    assert (held["c"].elo, held["c"].interval) == (0.0, None)
    for name in "abde":
        assert held[name].elo == pytest.approx((free[name].elo or 0) - (free["c"].elo or 0))
        assert held[name].interval is not None


def test_unconnected_agents_are_not_rated() -> None:
    found = ratings(["w", "x", "y", "z"], [Meeting("w", "x", (1.0,)), Meeting("y", "z", (0.5,))])
    assert [(rating.elo, rating.interval) for rating in found] == [(None, None)] * 4


def test_a_single_match_gives_a_wide_interval() -> None:
    (winner, _) = ratings(["x", "y"], [Meeting("x", "y", (1.0,))])
    assert winner.interval is not None
    assert winner.interval.high - winner.interval.low > 400


def test_ratings_refuse_unknown_agents_and_no_games() -> None:
    with pytest.raises(ConfigError, match="the anchor must be one of the agents x, y, got 'z'"):
        ratings(["x", "y"], [Meeting("x", "y", (1.0,))], anchor="z")
    with pytest.raises(ConfigError, match="got a game of 'z'"):
        ratings(["x", "y"], [Meeting("x", "z", (1.0,))])
    with pytest.raises(ConfigError, match="at least one game"):
        ratings(["x", "y"], [])
