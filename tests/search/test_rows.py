"""Laws 10 and 11 of `search.node`: max^n and paranoid search, against brute force over drawn trees."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from fake_game import FakeState, first
from numpy.typing import NDArray
from row_trees import RowGame, RowState, RowTrees, paranoid, solutions

from athenan_spiel.errors import EvaluatorError, SearchError
from athenan_spiel.games import load_game
from athenan_spiel.games.chance import roll
from athenan_spiel.games.rows import Rows, rows_of
from athenan_spiel.outcomes import Gain, outcome_from_parameters
from athenan_spiel.outcomes.rows import AdditiveDepthRow, GainRow
from athenan_spiel.search import MCTS, UBFM, Budget, Descent, Search, think
from athenan_spiel.search.node import Node, NodeKind, RowNode

SEARCHES = pytest.mark.parametrize("kind", [Descent, UBFM])
PROVEN = Budget(iterations=100_000)
BOUND = 2.0


def written(states: Sequence[FakeState]) -> NDArray[np.float64]:
    return np.array([state.value for state in states])


def nodes_with_states(node: Node, state: RowState) -> list[tuple[Node, RowState]]:
    below = [
        pair for i, child in node.children.items() for pair in nodes_with_states(child, state.child(node.actions[i]))
    ]
    return [(node, state), *below]


def is_one_of(row: Sequence[float], expected: set[tuple[float, ...]]) -> bool:
    return any(np.allclose(np.array(row) * BOUND, other, atol=1e-9, rtol=0) for other in expected)


@SEARCHES
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("with_chance", [False, True])
def test_a_proof_is_a_solution_that_brute_force_finds(kind: type[Search], ties: bool, with_chance: bool) -> None:
    for seed in range(250):
        game = RowTrees(seed, ties=ties, with_chance=with_chance).game(4 if ties else 5)
        rng, start = random.Random(seed), game.new_initial_state()
        lines = 1 if kind is Descent else rng.choice([1, 4])
        search = kind(game, key=str, wins_ahead=bool(seed % 2), **({"lines": lines} if lines > 1 else {}))
        tree = search.new_tree()
        for budget in (Budget(iterations=rng.randint(1, 6)), PROVEN):
            result = think(search, start, budget, written, tree=tree, rng=rng)
            for node, state in nodes_with_states(result.node, start):
                assert isinstance(node, RowNode)
                assert node.kind is NodeKind.CHANCE or node.player == state.current_player()
                if node.kind is not NodeKind.CHANCE:  # law 11
                    labels = list(zip(node.completions, node.values, strict=True))
                    assert node.value == node.rows[labels.index(max(labels))]
                if node.resolved:
                    expected = solutions(state)
                    assert is_one_of(node.completion, expected), f"seed {seed}, {state}"
                    assert ties or len(expected) == 1
                    assert node.value == node.completion
        assert result.is_resolved, f"seed {seed}"
        assert result.row is not None
        if not ties:
            expected_row = next(iter(solutions(start.child(result.best_action))))
            assert result.row * BOUND == pytest.approx(expected_row, abs=1e-9)
            assert expected_row == next(iter(solutions(start)))


@SEARCHES
@pytest.mark.parametrize("with_chance", [False, True])
def test_paranoid_search_finds_what_a_player_gets_against_all_others(kind: type[Search], with_chance: bool) -> None:
    for seed in range(250):
        game = RowTrees(seed, ties=bool(seed % 2), with_chance=with_chance).game(5)
        start, rng = game.new_initial_state(), random.Random(seed)
        search = kind(game, key=str, paranoid=True)
        tree, state, searched = search.new_tree(), start, set()
        while not state.is_terminal():
            player = state.current_player()
            result = think(search, state, PROVEN, written, tree=tree, rng=rng)
            searched.add(player)
            assert result.is_resolved
            assert result.completion * BOUND == pytest.approx(paranoid(state, player), abs=1e-9), seed
            after = state.child(result.best_action)
            assert paranoid(after, player) == pytest.approx(paranoid(state, player), abs=1e-9), seed
            state = after
            roll(state, rng.random)
        assert {key[0] for key in tree.table} <= searched
        twin = tree.copy()
        twin.start(start)
        assert twin.key(start) == (start.current_player(), str(start))


@pytest.mark.parametrize("with_chance", [False, True])
def test_mcts_averages_the_rows_of_its_simulations(with_chance: bool) -> None:
    for seed in range(50):
        game = RowTrees(seed, ties=False, with_chance=with_chance).game(5)
        tree = MCTS(game, key=str).new_tree()
        result = think(MCTS(game, key=str), game.new_initial_state(), Budget(iterations=60), written, tree=tree)
        assert result.rows is not None
        assert result.value == result.row[game.new_initial_state().current_player()]
        for node in tree.nodes:
            player: int = node.player  # type: ignore[attr-defined]
            for i in node.visits:
                assert node.values[i] == pytest.approx(node.value_of(i)[player], abs=1e-9)
            rows = [np.array(node.value_of(i)) * n for i, n in node.visits.items()]
            simulations: int = node.simulations  # type: ignore[attr-defined]
            assert sum(node.visits.values()) == simulations - 1
            if rows:
                own = np.array(node.value) * simulations - sum(rows)
                assert (np.abs(own) <= BOUND + 1e-9).all(), "what is left is the row of the state itself"


def test_a_certain_best_return_ends_the_search_of_a_node() -> None:
    best = first(
        (0.0, 0.0, 0.0),
        A=first((0.1, 0.0, 0.0), B=(2.0, -1.0, -1.0), C=(0.0, 0.0, 0.0)),
        D=first((1.0, 0.0, 0.0), E=(0.0, 1.0, 0.0)),
    )
    game = RowGame(best, 3, -1.0, 2.0)
    result = think(UBFM(game, key=str), game.new_initial_state(), PROVEN, written)
    assert (result.is_resolved, result.completion, result.best_action) == (True, 1.0, 10)
    assert result.row is not None
    assert result.row.tolist() == [1.0, -0.5, -0.5]
    assert result.rows is not None
    assert result.rows.shape == (2, 3)


@pytest.mark.parametrize("spec", ["pig(players=3,winscore=4)", "maedn(players=3)"])
@SEARCHES
def test_rows_of_zero_sum_games_sum_to_zero_and_stay_in_range(spec: str, kind: type[Search]) -> None:
    game = load_game(spec)
    rng, numbers = random.Random(0), np.random.default_rng(0)

    def evaluator(states: Sequence[object]) -> NDArray[np.float64]:
        rows = numbers.uniform(-0.3, 0.3, (len(states), 3))
        return rows - rows.mean(axis=1, keepdims=True)

    state = game.new_initial_state()
    roll(state, rng.random)
    search = kind(game)
    tree = search.new_tree()
    iterations = 50 if kind is Descent and "maedn" in spec else 300  # a descent to the end of maedn is long
    think(search, state, Budget(iterations=iterations), evaluator, tree=tree)
    assert len(tree.nodes) > 100
    for node in tree.nodes:
        assert sum(node.value) == pytest.approx(0.0, abs=1e-9)
        assert all(-1.0 <= x <= 1.0 for x in node.value)


@SEARCHES
@pytest.mark.parametrize("paranoidly", [False, True])
def test_a_proof_of_pig_for_three_is_a_solution_that_brute_force_finds(kind: type[Search], paranoidly: bool) -> None:
    game = load_game("pig(players=3,diceoutcomes=3,winscore=3,horizon=9)")
    state = game.new_initial_state()
    result = think(kind(game, paranoid=paranoidly), state, PROVEN, lambda states: np.zeros((len(states), 3)))
    assert result.is_resolved
    if paranoidly:
        assert result.completion == pytest.approx(paranoid(state, 0), abs=1e-9)
    else:
        assert result.row is not None
        assert any(np.allclose(result.row, row, atol=1e-9, rtol=0) for row in solutions(state))


def test_one_place_decides_which_games_have_rows() -> None:
    assert rows_of(load_game("tic_tac_toe")) is None
    assert rows_of(load_game("2048")) is None
    rows = rows_of(load_game("chinese_checkers(players=3)"))
    assert rows is not None
    assert (rows.players, rows.bound) == (3, 2.0)
    assert [rows.completion(gain) for gain in (1.0, -0.5, 0.25)] == [1.0, -1.0, 0.0]


def test_outcomes_of_rows() -> None:
    game = load_game("pig(players=3,winscore=3)")
    state = game.new_initial_state()
    roll_rng = random.Random(1)
    while not state.is_terminal():
        state.apply_action(roll_rng.choice(state.legal_actions()))
    assert sorted(GainRow(bound=1.0)(state)) == [-0.5, -0.5, 1.0]
    depth = AdditiveDepthRow(longest=100, exact=True, bound=1.0)
    assert sorted(depth(state)) == [-0.5 * depth.weight(state)] * 2 + [depth.weight(state)]
    assert outcome_from_parameters("additive_depth", depth.parameters) == depth


def test_what_does_not_suit_a_game_with_rows() -> None:
    three, two = load_game("pig(players=3)"), load_game("tic_tac_toe")
    state = three.new_initial_state()
    with pytest.raises(EvaluatorError, match=r"must return 3 values for each state, one for each player, got 0\.0"):
        think(UBFM(three), state, Budget(iterations=2), lambda states: np.zeros(len(states)))
    with pytest.raises(EvaluatorError, match=r"must return 3 values for each state, one for each player"):
        think(UBFM(three), state, Budget(iterations=2), lambda states: np.zeros((len(states), 2)))
    with pytest.raises(EvaluatorError, match=r"must return one value for each of 9 states, got shape \(9, 2\)"):
        think(UBFM(two), two.new_initial_state(), Budget(iterations=2), lambda states: np.zeros((len(states), 2)))
    with pytest.raises(SearchError, match="expected an outcome for the values of"):
        UBFM(three, outcome=Gain())
    with pytest.raises(SearchError, match="expected an outcome for the values of"):
        UBFM(two, outcome=GainRow())
    with pytest.raises(SearchError, match="is for games with a value for each player"):
        UBFM(two, paranoid=True)
    with pytest.raises(SearchError, match="excludes wins_ahead"):
        Descent(three, paranoid=True, wins_ahead=True)


def test_a_row_that_is_assumed_is_backed_up() -> None:
    """Searches over lines assume other rows for some actions."""
    node = RowNode([10, 11], [(0.1, 0.2, 0.3), (0.4, 0.5, 0.6)], NodeKind.SELF, 1, Rows(3, -1.0, 1.0))
    node.assume(0, (0.7, 0.8, 0.9))
    node.backup()
    assert (node.values, node.value) == ([0.8, 0.5], (0.7, 0.8, 0.9))
    node.assume(0, -np.inf)
    node.backup()
    assert (node.values, node.value) == ([-np.inf, 0.5], (0.4, 0.5, 0.6))
