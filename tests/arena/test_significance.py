"""p-values agree with scipy's and with an enumeration of all signs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from athenan_spiel.arena.statistics import MAX_EXACT_DIFFERENCES, binomial_p, wilcoxon_p
from athenan_spiel.errors import ConfigError


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (1, 0), (5, 5), (60, 40), (3, 9), (400, 330)])
def test_the_binomial_test_is_scipys(wins: int, losses: int) -> None:
    expected = stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert binomial_p(wins, losses) == pytest.approx(expected, rel=1e-9)
    assert binomial_p(losses, wins) == binomial_p(wins, losses)


@pytest.mark.parametrize(
    ("won", "lost", "published"),
    [(910, 90, 1.12e-171), (1408, 192, 7.38e-229), (800, 0, 1.50e-241), (555, 45, 4.19e-113)],
)
def test_the_binomial_test_is_twice_the_articles_which_is_one_sided(won: int, lost: int, published: float) -> None:
    """Tables 8, 9 and 11, the matches from their percentages."""
    assert float(f"{binomial_p(won, lost) / 2:.2e}") == published


@pytest.mark.parametrize(("against", "published"), [(0, 9.09e-13), (1, 1.82e-12), (6, 1.27e-11)])
def test_the_wilcoxon_test_is_twice_the_articles_which_is_one_sided(against: int, published: float) -> None:
    """Table 6: 40 differences, of which none, the smallest or the sixth has the other sign (Othello, Go 9 and 11)."""
    differences = [-rank if rank == against else rank for rank in range(1, 41)]
    assert float(f"{wilcoxon_p(differences) / 2:.2e}") == published


def test_the_wilcoxon_test_without_ties_is_scipys_exact_one() -> None:
    rng = np.random.default_rng(0)
    for count in range(1, 40):
        differences = rng.normal(0.3, 1, count)
        expected = stats.wilcoxon(differences, method="exact").pvalue
        assert wilcoxon_p(differences.tolist()) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "differences", [(1, 1, -0.5, 0, 0.5, 0.5), (1, 1, 1), (0.5, -0.5), (1, -0.5, 1, 1, 0.5, 0.5, -1, 1, 0, 0)]
)
def test_with_ties_it_counts_all_signs(differences: tuple[float, ...]) -> None:
    sizes = [abs(x) for x in differences if x]
    ranks = stats.rankdata(sizes)
    seen = sum(rank for rank, x in zip(ranks, [x for x in differences if x], strict=True) if x > 0)
    least = min(seen, sum(ranks) - seen)
    sums = [sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign) for signs in _all_signs(len(sizes))]
    assert wilcoxon_p(differences) == pytest.approx(min(1.0, 2 * np.mean([x <= least for x in sums])))


def _all_signs(count: int) -> list[tuple[int, ...]]:
    return list(itertools.product((0, 1), repeat=count))


def test_many_differences_have_the_normal_distribution() -> None:
    rng = np.random.default_rng(1)
    differences = rng.choice([-1, -0.5, 0, 0.5, 1], 2 * MAX_EXACT_DIFFERENCES, p=[0.2, 0.2, 0.1, 0.25, 0.25])
    expected = stats.wilcoxon(differences, method="approx").pvalue
    assert wilcoxon_p(differences.tolist()) == pytest.approx(expected, rel=1e-9)
    near = differences[:MAX_EXACT_DIFFERENCES].tolist()
    assert wilcoxon_p(near) == pytest.approx(stats.wilcoxon(near, method="approx").pvalue, rel=0.05)


def test_no_difference_has_p_value_one() -> None:
    assert wilcoxon_p([]) == wilcoxon_p([0.0, 0.0]) == binomial_p(0, 0) == 1.0


def test_bad_numbers_are_refused() -> None:
    with pytest.raises(ConfigError, match="must be counts"):
        binomial_p(-1, 3)
    with pytest.raises(ConfigError, match="must be finite"):
        wilcoxon_p([math.nan])
