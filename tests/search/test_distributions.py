"""ε-greedy, softmax and best against their closed formulas, and which of them a configuration makes."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from hand_nodes import node_of
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.brute_force import load
from oracles.evaluators import noise

from athenan_spiel.config import ExplorationConfig
from athenan_spiel.errors import ConfigError
from athenan_spiel.search import MCTS, UBFM, AlphaBeta, Budget, Descent, think
from athenan_spiel.search.choice import (
    Rule,
    best,
    constant_exploitation,
    epsilon_greedy,
    greedy,
    make_decision,
    safest,
    scheduled_exploitation,
    softmax,
    uniform_exploitation,
    visits,
)
from athenan_spiel.search.node import Node

PLAYERS = pytest.mark.parametrize("maximises", [True, False], ids=["maximiser", "minimiser"])
WORTH = [0.3, 0.9, 0.1, 0.5]


class GridRandom(random.Random):
    """Answers `random()` from a script, and zero when it is used up; a choice takes one of its numbers."""

    def __init__(self, script: Iterable[float]) -> None:
        super().__init__(0)
        self._script = list(script)

    def random(self) -> float:
        return self._script.pop(0) if self._script else 0.0

    def choice(self, seq: Any) -> Any:
        return seq[int(self.random() * len(seq))]


def enumerated(choose: Callable[[random.Random], int], count: int, *grids: int) -> list[float]:
    """The distribution of a choice over `count` actions, when the i-th `random()` takes grids[i] equidistant values."""
    counts = [0] * count
    for script in itertools.product(*([(k + 0.5) / size for k in range(size)] for size in grids)):
        counts[choose(GridRandom(script))] += 1
    return [c / math.prod(grids) for c in counts]


def of_rule(rule: Rule, node: Node, candidates: Sequence[int], *grids: int) -> list[float]:
    return enumerated(lambda rng: rule(node, candidates, rng), len(node.values), *grids)


# The closed formulas


@PLAYERS
@pytest.mark.parametrize("exploitation", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_epsilon_greedy_is_uniform_with_probability_epsilon_and_the_best_otherwise(
    exploitation: float, maximises: bool
) -> None:
    rule = epsilon_greedy(constant_exploitation(exploitation))
    share = (1 - exploitation) / 4
    expected = [share, share + exploitation, share, share]
    got = of_rule(rule, node_of(WORTH, maximises=maximises), range(4), 20, 20)
    assert got == pytest.approx(expected, abs=1e-12)


@PLAYERS
@pytest.mark.parametrize("exploitation", [0.1, 0.5, 0.75])
def test_softmax_is_the_closed_formula(exploitation: float, maximises: bool) -> None:
    temperature = 0.4
    tau = temperature * (1 - exploitation) / exploitation
    powers = np.exp(np.array(WORTH) / tau)
    rule = softmax(constant_exploitation(exploitation), temperature)
    got = of_rule(rule, node_of(WORTH, maximises=maximises), range(4), 5000)
    assert got == pytest.approx(powers / powers.sum(), abs=2 / 5000)


def test_at_one_half_the_temperature_is_the_given_one() -> None:
    got = of_rule(softmax(constant_exploitation(0.5), 2.0), node_of([0.0, 2.0 * math.log(3)]), range(2), 4000)
    assert got == [0.25, 0.75]


@pytest.mark.parametrize("make", [epsilon_greedy, lambda exploitation: softmax(exploitation, 0.4)])
def test_the_ends_are_uniform_play_and_the_best_action(make: Callable[..., Rule]) -> None:
    node = node_of(WORTH)
    uniform = [make(constant_exploitation(0.0))(node, range(4), random.Random(seed)) for seed in range(400)]
    assert all(60 < uniform.count(i) < 140 for i in range(4))
    assert {make(constant_exploitation(1.0))(node, range(4), random.Random(seed)) for seed in range(100)} == {1}


@pytest.mark.parametrize("exploitation", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("make", [epsilon_greedy, lambda exploitation: softmax(exploitation, 0.4)])
def test_only_candidates_are_chosen(make: Callable[..., Rule], exploitation: float) -> None:
    rule = make(constant_exploitation(exploitation))
    chosen = {rule(node_of(WORTH), [0, 3], random.Random(seed)) for seed in range(100)}
    assert chosen == ({3} if exploitation == 1.0 else {0, 3})


@PLAYERS
def test_equal_bests_are_equally_likely(maximises: bool) -> None:
    node = node_of([0.5, 0.9, 0.9, 0.1], maximises=maximises)
    one = constant_exploitation(1.0)
    for rule in (greedy, epsilon_greedy(one), softmax(one, 0.1)):
        chosen = [rule(node, range(4), random.Random(seed)) for seed in range(400)]
        assert set(chosen) == {1, 2}
        assert 150 < chosen.count(1) < 250


@PLAYERS
def test_greedy_takes_the_movers_best(maximises: bool) -> None:
    assert {greedy(node_of(WORTH, maximises=maximises), range(4), random.Random(seed)) for seed in range(20)} == {1}


# Softmax of numbers that do not suit a power

EXTREMES = st.sampled_from([0.0, 1e-300, -1e-300, 1.0, -1.0, 1e6, -1e6, 1e308, -1e308, math.inf, -math.inf])


@settings(deadline=None)
@given(
    st.lists(EXTREMES, min_size=1, max_size=5),
    st.sampled_from([0.0, 5e-324, 1e-300, 0.5, 1 - 2**-53, 1.0]),
    st.sampled_from([1e-308, 0.1, 1e300]),
    st.booleans(),
    st.integers(0, 5),
)
def test_softmax_is_safe_at_every_number(
    worth: list[float], exploitation: float, temperature: float, maximises: bool, seed: int
) -> None:
    rule = softmax(constant_exploitation(exploitation), temperature)
    chosen = rule(node_of(worth, maximises=maximises), range(len(worth)), random.Random(seed))
    assert 0 <= chosen < len(worth)
    if exploitation == 1.0:
        assert worth[chosen] == max(worth)


def test_softmax_does_not_change_when_all_values_are_shifted() -> None:
    rule = softmax(constant_exploitation(0.5), 1.0)
    near, far = node_of([1.0, 2.0, 3.0]), node_of([1e15 + 1, 1e15 + 2, 1e15 + 3])
    assert of_rule(rule, near, range(3), 1000) == of_rule(rule, far, range(3), 1000)


def test_an_infinite_value_is_taken_alone_or_never() -> None:
    rule = softmax(constant_exploitation(0.5), 1.0)
    assert of_rule(rule, node_of([1.0, math.inf, 2.0]), range(3), 50) == [0.0, 1.0, 0.0]
    assert of_rule(rule, node_of([1.0, -math.inf, 1.0]), range(3), 50) == [0.5, 0.0, 0.5]


# Schedules


def test_the_exploitation_parameter_follows_the_schedule() -> None:
    rng = random.Random(0)
    drawn = [scheduled_exploitation(ExplorationConfig(), 0.3)(rng) for _ in range(100)]
    assert 0.3 < np.mean(drawn) < 0.7
    assert len(set(drawn)) == 100
    annealed = ExplorationConfig(schedule="annealed")
    assert [scheduled_exploitation(annealed, progress)(rng) for progress in (0.0, 0.3, 1.0)] == [0.0, 0.3, 1.0]
    assert scheduled_exploitation(ExplorationConfig(schedule="constant", exploitation=0.9), 0.3)(rng) == 0.9


@pytest.mark.parametrize("make", [epsilon_greedy, lambda exploitation: softmax(exploitation, 0.4)])
def test_the_parameter_is_asked_once_for_each_choice_with_its_generator(make: Callable[..., Rule]) -> None:
    asked: list[random.Random] = []

    def schedule(rng: random.Random) -> float:
        asked.append(rng)
        return 0.5

    rng = random.Random(1)
    make(schedule)(node_of(WORTH), range(4), rng)
    assert asked == [rng]


def test_a_uniform_parameter_mixes_all_epsilons() -> None:
    """The mean of ε' + (1 - ε') / n over ε' in [0, 1] is (1 + 1/n) / 2."""
    rng, rule = random.Random(3), epsilon_greedy(uniform_exploitation)
    chosen = [rule(node_of([0.1, 0.9]), range(2), rng) for _ in range(4000)]
    assert abs(np.mean(chosen) - 0.75) < 0.03


# Visits, and the first plies of a match


@PLAYERS
@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_visits_are_raised_to_the_power(temperature: float, maximises: bool) -> None:
    counts = {0: 1, 1: 4, 3: 9}
    powers = np.array([1.0, 4.0, 0.0, 9.0]) ** (1 / temperature)
    node = node_of(WORTH, maximises=maximises, visits=counts)
    assert of_rule(visits(temperature), node, range(4), 5000) == pytest.approx(powers / powers.sum(), abs=2 / 5000)
    alone = of_rule(visits(temperature), node, [0, 1], 5000)
    assert alone[:2] == pytest.approx(powers[:2] / powers[:2].sum(), abs=2 / 5000)


@pytest.mark.parametrize("temperature", [1e-320, 1e-3, 1e6])
def test_visits_are_safe_at_every_temperature(temperature: float) -> None:
    node = node_of(WORTH, visits={0: 10**9, 1: 10**9 - 1, 3: 1})
    chosen = {visits(temperature)(node, range(4), random.Random(seed)) for seed in range(200)}
    assert chosen == ({0, 1, 3} if temperature == 1e6 else {0} if temperature == 1e-320 else {0, 1})


def test_where_nothing_was_visited_all_are_alike() -> None:
    node = node_of(WORTH, visits={1: 5})
    assert {visits(1.0)(node, [0, 2], random.Random(seed)) for seed in range(30)} == {0, 2}


@pytest.mark.parametrize(
    ("options", "later"),
    [
        ({"distribution": "visits"}, 3),
        ({"distribution": "visits", "completed": False}, 3),
        ({"distribution": "epsilon_greedy", "schedule": "constant", "exploitation": 0.0}, 1),
        ({"distribution": "ordinal", "schedule": "constant", "exploitation": 0.0}, 1),
    ],
)
def test_in_the_first_plies_moves_are_drawn_and_later_the_best_is_played(options: Any, later: int) -> None:
    decision = make_decision(ExplorationConfig(plies=3, **options), 0.0, SCALE)
    chosen = {}
    for ply in range(5):
        node = node_of(WORTH, visits={0: 5, 1: 5, 2: 5, 3: 6})
        node.ply = ply
        chosen[ply] = {decision(node, random.Random(seed)) for seed in range(60)}
    everything, best = {0, 1, 2, 3}, {later}
    assert chosen == {0: everything, 1: everything, 2: everything, 3: best, 4: best}


def test_equally_visited_later_the_better_value_is_played() -> None:
    decision = make_decision(ExplorationConfig(distribution="visits", plies=1), 0.0, SCALE)
    node = node_of(WORTH, visits={0: 6, 2: 6, 3: 6})
    node.ply = 1
    assert {decision(node, random.Random(seed)) for seed in range(30)} == {3}


def test_the_search_itself_may_decide() -> None:
    for own in (best, safest):
        assert make_decision(ExplorationConfig(distribution="search"), 0.0, SCALE, own) is own


def test_a_node_knows_how_many_actions_were_played_before_it() -> None:
    game = load("tic_tac_toe")
    state = game.new_initial_state().child(4)
    for search in (Descent(game), UBFM(game), AlphaBeta(game), MCTS(game)):
        tree = search.new_tree()
        node = think(search, state, Budget(iterations=20), noise(0), tree=tree).node
        assert node.ply == 1
        assert {child.ply for child in node.children.values()} == {2}
        assert {twin.ply for twin in tree.copy().nodes} == {node.ply for node in tree.nodes} != {1}


# What a configuration makes

CONSTANT: dict[str, Any] = {"schedule": "constant", "exploitation": 0.5}
SCALE = 4.0


def made(progress: float = 0.0, *, proven: dict[int, int] | None = None, **options: Any) -> list[float]:
    """The distribution of the decision over `WORTH`, from 8,000 draws."""
    decision = make_decision(ExplorationConfig(**options), progress, SCALE)
    node, rng = node_of(WORTH, proven=proven), random.Random(4)
    chosen = [decision(node, rng) for _ in range(8000)]
    return [chosen.count(i) / 8000 for i in range(4)]


def boltzmann(tau: float) -> list[float]:
    powers = np.exp(np.array(WORTH) / tau)
    return list(powers / powers.sum())


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({"distribution": "epsilon_greedy"}, [0.125, 0.625, 0.125, 0.125], id="epsilon_greedy"),
        pytest.param({"distribution": "ordinal"}, [0.09375, 0.625, 0.03125, 0.25], id="ordinal"),
        pytest.param({"distribution": "best"}, [0.0, 1.0, 0.0, 0.0], id="best"),
        pytest.param({"distribution": "softmax"}, boltzmann(0.1 * SCALE), id="softmax"),
        pytest.param({"distribution": "softmax", "temperature": 0.5}, boltzmann(0.5 * SCALE), id="warm softmax"),
    ],
)
@pytest.mark.parametrize("completed", [True, False])
def test_a_configuration_makes_its_distribution(
    options: dict[str, Any], expected: list[float], completed: bool
) -> None:
    assert made(completed=completed, **CONSTANT, **options) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("distribution", ["ordinal", "epsilon_greedy", "softmax"])
def test_annealing_ends_at_the_best_action(distribution: Any) -> None:
    begun = made(0.0, distribution=distribution, schedule="annealed")
    assert begun == pytest.approx([0.25] * 4, abs=0.02)
    assert made(1.0, distribution=distribution, schedule="annealed") == [0.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize("distribution", ["ordinal", "epsilon_greedy", "softmax", "best"])
def test_completed_or_not(distribution: Any) -> None:
    """Action 2 is won though its value is the least, or action 1 is lost though its value is the best."""
    options = {"distribution": distribution, **CONSTANT}
    assert made(proven={2: 1, 1: -1}, **options) == [0.0, 0.0, 1.0, 0.0]
    assert made(proven={1: -1}, **options)[1] == 0.0
    blind = made(completed=False, **options)
    assert made(completed=False, proven={2: 1, 1: -1}, **options) == blind
    assert blind[1] == max(blind) > 0.3


def test_the_best_of_values_loses_where_the_completed_best_wins() -> None:
    proven = {1: -1}
    assert made(distribution="best", proven=proven) == [0.0, 0.0, 0.0, 1.0]
    assert made(distribution="best", completed=False, proven=proven) == [0.0, 1.0, 0.0, 0.0]


def test_progress_outside_the_run_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"must be in \[0, 1\], got 1.5"):
        make_decision(ExplorationConfig(schedule="annealed"), 1.5, 1.0)
