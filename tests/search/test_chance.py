"""Laws of the searches in games with chance, against brute force over drawn trees and published values of Pig."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyspiel
import pytest
from chance_trees import Trees, best_points, brute_force, einstein, points, without_chance, wrapped
from fake_game import FIRST_ACTION, FakeGame, FakeState, Place, chance, first, same, second
from numpy.typing import NDArray

from athenan_spiel.errors import SearchError
from athenan_spiel.evaluators import ZeroEvaluator
from athenan_spiel.games import load_game
from athenan_spiel.games.chance import CHANCE_SAMPLES, is_chance, outcomes_of, roll, sampled_outcomes
from athenan_spiel.outcomes import gain
from athenan_spiel.outcomes.infinite import InfiniteTerminal
from athenan_spiel.search import UBFM, Budget, Descent, Search, think
from athenan_spiel.search.choice import all_outcomes, least_visited_outcome, random_outcome
from athenan_spiel.search.node import Node, NodeKind, RowNode, StochasticNode, expectation
from athenan_spiel.search.result import action_evaluations

SEARCHES = pytest.mark.parametrize("kind", [Descent, UBFM])
PROVEN = Budget(iterations=100_000)


def written(states: Sequence[FakeState]) -> NDArray[np.float64]:
    return np.array([state.value for state in states])


def nodes_with_states(node: Node, state: FakeState) -> list[tuple[Node, FakeState]]:
    below = [
        pair for i, child in node.children.items() for pair in nodes_with_states(child, state.child(node.actions[i]))
    ]
    return [(node, state), *below]


def check_laws(node: Node) -> None:
    """Checks laws 2 and 6 to 8 of `search.node`."""
    for i, resolved in enumerate(node.resolutions):
        assert resolved or node.completions[i] == 0
    if isinstance(node, StochasticNode) and node.kind is NodeKind.CHANCE:
        assert node.value == expectation(node.values, node.probabilities)
        assert node.resolved == all(node.resolutions)
        return
    best = node.kind.best
    assert (node.completion, node.value) == best(zip(node.completions, node.values, strict=True))
    assert node.resolved == (abs(node.completion) == 1 or all(node.resolutions))
    if not all(node.resolutions):
        assert set(node.completions) <= {-1.0, 0.0, 1.0}


@SEARCHES
@pytest.mark.parametrize(
    "block", [0, *(pytest.param(block, marks=pytest.mark.slow("250 more trees each")) for block in (1, 2, 3))]
)
def test_a_proof_is_the_expectation_that_brute_force_finds(kind: type[Search], block: int) -> None:
    for seed in range(250 * block, 250 * (block + 1)):
        root = Trees(seed).root(5)
        game = FakeGame(root)
        rng = random.Random(seed)
        rules = (least_visited_outcome, random_outcome, all_outcomes)
        for outcome, lines in (*((rule, 1) for rule in rules), (least_visited_outcome, 4)):
            if lines > 1 and kind is Descent:
                continue
            options: dict[str, Any] = {"lines": lines} if lines > 1 else {}
            if kind is Descent and outcome is all_outcomes:
                options = {"longest": 100}
            options["evaluate_outcomes"] = rng.random() < 0.5
            worth = rng.choice([points, gain])
            search = kind(game, key=str, outcome=worth, chance_selection=outcome, **options)
            tree = search.new_tree()
            for budget in (Budget(iterations=rng.randint(1, 6)), PROVEN):
                result = think(search, game.new_initial_state(), budget, written, tree=tree, rng=rng)
                for node, state in nodes_with_states(result.node, game.new_initial_state()):
                    check_laws(node)
                    if node.resolved:
                        assert node.completion == pytest.approx(brute_force(state), abs=1e-9), f"{seed}, {state}"
                        assert worth is points or node.value == node.completion, f"{seed}, {state}"
                    assert -3 <= node.value <= 3
            assert result.is_resolved, f"seed {seed}"
            if worth is points:  # law 9
                low, high = best_points(game.new_initial_state())
                assert low - 1e-9 <= result.node.value <= high + 1e-9, f"seed {seed}"
            played = brute_force(game.new_initial_state().child(result.best_action))
            assert played == pytest.approx(brute_force(game.new_initial_state()), abs=1e-9), f"seed {seed}"


@SEARCHES
def test_trivial_chance_changes_no_decision(kind: type[Search]) -> None:
    for seed in range(200):
        rng = random.Random(seed)
        root = without_chance(5, rng)
        if not isinstance(root, Place):
            continue
        plain, around = FakeGame(root), FakeGame(wrapped(root))
        found = [
            think(kind(game, key=str, outcome=points), game.new_initial_state(), PROVEN, written)
            for game in (plain, around)
        ]
        start = plain.new_initial_state()
        best = {a for a in start.legal_actions() if brute_force(start.child(a)) == brute_force(start)}
        assert {result.best_action for result in found} <= best, seed
        assert len(best) > 1 or found[0].best_action == found[1].best_action, seed
        assert found[0].completion == found[1].completion, seed


@SEARCHES
def test_einstein_on_a_small_board_has_the_value_of_brute_force(kind: type[Search]) -> None:
    game = einstein(3)
    known: dict[str, float] = {}

    def expected(state: FakeState) -> float:
        if (name := str(state)) not in known:
            known[name] = brute_force(state, expected)
        return known[name]

    state = game.new_initial_state()
    result = think(kind(game, key=str), state, PROVEN, written)
    assert result.is_resolved
    assert result.completion == pytest.approx(expected(state), abs=1e-12)
    assert -1 < result.completion < 1
    assert len(known) > 1000
    for node, at in nodes_with_states(result.node, state):
        assert not node.resolved or node.completion == pytest.approx(expected(at), abs=1e-12), str(at)


def test_a_certain_win_precedes_an_estimate_and_a_chance_of_one_does_not() -> None:
    certain = first(0.0, A=chance(0.1, [0.5, 0.5], W=1, X=1), B=second(0.9, C=-1, D=first(2.0, E=1, F=1)))
    result = think(UBFM(FakeGame(certain), key=str), FakeGame(certain).new_initial_state(), PROVEN, written)
    assert (result.is_resolved, result.completion) == (True, 1)
    game = FakeGame(first(0.0, A=chance(0.1, [0.5, 0.5], W=1, X=-1), B=first(0.9, C=second(0.8, D=0, E=1))))
    search = Descent(game, key=str)
    tree = search.new_tree()
    result = think(search, game.new_initial_state(), Budget(iterations=1), written, tree=tree)
    assert set(result.completions.tolist()) == {0.0}
    result = think(search, game.new_initial_state(), PROVEN, written, tree=tree)
    assert (result.is_resolved, result.completion, result.completions.tolist()) == (True, 0.0, [0.0, 0.0])


def test_outcomes_are_visited_in_proportion_to_their_probabilities() -> None:
    node = StochasticNode(range(3), [0.0, 0.0, 0.0], NodeKind.CHANCE)
    node.probabilities = [0.5, 0.3, 0.2]
    rng = random.Random(0)
    for count in range(1, 201):
        i = least_visited_outcome(node, rng)
        node.visits[i] = node.count(i) + 1
        assert all(abs(node.count(i) - count * p) <= 1 for i, p in enumerate(node.probabilities))


@SEARCHES
def test_an_iteration_can_follow_all_outcomes(kind: type[Search]) -> None:
    dice = chance(0.1, [0.5, 0.3, 0.2], A=first(0.2, D=1, E=0), B=first(0.3, F=1, G=0), C=first(0.4, H=1, I=0))
    game = FakeGame(first(0.0, R=dice, S=second(-1.0, J=-1, K=-1)))
    limit = {"longest": 100} if kind is Descent else {}
    search = kind(game, key=str, chance_selection=all_outcomes, **limit)
    tree = search.new_tree()
    node = think(
        search, game.new_initial_state(), Budget(iterations=1 if kind is Descent else 3), written, tree=tree
    ).node
    rolled = node.children[0]
    assert [rolled.count(i) for i in range(3)] == [1, 1, 1]
    assert (node.count(0), node.resolved, node.completion) == (1 if kind is Descent else 2, True, 1)


@SEARCHES
def test_chance_states_can_be_estimated_by_their_outcomes(kind: type[Search]) -> None:
    dice = chance(5.0, [0.25, 0.75], G=first(-1.0, H=0, I=1), J=second(0.5, K=0, L=1))
    ended = chance(5.0, [0.5, 0.5], A=2, B=first(1.0, C=0, D=1))
    twice = chance(5.0, [1.0], E=chance(0.75, [1.0], F=1))
    game = FakeGame(first(0.0, R=dice, S=ended, T=twice, U=second(0.9, V=1, W=0)))
    asked: list[FakeState] = []

    def evaluator(states: Sequence[FakeState]) -> NDArray[np.float64]:
        asked.extend(states)
        return written(states)

    for more in {UBFM: ({}, {"lines": 4}), Descent: ({"longest": 1},)}[kind]:
        asked.clear()
        search = kind(game, key=str, outcome=points, evaluate_outcomes=True, **more)
        node = think(search, game.new_initial_state(), Budget(iterations=1), evaluator).node
        assert node.values == [0.25 * -1.0 + 0.75 * 0.5, 0.5 * 2 + 0.5 * 1.0, 0.75, 0.9]
        assert [state.value for state in asked] == [-1.0, 0.5, 1.0, 0.75, 0.9], "all in one batch"


def test_rows_can_be_estimated_by_outcomes() -> None:
    game = load_game("pig(players=3,winscore=20)")
    state = game.new_initial_state()

    def evaluator(states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        rolled = np.array([state.history()[-1] if len(state.history()) > 1 else 0 for state in states], float)
        return np.stack([rolled, -rolled, 0 * rolled], 1) / 10

    node = think(UBFM(game, evaluate_outcomes=True), state, Budget(iterations=1), evaluator).node
    assert isinstance(node, RowNode)
    assert node.rows[0] == pytest.approx((0.25, -0.25, 0.0)), "the mean of 0 to 5 is 2.5"


def long_way(name: str) -> Place:
    """A state that UBFM does not prove in one iteration."""
    last = first(0.2, **{f"{name}4": 1, f"{name}5": 0})
    return first(0.1, **{f"{name}1": second(0.3, **{f"{name}2": last, f"{name}3": 1})})


def test_an_iteration_through_all_outcomes_leaves_out_proven_ones() -> None:
    dice = chance(0.1, [0.5, 0.3, 0.2], A=long_way("a"), B=1, C=-1)
    game = FakeGame(first(0.0, R=dice, S=second(-1.0, J=-1, K=-1)))
    search = UBFM(game, key=str, chance_selection=all_outcomes)
    node = think(search, game.new_initial_state(), PROVEN, written).node
    assert node.resolved
    assert node.children[0].count(0) > 1
    assert [node.children[0].count(i) for i in (1, 2)] == [0, 0]


def test_an_iteration_branches_once_at_a_chance_state() -> None:
    both = chance(0.1, [0.5, 0.5], M=long_way("m"), N=long_way("n"))
    game = FakeGame(first(0.0, R=chance(0.1, [0.5, 0.5], A=first(0.1, T=both), B=first(0.1, T=same))))
    search = UBFM(game, key=str, chance_selection=all_outcomes)
    tree, counts = search.new_tree(), [0]
    for _ in range(8):
        think(search, game.new_initial_state(), Budget(iterations=1), written, tree=tree)
        node = tree.table.get("T")
        counts.append(0 if node is None else sum(node.visits.values()))
    assert max(after - before for before, after in itertools.pairwise(counts)) == 3, "2 from A, 1 from B"


def test_limits_end_an_iteration_through_all_outcomes() -> None:
    game = load_game("pig(players=2,winscore=20)")
    state, zeros = game.new_initial_state(), ZeroEvaluator()
    for longest in (1, 2, 7, 40):
        search = Descent(game, chance_selection=all_outcomes, longest=longest)
        tree = search.new_tree()
        think(search, state, Budget(iterations=1), zeros, tree=tree)
        assert len(tree.table) == longest
    with pytest.raises(SearchError, match="requires a longest descent"):
        Descent(game, chance_selection=all_outcomes)
    with pytest.raises(SearchError, match="one outcome of each chance state, not all"):
        UBFM(game, lines=2, chance_selection=all_outcomes)


def test_more_outcomes_than_a_search_distinguishes_are_sampled_without_bias() -> None:
    game = load_game("yacht(players=1)")
    sums: dict[int, float] = {}
    states = 0
    for seed in range(60):
        state, rng = game.new_initial_state(), random.Random(seed)
        roll(state, rng.random)
        while not is_chance(state):
            state.apply_action(rng.choice(state.legal_actions()))
        outcomes, _ = outcomes_of(state)
        sample, weights, complete = sampled_outcomes(state)
        assert complete == (len(outcomes) <= CHANCE_SAMPLES)
        assert sum(weights) == pytest.approx(1)
        assert (sample, weights, complete) == sampled_outcomes(state.clone())
        if len(outcomes) == 7776:
            states += 1
            for outcome, weight in zip(sample, weights, strict=True):
                sums[outcome // 1296] = sums.get(outcome // 1296, 0) + weight
    if states:
        assert [sums[face] / states for face in range(6)] == pytest.approx([1 / 6] * 6, abs=0.02)


def test_an_outcome_without_finite_values_is_refused() -> None:
    with pytest.raises(SearchError, match="chance"):
        UBFM("pig(players=2)", outcome=InfiniteTerminal())


class Pig:
    """Win probability of the player to move in Pig to `goal`, by value iteration (Neller and Presser 2004).

    A state is (own score, other score, turn total). A win needs own score + turn total of at least the goal.
    """

    def __init__(self, goal: int) -> None:
        self.goal = goal
        size = goal
        self.table = np.full((size, size, size), 0.5)
        change = 1.0
        while change > 1e-13:
            change = 0.0
            for own in reversed(range(goal)):
                for other in reversed(range(goal)):
                    for turn in reversed(range(goal - own)):
                        new = max(self.roll(own, other, turn), self.hold(own, other, turn))
                        change = max(change, abs(new - self.table[own, other, turn]))
                        self.table[own, other, turn] = new

    def wins(self, own: int, other: int, turn: int) -> float:
        return 1.0 if own + turn >= self.goal else float(self.table[own, other, turn])

    def hold(self, own: int, other: int, turn: int) -> float:
        return 1 - self.wins(other, own + turn, 0)

    def roll(self, own: int, other: int, turn: int) -> float:
        return (1 - self.wins(other, own, 0) + sum(self.wins(own, other, turn + face) for face in range(2, 7))) / 6

    def value(self, state: pyspiel.State) -> float:
        """The value of a state for player 0, in [-1, 1]."""
        if state.is_terminal():
            return float(state.player_return(0))
        words = str(state).replace(",", " ").split()
        scores, turn, player = [int(words[1]), int(words[2])], int(words[5]), int(words[8])
        own, other = scores[player], scores[1 - player]
        wins = self.roll(own, other, turn) if is_chance(state) else self.wins(own, other, turn)
        return (2 * wins - 1) * (1 if player == 0 else -1)


@cache
def pig(goal: int) -> Pig:
    return Pig(goal)


@SEARCHES
def test_searches_over_optimal_values_of_pig_find_the_same_values_and_the_optimal_policy(kind: type[Search]) -> None:
    solved = pig(20)
    game = load_game("pig(players=2,winscore=20)")
    search, rng = kind(game), random.Random(0)
    for _ in range(20):
        state = game.new_initial_state()
        while not state.is_terminal():
            result = think(search, state, Budget(iterations=6), lambda states: np.array([*map(solved.value, states)]))
            assert result.value == pytest.approx(solved.value(state), abs=1e-9)
            sign, legal = (1, -1)[state.current_player()], state.legal_actions()
            worth = {action: sign * solved.value(state.child(action)) for action in legal}
            assert worth[result.best_action] == pytest.approx(max(worth.values()), abs=1e-9)
            state.apply_action(rng.choice(state.legal_actions()))
            roll(state, rng.random)


def test_a_proven_expectation_is_reported_before_all_actions_are_proven() -> None:
    game = FakeGame(first(0.0, A=chance(0.1, [0.75, 0.25], W=1, X=-1), B=first(0.9, C=second(0.8, D=0, E=1))))
    search = Descent(game, key=str)
    tree = search.new_tree()
    result = think(search, game.new_initial_state(), Budget(iterations=1), written, tree=tree)
    while not result.resolved[0]:
        assert not result.is_resolved
        result = think(search, game.new_initial_state(), Budget(iterations=1), written, tree=tree)
    by_name = {found.name: found for found in action_evaluations(result, NamedState(game, "root", []))}
    assert by_name["A"].evaluation.completion == 0.5


class NamedState(FakeState):
    """A state whose actions are named after the states they lead to."""

    def action_to_string(self, player: int, action: int) -> str:
        return list(self._place().children)[action - FIRST_ACTION]


@pytest.mark.slow(reason="a minute: five dice have 7,776 rolls")
@pytest.mark.parametrize(
    ("category", "points_of"),
    [(37, lambda dice: 6 * dice.count(6)), (38, sum), (43, lambda dice: 50 * (len(set(dice)) == 1))],
    ids=["sixes", "chance", "yacht"],
)
def test_the_last_roll_of_yacht_has_the_value_of_brute_force(
    category: int, points_of: Callable[[tuple[int, ...]], int]
) -> None:
    game, rng = load_game("yacht(players=1)"), random.Random(category)
    state, others = game.new_initial_state(), [c for c in range(32, 44) if c != category]
    roll(state, rng.random)
    while others:
        state.apply_action(0 if 0 in state.legal_actions() else others.pop())
        roll(state, rng.random)

    def total(state: pyspiel.State) -> float:
        return float(re.findall(r"total: (\d+)", str(state))[0])

    state.apply_action(31)  # rolls all dice again
    roll(state, rng.random)
    dice = [int(face) for face in re.findall(r"Dice: ([1-6 ]+)", str(state))[0].split()]
    best = 0.0
    for kept in itertools.product([False, True], repeat=5):
        faces = [[die] if keep else range(1, 7) for die, keep in zip(dice, kept, strict=True)]
        rolls = list(itertools.product(*faces))
        best = max(best, sum(points_of(rolled) for rolled in rolls) / len(rolls))
    search = UBFM(game, outcome=total, chance_samples=7776)
    result = think(search, state, PROVEN, ZeroEvaluator())
    assert result.is_resolved
    assert result.value == pytest.approx(total(state) + best, abs=1e-9)
