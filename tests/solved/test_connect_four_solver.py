"""The bitboard solver's values are those of brute force over OpenSpiel's rules."""

from __future__ import annotations

import importlib
import random
from types import ModuleType

import pyspiel
import pytest
from oracles.brute_force import BruteForce


@pytest.fixture
def solver() -> ModuleType:
    return importlib.import_module("solved.connect_four_solver")


def random_state(game: pyspiel.Game, plies: int, rng: random.Random) -> pyspiel.State:
    """After so many random moves; the match goes on."""
    while True:
        state = game.new_initial_state()
        while not state.is_terminal() and state.move_number() < plies:
            state.apply_action(rng.choice(state.legal_actions()))
        if not state.is_terminal():
            return state


@pytest.mark.parametrize(
    ("columns", "rows", "plies", "count"), [(4, 4, 7, 80), (5, 4, 9, 40), (4, 5, 9, 60), (7, 6, 33, 40), (6, 5, 18, 40)]
)
def test_values_are_those_of_brute_force(solver: ModuleType, columns: int, rows: int, plies: int, count: int) -> None:
    game = pyspiel.load_game(f"connect_four(columns={columns},rows={rows})")
    oracle, rng = BruteForce(), random.Random(columns)
    mine = solver.ConnectFourSolver(columns, rows)
    found = set()
    for _ in range(count):
        state = random_state(game, plies, rng)
        sign = 1 if state.current_player() == 0 else -1
        expected = {action: sign * oracle.value(state.child(action)) for action in state.legal_actions()}
        mover, stones = mine.position(state.history())
        assert mine.move_values(mover, stones) == expected
        assert mine.value(mover, stones) == max(expected.values())
        found |= set(expected.values())
    assert found == {-1, 0, 1}


def test_the_empty_board_of_4_x_4_is_a_draw(solver: ModuleType) -> None:
    assert solver.ConnectFourSolver(4, 4).value(0, 0) == 0


def test_a_match_that_is_won_is_lost_for_who_would_move(solver: ModuleType) -> None:
    mine = solver.ConnectFourSolver()
    mover, stones = mine.position([0, 1, 0, 1, 0, 1, 0])
    assert mine.is_over(mover, stones)
    assert mine.value(mover, stones) == -1


@pytest.mark.parametrize(
    ("moves", "message"),
    [
        ([7], "expected a column with room as move 1, got 7"),
        ([-1], "expected a column with room as move 1, got -1"),
        ([3] * 7, "expected a column with room as move 7, got 3"),
        ([0, 1, 0, 1, 0, 1, 0, 1], "expected a game that is not over after 7 moves"),
    ],
)
def test_moves_that_are_none_are_refused(solver: ModuleType, moves: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        solver.ConnectFourSolver().position(moves)


def test_a_board_without_cells_is_refused(solver: ModuleType) -> None:
    with pytest.raises(ValueError, match="expected a board of 1 x 1 at least, got 0 x 6"):
        solver.ConnectFourSolver(0, 6)
