"""Alpha-beta's limits: depth, budgets, the clock, and what an interrupted iteration leaves."""

from __future__ import annotations

import random

import pyspiel
import pytest
from clocks import Clock
from fake_game import FakeGame, Recorder, first, score, second
from oracles.brute_force import load
from oracles.evaluators import Counting, coarse, noise
from oracles.plain_minimax import PlainMinimax

from athenan_spiel.config.search import DEEPEST
from athenan_spiel.errors import SearchError
from athenan_spiel.search import UBFM, AlphaBeta, Budget, Descent, drive, think
from athenan_spiel.search.alphabeta_tree import AlphaBetaNode
from athenan_spiel.search.tree import Tree

both = pytest.mark.parametrize("completion", [True, False], ids=["completion", "plain"])


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_a_depth_limit_ends_the_thought(depth: int) -> None:
    game = load("connect_four")
    state = game.new_initial_state()
    limited = think(AlphaBeta(game, depth=depth), state, Budget(iterations=depth + 1), noise(0))
    deepened = think(AlphaBeta(game), state, Budget(iterations=depth), noise(0))
    assert limited.iterations == depth
    assert limited.values.tolist() == deepened.values.tolist()


@pytest.mark.parametrize("depth", [0, -1, DEEPEST + 1])
def test_a_depth_that_is_none_is_refused(depth: int) -> None:
    with pytest.raises(SearchError, match=rf"depth of AlphaBeta must be at (least 1|most 256), got {depth}"):
        AlphaBeta(load("tic_tac_toe"), depth=depth)


def test_the_deepest_search_has_room_on_the_stack() -> None:
    """A line of single actions as deep as a search goes; the last action is one too far."""
    place = first(0.5, end=1)
    for ply in range(DEEPEST + 20):
        place = (first if ply % 2 else second)(0.5, **{f"s{ply}": place})
    game = FakeGame(place)
    search = AlphaBeta(game, outcome=score, key=str)
    result = think(search, game.new_initial_state(), Budget(iterations=DEEPEST + 1), Recorder())
    assert result.iterations == DEEPEST
    assert not result.is_resolved


@both
@pytest.mark.parametrize("spec", ["connect_four", "breakthrough(rows=6,columns=3)", "dots_and_boxes"])
def test_at_the_next_move_depths_begin_anew(spec: str, completion: bool) -> None:
    """In a match's tree, too, a search to a depth is that minimax; and what deeper ones found below the root stays."""
    state, evaluator = load(spec).new_initial_state(), noise(4)
    search = AlphaBeta(load(spec), completion=completion)
    plain = PlainMinimax(evaluator, completion=completion)
    tree = search.new_tree()
    think(search, state, Budget(iterations=5), evaluator, tree=tree)
    for action in (state.legal_actions()[0], state.legal_actions()[1]):
        child = state.child(action)
        root = tree.table[tree.key(child)]
        deeper = [node for node in tree.table.values() if node is not root and node.depth >= 3]  # type: ignore[attr-defined]
        before = [(node.value, node.values[:]) for node in deeper]
        for depth in (1, 2, 3):
            result = think(search, child, Budget(iterations=1), evaluator, tree=tree)
            assert (result.completion, result.value) == plain.pair(child, depth)
        assert len(deeper) > 5
        assert [(node.value, node.values) for node in deeper] == before


def contents(tree: Tree) -> list[object]:
    return [
        (key, node.values[:], node.completions.tolist(), bytes(node.resolutions), dict(node.visits), node.value)
        for key, node in tree.table.items()
    ]


def test_budgets_that_can_be_repeated_are() -> None:
    game = load("connect_four")
    for budget in (Budget(iterations=4), Budget(evaluations=500), Budget(iterations=5, evaluations=300)):
        outcomes = []
        for _ in range(2):
            search = AlphaBeta(game)
            tree = search.new_tree()
            result = think(search, game.new_initial_state(), budget, coarse(0), tree=tree, rng=random.Random(4))
            outcomes.append((result.best_action, result.evaluations, result.iterations, contents(tree)))
        assert outcomes[0] == outcomes[1]


def test_a_copied_tree_grows_on_its_own() -> None:
    game = load("tic_tac_toe")
    state = game.new_initial_state()
    search = AlphaBeta(game)
    tree = search.new_tree()
    think(search, state, Budget(iterations=4), noise(0), tree=tree)
    twin = tree.copy()
    before = inner(tree)
    assert inner(twin) == before
    think(search, state, Budget(iterations=3), noise(0), tree=twin)
    assert inner(tree) == before != inner(twin)


def inner(tree: Tree) -> list[object]:
    """Everything that a search changes."""
    return [
        (node.bounds.copy(), bytes(node.final), node.floor, node.ceiling, node.depth, node.iterated, node.values[:])
        for node in tree.table.values()
        if isinstance(node, AlphaBetaNode)
    ]


def test_an_iteration_is_given_up_and_the_last_whole_one_stands() -> None:
    game = load("connect_four")
    state = game.new_initial_state()
    whole = [think(AlphaBeta(game), state, Budget(iterations=depth), noise(0)) for depth in (1, 2, 3, 4)]
    for limit in range(1, whole[-1].evaluations, 23):
        result = think(AlphaBeta(game), state, Budget(evaluations=limit), noise(0))
        depth = sum(r.evaluations <= result.evaluations for r in whole)
        assert result.iterations == max(depth, 1)
        expected = whole[result.iterations - 1]
        assert result.values.tolist() == expected.values.tolist()
        assert result.visits.tolist() == expected.visits.tolist()
        assert result.value == expected.value
        assert limit <= result.evaluations < limit + 8  # one answer too many at most; the first batch comes whole


def test_the_clock_interrupts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer takes a second. The search ends after as many answers as seconds, not after an iteration."""
    clock = Clock()

    def slow(states: list[pyspiel.State]) -> object:
        clock.now += 1
        return noise(0)(states)

    monkeypatch.setattr(drive, "time", clock)
    game = load("connect_four")
    for kind, most in ((AlphaBeta, 12), (UBFM, 12), (Descent, 60)):
        counting = Counting(slow)  # type: ignore[arg-type]
        think(kind(game), game.new_initial_state(), Budget(seconds=12), counting)  # type: ignore[abstract,arg-type]
        assert 12 <= len(counting.asked) <= most
        assert (len(counting.asked) == 12) == (kind is not Descent)


def test_the_first_iteration_is_never_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drive, "time", Clock(step=1.0))
    game = load("connect_four")
    result = think(AlphaBeta(game), game.new_initial_state(), Budget(seconds=1e-9), noise(0))
    assert (result.iterations, result.evaluations) == (1, 7)


def test_what_an_interrupted_iteration_left_below_is_used() -> None:
    """Going on asks only what was not asked before, and finds the same as a thought without a pause."""
    game = load("connect_four")
    state = game.new_initial_state()
    search = AlphaBeta(game)
    whole = think(search, state, Budget(iterations=4), noise(0))
    tree = search.new_tree()
    used = iterations = 0
    while iterations < 4:
        result = think(search, state, Budget(evaluations=40, iterations=4 - iterations), noise(0), tree=tree)
        used, iterations = used + result.evaluations, iterations + result.iterations
        first_thought = not iterations
    assert not first_thought
    assert (result.values.tolist(), used) == (whole.values.tolist(), whole.evaluations)
