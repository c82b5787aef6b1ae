"""Budgets, invalid arguments of `think`, and the contents of a `SearchResult`."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pyspiel
import pytest
from clocks import Clock
from fake_game import EXAMPLE, FakeGame, Recorder, first, score, second
from numpy.typing import NDArray

from athenan_spiel.errors import BudgetError, EvaluatorError, SearchError
from athenan_spiel.evaluators.base import Evaluation
from athenan_spiel.outcomes import AdditiveDepth, Gain, gain
from athenan_spiel.search import UBFM, Budget, Descent, Search, SearchResult, drive, think
from athenan_spiel.search.drive import answered, search_under
from athenan_spiel.search.node import Node
from athenan_spiel.search.tree import Tree
from athenan_spiel.search.walk import Requests

SEARCHES = pytest.mark.parametrize("kind", [Descent, UBFM])


def example_search(kind: type[Search] = UBFM) -> Search:
    return kind(EXAMPLE, outcome=score, key=str)


def think_example(budget: Budget, kind: type[Search] = UBFM) -> SearchResult:
    return think(example_search(kind), EXAMPLE.new_initial_state(), budget, Recorder())


def guess(states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
    """Returns a pseudo-random value that depends only on the state."""
    return np.array([random.Random(str(state)).uniform(-1, 1) for state in states])


def nothing_known(states: Sequence[pyspiel.State]) -> NDArray[np.float32]:
    """Returns the same value for every state, so that chance breaks all ties."""
    return np.zeros(len(states), np.float32)


# Budgets


def test_a_budget_without_a_limit_is_refused() -> None:
    with pytest.raises(BudgetError, match=r"needs a limit: seconds, iterations, evaluations or network_seconds; got"):
        Budget()


def test_seconds_need_no_name_and_the_repr_shows_the_limits() -> None:
    assert Budget(0.5) == Budget(seconds=0.5)
    assert repr(Budget(0.5, iterations=20)) == "Budget(seconds=0.5, iterations=20)"
    with pytest.raises(TypeError):
        Budget(0.5, 20)  # type: ignore[misc]


@pytest.mark.parametrize("limit", [0, -1, 0.0, -0.5, math.inf, math.nan])
@pytest.mark.parametrize("name", ["seconds", "iterations", "evaluations", "network_seconds"])
def test_a_limit_that_is_no_positive_number_is_refused(name: str, limit: float) -> None:
    message = rf"a budget's {name} must be (more than zero|at least 1|at most [\d,]+|a whole number), got {limit!r}"
    with pytest.raises(BudgetError, match=message):
        Budget(**{name: limit})
    with pytest.raises(BudgetError, match=message):
        Budget(**{"seconds": 1.0, "iterations": 1, "evaluations": 1} | {name: limit})


# What EXAMPLE takes, from the traces: the states valued by the end of each iteration.
VALUED = {UBFM: [2, 4, 6, 7, 7, 8, 8, 8], Descent: [5, 8, 8, 8]}
ROOT_VALUES = [0.6, 0.5, 0.3, 0.7, 0.2, 0.1, 0, 0]
"""v(root) at the end of each iteration of UBFM."""


@SEARCHES
def test_iterations_are_counted_to_the_point_where_the_state_is_proven(kind: type[Search]) -> None:
    valued = VALUED[kind]
    for limit in range(1, 12):
        result = think_example(Budget(iterations=limit), kind)
        done = min(limit, len(valued))
        assert (result.iterations, result.evaluations) == (done, valued[done - 1])
        assert result.is_resolved == (done == len(valued))
        if kind is UBFM:
            assert result.value == ROOT_VALUES[done - 1]


@SEARCHES
def test_evaluations_stop_after_the_iteration_that_reaches_them(kind: type[Search]) -> None:
    valued = VALUED[kind]
    for limit in range(1, 12):
        result = think_example(Budget(evaluations=limit), kind)
        stop = next((i for i, v in enumerate(valued, start=1) if v >= limit), len(valued))
        assert (result.iterations, result.evaluations) == (stop, valued[stop - 1])


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(drive, "time", clock)
    return clock


class SlowUBFM(UBFM):
    """Each iteration takes a quarter of a second on a `Clock`."""

    clock: Clock

    def iteration(self, *args: Any) -> Requests[Node]:
        node = yield from super().iteration(*args)
        self.clock.now += 0.25
        return node


def slow_think(clock: Clock, budget: Budget) -> SearchResult:
    search = SlowUBFM(EXAMPLE, outcome=score, key=str)
    search.clock = clock
    return think(search, EXAMPLE.new_initial_state(), budget, Recorder())


@pytest.mark.parametrize("done", range(1, 9))
def test_seconds_stop_after_the_iteration_that_reaches_them(clock: Clock, done: int) -> None:
    for seconds in (0.25 * done, 0.25 * done - 0.125):
        result = slow_think(clock, Budget(seconds=seconds))
        assert (result.iterations, result.seconds) == (done, 0.25 * done)
        assert result.evaluations == VALUED[UBFM][done - 1]
        assert result.value == ROOT_VALUES[done - 1]


def test_the_time_of_the_evaluator_counts(clock: Clock) -> None:
    """Descent's first iteration on EXAMPLE asks three batches, the second two."""

    def slow(states: Sequence[Any]) -> NDArray[np.float64]:
        clock.now += 1.0
        return Recorder()(states)

    iterations = {}
    for seconds in (0.1, 3.0, 3.1, 5.0, 5.1):
        search = example_search(Descent)
        iterations[seconds] = think(search, EXAMPLE.new_initial_state(), Budget(seconds=seconds), slow).iterations
    assert iterations == {0.1: 1, 3.0: 1, 3.1: 2, 5.0: 2, 5.1: 4}


@pytest.mark.parametrize(
    ("budget", "done"),
    [
        (Budget(seconds=1.0, iterations=2, evaluations=7), 2),
        (Budget(seconds=0.75, iterations=5, evaluations=7), 3),
        (Budget(seconds=2.0, iterations=5, evaluations=3), 2),
        (Budget(seconds=0.25, iterations=1, evaluations=1), 1),
        (Budget(seconds=9.0, iterations=99, evaluations=99), 8),
    ],
    ids=["iterations", "seconds", "evaluations", "all", "none: proven"],
)
def test_whichever_limit_comes_first(clock: Clock, budget: Budget, done: int) -> None:
    assert slow_think(clock, budget).iterations == done


@SEARCHES
def test_a_proven_state_is_answered_from_the_tree_at_once(kind: type[Search]) -> None:
    search = example_search(kind)
    tree, evaluator = search.new_tree(), Recorder()
    proof = think(search, EXAMPLE.new_initial_state(), Budget(iterations=100), evaluator, tree=tree)
    asked = len(evaluator.asked)
    again = think(search, EXAMPLE.new_initial_state(), Budget(iterations=100), evaluator, tree=tree)
    assert (again.iterations, again.evaluations, len(evaluator.asked)) == (0, 0, asked)
    assert again.node is proof.node
    assert (again.value, again.completion, again.is_resolved) == (0, 0, True)


# What is refused


@SEARCHES
def test_a_terminal_state_is_refused(kind: type[Search]) -> None:
    state = EXAMPLE.state("B", "K", "L")
    with pytest.raises(SearchError, match=r"got a terminal one after \[11, 10, 10\]"):
        think(example_search(kind), state, Budget(iterations=1), Recorder())


ASKED = 2
"""Number of states in the first batch of EXAMPLE."""


@pytest.mark.parametrize(
    "answer",
    [
        np.zeros(ASKED + 1),
        np.zeros(ASKED - 1),
        np.zeros(0),
        np.zeros((ASKED, 1)),
        np.zeros((1, ASKED)),
        np.float32(0.5),
    ],
    ids=lambda answer: str(answer.shape),
)
def test_answers_of_the_wrong_shape_are_refused(answer: NDArray[np.float64]) -> None:
    message = f"one value for each of {ASKED} states, got shape {answer.shape!r}"
    with pytest.raises(EvaluatorError, match=re.escape(message)):
        think(example_search(), EXAMPLE.new_initial_state(), Budget(iterations=1), lambda states: answer)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("where", range(ASKED))
def test_answers_that_are_not_finite_are_refused(value: float, dtype: type, where: int) -> None:
    answer = np.zeros(ASKED, dtype)
    answer[where] = value
    with pytest.raises(EvaluatorError, match=rf"finite values, got .*{value}.* among {ASKED}"):
        think(example_search(), EXAMPLE.new_initial_state(), Budget(iterations=1), lambda states: answer)


def test_a_bad_answer_is_noticed_in_the_middle_of_an_iteration_too() -> None:
    answers = iter([np.array([0.6, 0.5]), np.array([0.2, 0.4]), np.array([math.nan])])
    with pytest.raises(EvaluatorError, match="among 1"):
        think(example_search(Descent), EXAMPLE.new_initial_state(), Budget(iterations=1), lambda states: next(answers))


def test_an_evaluators_own_error_comes_through() -> None:
    def broken(states: Sequence[Any]) -> NDArray[np.float64]:
        raise KeyError("weights")

    with pytest.raises(KeyError, match="weights"):
        think(example_search(), EXAMPLE.new_initial_state(), Budget(iterations=1), broken)


# Results


def test_the_fields_of_a_result() -> None:
    """EXAMPLE after six iterations of UBFM, as in the trace: B is lost, C a draw, A leads."""
    result = think_example(Budget(iterations=6))
    arrays = {
        "actions": ([10, 11, 12], np.int64),
        "values": ([0.1, -1, 0], np.float64),
        "completions": ([0, -1, 0], np.int8),
        "resolved": ([False, True, True], np.bool_),
        "visits": ([2, 3, 0], np.int64),
    }
    for name, (expected, dtype) in arrays.items():
        array = getattr(result, name)
        assert (array.tolist(), array.dtype, array.shape) == (expected, dtype, (3,)), name
    assert (result.value, result.completion, result.is_resolved) == (0.1, 0, False)
    assert (result.iterations, result.evaluations) == (6, 8)
    assert result.principal_variation == [10, 10, 11], "A, D, H"
    assert result.seconds > 0
    assert (result.best_action, result.safest_action) == (10, 10)


def test_best_goes_by_value_and_safest_by_visits() -> None:
    """A was searched, and its value has fallen; B was not searched."""
    game = FakeGame(first(0.0, A=second(0.9, C=first(0.1, E=0)), B=second(0.5, D=first(0.1, F=0))))
    search = UBFM(game, outcome=score, key=str)
    result = think(search, game.new_initial_state(), Budget(iterations=2), Recorder())
    assert (result.best_action, result.safest_action) == (11, 10)
    assert result.principal_variation == [11]


def test_a_result_stays_as_it_was_while_the_tree_grows() -> None:
    search, state = example_search(), EXAMPLE.new_initial_state()
    tree = search.new_tree()
    result = think(search, state, Budget(iterations=3), Recorder(), tree=tree)
    think(search, state, Budget(iterations=5), Recorder(), tree=tree)
    assert (result.value, result.values.tolist(), result.visits.tolist()) == (0.3, [0.2, 0.3, 0], [1, 1, 0])
    assert (result.resolved.tolist(), result.completions.tolist()) == ([False, False, True], [0, 0, 0])
    assert result.principal_variation == [11, 10], "B, K"


REAL_GAMES = ["tic_tac_toe", "connect_four(rows=4,columns=4)", "dots_and_boxes(num_rows=1,num_cols=2)", "nim"]


@SEARCHES
@pytest.mark.parametrize("spec", REAL_GAMES)
@pytest.mark.parametrize("iterations", [1, 20, 300])
def test_the_principal_variation_is_a_line_of_legal_best_actions(
    kind: type[Search], spec: str, iterations: int
) -> None:
    game = pyspiel.load_game(spec)
    search = kind(game)
    tree = search.new_tree()
    state = game.new_initial_state()
    result = think(search, state, Budget(iterations=iterations), guess, tree=tree)
    assert state.history() == [], "the state is left as it was"
    line = state.clone()
    for ply, action in enumerate(result.principal_variation):
        assert action in line.legal_actions()
        node = tree.table[search.key(line)]
        i = list(node.actions).index(action)
        best = node.kind.best
        arcs = list(zip(node.completions, node.values, strict=True))
        assert arcs[i] == best(arcs)
        assert node.count(i) == max(node.count(j) for j, arc in enumerate(arcs) if arc == arcs[i])
        if ply == 0:
            assert arcs[i] == (result.completion, result.value)
        line.apply_action(action)
    if result.is_resolved:
        assert line.is_terminal()
        assert gain(line) == result.completion == result.value


@SEARCHES
def test_only_states_that_go_on_are_asked_about_all_children_of_one_state_at_a_time(
    kind: type[Search],
) -> None:
    game = pyspiel.load_game("connect_four(rows=4,columns=4)")
    asked: list[list[list[int]]] = []

    def evaluator(states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        assert states
        assert not any(state.is_terminal() for state in states)
        asked.append([state.history() for state in states])
        return guess(states)

    result = think(kind(game), game.new_initial_state(), Budget(iterations=40), evaluator)
    assert result.evaluations == sum(map(len, asked))
    for batch in asked:
        parent = game.new_initial_state()
        for action in batch[0][:-1]:
            parent.apply_action(action)
        children = [parent.child(action) for action in parent.legal_actions()]
        assert batch == [child.history() for child in children if not child.is_terminal()]


def partial_minimax(tree: Tree, state: pyspiel.State) -> tuple[int, float, bool]:
    """(c, v, r) of a state by plain recursion over the states that `tree` has expanded; checks each node on the way."""
    if state.is_terminal():
        return gain(state), tree.outcome(state), True
    node = tree.table.get(tree.key(state))
    if node is None:
        return 0, float(guess([state])[0]), False
    children = [partial_minimax(tree, state.child(action)) for action in state.legal_actions()]
    best = max if state.current_player() == 0 else min
    completion, value = best((c, v) for c, v, _ in children)
    resolved = completion != 0 or all(r for _, _, r in children)
    assert (node.completion, node.value, node.resolved) == (completion, value, resolved)
    return completion, value, resolved


@SEARCHES
@pytest.mark.parametrize("spec", ["tic_tac_toe", "dots_and_boxes", "connect_four(rows=4,columns=4)"])
@pytest.mark.parametrize("iterations", [1, 5, 60])
def test_values_are_the_minimax_of_the_partial_game_tree(kind: type[Search], spec: str, iterations: int) -> None:
    """Holds exactly without transpositions: each state is then reached through one parent only (see law 5)."""
    game = pyspiel.load_game(spec)
    outcome = AdditiveDepth(longest=game.max_game_length(), exact=True)
    search = kind(game, outcome=outcome, key=lambda state: tuple(state.history()))
    tree = search.new_tree()
    result = think(search, game.new_initial_state(), Budget(iterations=iterations), guess, tree=tree)
    expected = partial_minimax(tree, game.new_initial_state())
    assert (result.completion, result.value, result.is_resolved) == expected


# Trees over several thoughts


def test_a_tree_is_grown_on_from_thought_to_thought() -> None:
    """After four iterations at the root only N below B is unresolved. It takes one more iteration and no request."""
    search = example_search()
    tree = search.new_tree()
    think(search, EXAMPLE.new_initial_state(), Budget(iterations=4), Recorder(), tree=tree)
    evaluator = Recorder()
    result = think(search, EXAMPLE.state("B"), Budget(iterations=10), evaluator, tree=tree)
    assert (evaluator.asked, result.iterations, result.evaluations) == ([], 1, 0)
    assert (result.visits.tolist(), result.completion, result.is_resolved) == ([1, 1], -1, True)
    assert tree.table["root"].count(1) == 2, "n(root, B) is left as it was"
    fresh = Recorder()
    think(search, EXAMPLE.state("B"), Budget(iterations=10), fresh)
    assert fresh.asked == ["K N", "M"], "without the tree everything is asked again"


@SEARCHES
def test_nothing_is_asked_twice_in_a_match(kind: type[Search]) -> None:
    game = pyspiel.load_game("tic_tac_toe")
    search = kind(game)
    tree = search.new_tree()
    asked: set[Hashable] = set()

    def evaluator(states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        parent = game.new_initial_state()
        for action in states[0].history()[:-1]:
            parent.apply_action(action)
        assert search.key(parent) not in asked
        asked.add(search.key(parent))
        return guess(states)

    state = game.new_initial_state()
    while not state.is_terminal():
        result = think(search, state, Budget(iterations=15), evaluator, tree=tree)
        state.apply_action(result.best_action)
    assert asked <= set(tree.table)
    assert len(asked) > 50


@SEARCHES
@pytest.mark.parametrize("iterations", [1, 2, 7, 30])
def test_counts_add_up_to_the_iterations(kind: type[Search], iterations: int) -> None:
    """Every iteration selects one action of the root, but that UBFM's first one only expands it."""
    game = pyspiel.load_game("connect_four")
    result = think(kind(game), game.new_initial_state(), Budget(iterations=iterations), guess)
    assert result.visits.sum() == iterations - (kind is UBFM)


# Randomness


@SEARCHES
def test_the_generator_is_an_argument_with_a_fixed_default(kind: type[Search]) -> None:
    game = pyspiel.load_game("tic_tac_toe")

    def visits(rng: random.Random | None) -> list[int]:
        result = think(kind(game), game.new_initial_state(), Budget(iterations=12), nothing_known, rng=rng)
        return [*result.visits.tolist(), result.best_action, result.safest_action]

    assert visits(None) == visits(None) == visits(random.Random(0))
    assert len({tuple(visits(random.Random(seed))) for seed in range(10)}) > 1


@SEARCHES
def test_no_global_generator_is_touched(kind: type[Search]) -> None:
    game = pyspiel.load_game("tic_tac_toe")
    before = random.getstate(), repr(np.random.get_state())  # noqa: NPY002 (it is only looked at)
    think(kind(game), game.new_initial_state(), Budget(iterations=50), nothing_known)
    assert before == (random.getstate(), repr(np.random.get_state()))  # noqa: NPY002


# Defaults of a search


@SEARCHES
def test_a_search_takes_the_gain_and_completion_by_default(kind: type[Search]) -> None:
    search = kind(pyspiel.load_game("tic_tac_toe"))
    tree = search.new_tree()
    assert (search.outcome, search.completion) == (Gain(), True)
    assert (tree.outcome, tree.completion, tree.key, tree.store) == (search.outcome, True, search.key, None)


def descend_under(punctual: bool, batched: bool) -> tuple[Node, int, int]:
    """Descent at Connect Four for two seconds, of which each answer takes one after the first iteration's."""
    game = pyspiel.load_game("connect_four")
    search = Descent(game, batched=batched)
    tree, state, now = search.new_tree(), game.new_initial_state(), [0.0]
    requests = search_under(
        search, tree, state, Budget(seconds=2.0), random.Random(1), lambda: now[0], punctual=punctual
    )
    try:
        request = next(requests)
        while True:
            root = tree.table.get(tree.key(state))
            now[0] += 1.0 if root is not None and sum(root.visits.values()) > 1 else 0.0
            request = requests.send(Evaluation([0.0] * len(request)) if request else Evaluation([]))
    except StopIteration as end:
        node, used = end.value
        return node, used.iterations, used.requests


def test_the_pace_leaves_out_the_first_step() -> None:
    pace = drive._Pace()
    assert [pace.next_step(seconds) for seconds in (7.0, 8.0, 11.0, 13.0)] == [0.0, 0.0, 2.0, 2.0]


@pytest.mark.parametrize("is_new", [True, False])
def test_proofs_from_elsewhere_count_at_a_new_and_at_a_known_root(is_new: bool) -> None:
    search, state = UBFM("hex(board_size=4)"), pyspiel.load_game("hex(board_size=4)").new_initial_state()
    tree, rng = search.new_tree(), random.Random(0)
    if not is_new:
        answered(search_under(search, tree, state, Budget(iterations=1), rng), guess)
    won = state.legal_actions()[3]
    found = answered(search_under(search, tree, state, Budget(iterations=1), rng, proofs={won: 1}), guess)
    root = found[0]
    assert (root.completion, root.resolved) == (1, True)
    assert [action for action, resolved in zip(root.actions, root.resolutions, strict=True) if resolved] == [won]


@pytest.mark.parametrize("batched", [True, False])
def test_a_punctual_descent_ends_where_it_stands(batched: bool) -> None:
    whole, iterations, requests = descend_under(False, batched)
    ended, same, fewer = descend_under(True, batched)
    assert iterations == same == 2
    assert fewer < requests
    assert sum(ended.visits.values()) == 2, "the second one is carried back as well"
    assert ended.value == ended.kind.best(ended.values)
    assert whole.value == whole.kind.best(whole.values)


@pytest.mark.parametrize(
    ("punctual", "first", "limit", "iterations"),
    [
        (False, 10.0, 45.0, 5),
        (True, 10.0, 45.0, 4),  # a fifth one would end at 50
        (True, 10.0, 51.0, 5),
        (True, 30.0, 65.0, 4),  # a first step with a warm-up, which predicts nothing
        (True, 30.0, 35.0, 2),
        (True, 50.0, 45.0, 1),
    ],
)
def test_a_punctual_search_takes_no_step_that_is_expected_to_exceed_the_limit(
    punctual: bool, first: float, limit: float, iterations: int
) -> None:
    game, clock = pyspiel.load_game("connect_four"), Clock(0.0)
    search = UBFM(game)
    durations = iter([first, *[10.0] * 100])

    def slow(states: Sequence[pyspiel.State]) -> Evaluation:
        clock.now += next(durations)
        return Evaluation([0.0] * len(states))

    requests = search_under(
        search,
        search.new_tree(),
        game.new_initial_state(),
        Budget(seconds=limit),
        random.Random(1),
        clock.perf_counter,
        punctual=punctual,
    )
    _, used = answered(requests, slow)
    assert used.iterations == iterations


def test_even_the_first_descent_ends_when_time_is_up() -> None:
    game = pyspiel.load_game("connect_four")
    now = iter(range(1000))
    requests = search_under(
        Descent(game),
        Descent(game).new_tree(),
        game.new_initial_state(),
        Budget(seconds=3.5),
        random.Random(1),
        lambda: float(next(now)),
        punctual=True,
    )
    root, used = answered(requests, lambda states: Evaluation([0.0] * len(states)))
    assert (used.iterations, used.requests) == (1, 3), "a fourth one is expected to end after 4 s"
    assert sum(root.visits.values()) == 1
    assert len(root.children) == 1
