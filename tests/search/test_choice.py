"""Decisions: completed action selection (Section 5.2) and the ordinal distribution (Section 7)."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from hand_nodes import node_of
from hypothesis import given, settings
from hypothesis import strategies as st

from athenan_spiel.errors import ConfigError
from athenan_spiel.search.choice import (
    best,
    completed,
    completed_best_action,
    constant_exploitation,
    ordinal,
    safest,
    safest_action,
    uniform_exploitation,
)
from athenan_spiel.search.node import Node

PLAYERS = pytest.mark.parametrize("maximises", [True, False], ids=["maximiser", "minimiser"])


def test_best_and_safest_are_the_articles_orders() -> None:
    assert (best, safest) == (completed_best_action, safest_action)


# Completed action selection


class Rule:
    """A rule that records its candidates, and selects the last."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []

    def __call__(self, node: Node, candidates: Sequence[int], rng: random.Random) -> int:
        self.asked.append(list(candidates))
        return candidates[-1]


# name: (values, proven gains, what the rule is asked, every answer)
SELECTIONS = {
    "nothing proven: the rule, among all": ([0.3, 0.1, 0.2], {}, [0, 1, 2], {2}),
    "a win is played, whatever the values beside it": ([9.0, 1.0, 5.0], {1: 1}, None, {1}),
    "the win of best value": ([1.0, 3.0, 9.0, 2.0], {0: 1, 1: 1, 3: 1}, None, {1}),
    "equal wins: any of them": ([3.0, 1.0, 3.0, 9.0], {0: 1, 1: 1, 2: 1}, None, {0, 2}),
    "a win beside a draw and a loss": ([0.0, 1.0, -1.0], {0: 0, 1: 1, 2: -1}, None, {1}),
    "a proven loss is not played, whatever its value": ([0.1, 9.0, 0.2], {1: -1}, [0, 2], {2}),
    "the only action not lost": ([9.0, -5.0, 9.0], {0: -1, 2: -1}, [1], {1}),
    "a proven draw is open": ([0.0, -0.5, -1.0], {0: 0, 2: -1}, [0, 1], {1}),
    "draws alone are left to the rule": ([0.0, 0.0], {0: 0, 1: 0}, [0, 1], {1}),
    "all lost: the best value": ([-3.0, -1.0, -2.0], {0: -1, 1: -1, 2: -1}, None, {1}),
    "all lost alike: any": ([-1.0, -1.0, -2.0], {0: -1, 1: -1, 2: -1}, None, {0, 1}),
}


@PLAYERS
@pytest.mark.parametrize(
    ("values", "proven", "asked", "expected"), [pytest.param(*case, id=name) for name, case in SELECTIONS.items()]
)
def test_completed_action_selection(
    values: list[float], proven: dict[int, int], asked: list[int] | None, expected: set[int], maximises: bool
) -> None:
    rule = Rule()
    node = node_of(values, maximises=maximises, proven=proven)
    assert {completed(rule)(node, random.Random(seed)) for seed in range(40)} == expected
    assert rule.asked == ([] if asked is None else [asked] * 40)


# The ordinal distribution


def closed_formula(count: int, exploitation: float) -> list[float]:
    """P(c_i) by rank, as Section 7 prints it."""
    probabilities: list[float] = []
    for i in range(count):
        probabilities.append((exploitation + (1 - exploitation) / (count - i)) * (1 - sum(probabilities)))
    return probabilities


class ScriptedRandom(random.Random):
    """Returns scripted numbers from `random()`. It does not shuffle, so ranks are known even among equal values."""

    def __init__(self, script: Sequence[float]) -> None:
        super().__init__(0)
        self._script = list(script)

    def random(self) -> float:
        return self._script.pop(0)

    def shuffle(self, x: list[int]) -> None:  # type: ignore[override]
        pass


Choose = Callable[[random.Random], int]


def acceptance(choose: Choose, ranked: Sequence[int], rank: int) -> float:
    """Returns the probability that the action of `rank` is selected once all better ones were not, to 1e-12.

    It is the largest value of `random()` at which the rule stops there, found by bisection.
    """

    def stops(x: float) -> bool:
        refusals = [math.nextafter(1.0, 0.0)] * rank  # the largest that random() can answer
        accepted = choose(ScriptedRandom([*refusals, x, *[0.0] * len(ranked)]))
        assert accepted in ranked[rank : rank + 2]
        return accepted == ranked[rank]

    if stops(math.nextafter(1.0, 0.0)):
        return 1.0
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if stops(middle) else (low, middle)
    return low


def probabilities_by_rank(choose: Choose, ranked: Sequence[int]) -> list[float]:
    """Returns the exact distribution of a rule that stops at each of `ranked` with some probability."""
    left, answer = 1.0, []
    for rank in range(len(ranked)):
        p = acceptance(choose, ranked, rank)
        answer.append(left * p)
        left *= 1 - p
    return answer


@PLAYERS
@pytest.mark.parametrize("exploitation", [0.0, 0.1, 0.5, 0.93, 1.0])
@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_probabilities_are_those_of_the_closed_formula(count: int, exploitation: float, maximises: bool) -> None:
    worth = [0.1, 0.7, -0.2, 0.5, -2.0, 3.0][:count]
    ranked = sorted(range(count), key=lambda i: -worth[i])
    node = node_of(worth, maximises=maximises)
    rule = ordinal(constant_exploitation(exploitation))
    if exploitation == 1.0:
        assert {rule(node, range(count), random.Random(seed)) for seed in range(100)} == {ranked[0]}
        return
    got = probabilities_by_rank(lambda rng: rule(node, range(count), rng), ranked)
    assert got == pytest.approx(closed_formula(count, exploitation), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(-50, 50), min_size=2, max_size=8, unique=True), st.floats(0, 0.999), st.booleans(), st.data()
)
def test_only_candidates_are_ranked_and_n_counts_them(
    worth: list[int], exploitation: float, maximises: bool, data: st.DataObject
) -> None:
    candidates = data.draw(st.lists(st.sampled_from(range(len(worth))), min_size=1, unique=True))
    node = node_of([float(w) for w in worth], maximises=maximises)
    rule = ordinal(constant_exploitation(exploitation))
    ranked = sorted(candidates, key=lambda i: -worth[i])
    got = probabilities_by_rank(lambda rng: rule(node, candidates, rng), ranked)
    assert got == pytest.approx(closed_formula(len(candidates), exploitation), abs=1e-9)


@given(st.integers(1, 60), st.floats(0, 1))
def test_laws_of_the_closed_formula(count: int, exploitation: float) -> None:
    """Tests the oracle above: its probabilities sum to 1, and ε' has its documented meaning."""
    p = closed_formula(count, exploitation)
    assert sum(p) == pytest.approx(1)
    assert all(x >= -1e-12 for x in p)
    assert all(better >= worse - 1e-12 for better, worse in itertools.pairwise(p))
    assert closed_formula(count, 0.0) == pytest.approx([1 / count] * count)
    assert closed_formula(count, 1.0) == pytest.approx([1.0] + [0.0] * (count - 1))


def frequencies(rule: Callable[[random.Random], int], count: int, draws: int) -> list[float]:
    rng = random.Random(20)
    counts = Counter(rule(rng) for _ in range(draws))
    return [counts[i] / draws for i in range(count)]


def assert_frequencies(got: Sequence[float], expected: Sequence[float], draws: int) -> None:
    """Within five standard deviations each."""
    for g, p in zip(got, expected, strict=True):
        assert abs(g - p) <= 5 * math.sqrt(p * (1 - p) / draws) + 1e-12, (got, expected)


DRAWS = 8000


@PLAYERS
@pytest.mark.parametrize("exploitation", [0.0, 0.3, 0.8])
def test_frequencies_with_a_real_generator(exploitation: float, maximises: bool) -> None:
    node = node_of([0.1, 0.7, -0.2, 0.5], maximises=maximises)
    rule = ordinal(constant_exploitation(exploitation))
    by_rank = closed_formula(4, exploitation)
    expected = [by_rank[2], by_rank[0], by_rank[3], by_rank[1]]
    assert_frequencies(frequencies(lambda rng: rule(node, range(4), rng), 4, DRAWS), expected, DRAWS)


@PLAYERS
def test_equal_values_share_their_ranks_probability(maximises: bool) -> None:
    node = node_of([0.5, 0.9, 0.5, -1.0, 0.5], maximises=maximises)
    rule = ordinal(constant_exploitation(0.4))
    p = closed_formula(5, 0.4)
    shared = sum(p[1:4]) / 3
    expected = [shared, p[0], shared, p[4], shared]
    assert_frequencies(frequencies(lambda rng: rule(node, range(5), rng), 5, DRAWS), expected, DRAWS)


def test_full_exploitation_draws_among_equal_bests() -> None:
    node = node_of([0.5, 0.9, 0.9], maximises=True)
    rule = ordinal(constant_exploitation(1.0))
    got = frequencies(lambda rng: rule(node, range(3), rng), 3, DRAWS)
    assert_frequencies(got, [0.0, 0.5, 0.5], DRAWS)


def test_a_uniform_parameter_is_drawn_for_every_choice() -> None:
    """The mean of ε' + (1 - ε') / n over ε' in [0, 1] is (1 + 1/n) / 2, here 3/4; two fixed halves would show too."""
    assert uniform_exploitation(ScriptedRandom([0.25])) == 0.25
    node = node_of([0.5, 0.9], maximises=True)
    rule = ordinal(uniform_exploitation)
    got = frequencies(lambda rng: rule(node, range(2), rng), 2, DRAWS)
    assert_frequencies(got, [0.25, 0.75], DRAWS)
    # ε' = 0.6 with two actions: the best is taken up to a draw of 0.8. Asked first, and anew each time.
    assert [rule(node, range(2), ScriptedRandom([0.6, x, 0.0])) for x in (0.79, 0.81)] == [1, 0]


def test_the_schedule_is_asked_with_the_choices_generator() -> None:
    asked: list[random.Random] = []

    def schedule(rng: random.Random) -> float:
        asked.append(rng)
        return 1.0

    rng = random.Random(1)
    assert ordinal(schedule)(node_of([0.1, 0.2], maximises=True), range(2), rng) == 1
    assert asked == [rng]


def test_the_rule_leaves_the_candidates_as_they_are() -> None:
    candidates = [2, 0, 1]
    ordinal(constant_exploitation(0.5))(node_of([0.1, 0.2, 0.3], maximises=True), candidates, random.Random(1))
    assert candidates == [2, 0, 1]


@pytest.mark.parametrize("value", [-0.01, 1.01, math.nan, math.inf])
def test_a_parameter_outside_the_unit_interval_is_refused(value: float) -> None:
    with pytest.raises(ConfigError, match=r"must be in \[0, 1\], got " + str(value)):
        constant_exploitation(value)
