"""The sequential test: simulated error rates, and the order of openings."""

from __future__ import annotations

import math

import numpy as np
import pytest

from athenan_spiel.arena.sprt import SequentialTest, Sprt, expected_points
from athenan_spiel.errors import ConfigError

TEST = Sprt(elo0=0, elo1=150)


def verdicts(elo: float, times: int, seed: int, *, draws: float = 0.0, colour: float = 0.0) -> tuple[float, float]:
    """Returns how often H1 is accepted with a true difference of `elo`, and the mean number of openings.

    Args:
        draws: the share of drawn matches.
        colour: by how much the points of the first player are more, from opening to opening.
    """
    rng = np.random.default_rng(seed)
    accepted, openings = 0, 0
    for _ in range(times):
        test = SequentialTest(TEST)
        while test.verdict is None:
            lean = rng.normal() * colour
            for sign in (1, -1):
                won = float(np.clip(expected_points(elo) - draws / 2 + sign * lean, 0, 1))
                u = rng.random()
                test.add(test.openings, 1.0 if u < won else 0.5 if u < won + draws else 0.0)
        accepted += test.verdict == "H1"
        openings += test.openings
    return accepted / times, openings / times


@pytest.mark.parametrize(("draws", "colour"), [(0.0, 0.0), (0.3, 0.0), (0.0, 0.1)])
def test_error_rates_are_kept(draws: float, colour: float) -> None:
    """300 tests each: with an error rate of 5 % more than 27 errors (9 %) have a probability of 0.1 %."""
    wrong, _ = verdicts(0, 300, 0, draws=draws, colour=colour)
    right, openings = verdicts(150, 300, 1, draws=draws, colour=colour)
    assert wrong <= 0.09
    assert right >= 0.91
    assert openings < 28, "a fixed count with these errors takes about 33 openings without draws"


def test_the_ratio_is_the_approximation_of_many_openings() -> None:
    """LLR ≈ n (s1 - s0) (2 mean - s0 - s1) / (2 variance) for hypotheses that are near (Van den Bergh 2019)."""
    near = Sprt(elo0=0, elo1=5)
    counts = np.array([100.0, 250, 300, 260, 120])
    values = np.arange(5) / 4
    mean = counts @ values / counts.sum()
    variance = counts @ (values - mean) ** 2 / counts.sum()
    s0, s1 = expected_points(0), expected_points(5)
    expected = counts.sum() * (s1 - s0) * (2 * mean - s0 - s1) / (2 * variance)
    assert near.llr(counts.tolist()) == pytest.approx(expected, rel=0.01)


def test_the_ratio_of_wins_and_losses_is_binomial() -> None:
    """If both games of an opening have the same result, only two results have a probability."""
    counts = [30, 0, 0, 0, 50]
    s0, s1 = expected_points(0), expected_points(150)
    expected = 50 * math.log(s1 / s0) + 30 * math.log((1 - s1) / (1 - s0))
    assert TEST.llr(counts) == pytest.approx(expected, abs=0.01)


def test_bounds_are_walds() -> None:
    assert TEST.upper == pytest.approx(math.log(19))
    assert TEST.lower == pytest.approx(-math.log(19))
    assert Sprt(elo0=0, elo1=5, alpha=0.01, beta=0.1).lower == pytest.approx(math.log(0.1 / 0.99))


def test_openings_are_evaluated_in_their_order() -> None:
    rng = np.random.default_rng(2)
    points = [(number, float(rng.random() < 0.7)) for number in range(100) for _ in (0, 1)]
    ordered, shuffled = SequentialTest(TEST), SequentialTest(TEST)
    for number, one in points:
        ordered.add(number, one)
    for i in rng.permutation(len(points)):
        shuffled.add(*points[i])
    assert ordered.verdict == shuffled.verdict == "H1"
    assert ordered.to_json() == shuffled.to_json()


def test_half_an_opening_is_not_evaluated() -> None:
    test = SequentialTest(TEST)
    test.add(0, 1.0)
    test.add(1, 1.0)
    test.add(1, 1.0)
    assert (test.openings, test.llr) == (0, 0.0)
    test.add(0, 0.5)
    assert test.openings == 2
    assert test.counts() == {"0": 0, "0.5": 0, "1": 0, "1.5": 1, "2": 1}
    assert str(test).startswith("SPRT (H0 +0 Elo, H1 +150 Elo, α 0.05, β 0.05): undecided after 2 openings")


def test_without_openings_the_ratio_is_zero() -> None:
    assert TEST.llr([0] * 5) == 0.0


def test_bad_hypotheses_are_refused() -> None:
    for elo0, elo1 in ((5, 5), (10, 0), (0, 3000)):
        with pytest.raises(ConfigError, match="elo0 below elo1"):
            Sprt(elo0=elo0, elo1=elo1)
    for elo0, elo1 in ((-math.inf, 0), (0, math.inf), (math.nan, 5), (0, math.nan)):
        with pytest.raises(ConfigError, match=r"elo[01] must be a finite number"):
            Sprt(elo0=elo0, elo1=elo1)
    for alpha in (0, 0.5, math.nan):
        with pytest.raises(ConfigError, match=r"alpha must be (between 0 and 0\.5|a finite number)"):
            Sprt(elo0=0, elo1=5, alpha=alpha)
    with pytest.raises(ConfigError, match=r"beta must be between 0 and 0\.5"):
        Sprt(elo0=0, elo1=5, beta=0.7)
