"""The oracles: compared with published counts, with each other, and with cases made by hand."""

from __future__ import annotations

import random

import pyspiel
import pytest
from oracles.brute_force import (
    BruteForce,
    TooManyPositionsError,
    count_matches,
    count_positions,
    load,
    same_history,
    solver,
)
from oracles.hex_must_play import HexSolver
from oracles.hex_openings import WINNING_OPENINGS
from oracles.positions import late_position


def initial(spec: str) -> pyspiel.State:
    return load(spec).new_initial_state()


def test_published_counts_of_positions_and_matches() -> None:
    """Tic-Tac-Toe: 5,478 positions, 255,168 matches; Connect Four 4 x 4: 161,029 positions (J. Tromp)."""
    assert count_positions(initial("tic_tac_toe")) == 5_478
    assert count_matches(initial("tic_tac_toe")) == 255_168
    assert count_positions(initial("connect_four(rows=4,columns=4)")) == 161_029


def test_without_a_known_best_every_position_is_valued() -> None:
    full = BruteForce()
    assert full.value(initial("tic_tac_toe")) == 0
    assert full.positions == 5_478


def test_minimax_by_hand() -> None:
    """Two piles of one: both must be taken, the second player takes the last one."""
    state = initial("nim(pile_sizes=1;1,is_misere=false)")
    assert BruteForce().value(state) == -1
    assert BruteForce(lambda end: 10.0 * end.move_number()).value(state) == 20
    assert set(BruteForce().action_values(state).values()) == {-1}
    assert BruteForce(lambda end: 5.0).value(state) == 5


@pytest.mark.parametrize(
    "spec",
    ["tic_tac_toe", "dots_and_boxes(num_rows=1,num_cols=3)", "clobber(rows=3,columns=3)", "nim(pile_sizes=1;2;3)"],
)
def test_looking_no_further_than_a_win_changes_no_value(spec: str) -> None:
    quick, full, apart = solver(), BruteForce(), BruteForce(key=same_history)
    rng = random.Random(0)
    state = initial(spec)
    while not state.is_terminal():
        assert quick.action_values(state) == full.action_values(state)
        if len(state.legal_actions()) <= 6:
            assert apart.action_values(state) == full.action_values(state)
        state.apply_action(rng.choice(state.legal_actions()))
    assert quick.positions < full.positions


def test_more_positions_than_allowed() -> None:
    with pytest.raises(TooManyPositionsError):
        BruteForce(max_positions=100).value(initial("tic_tac_toe"))


def test_a_late_position_is_the_earliest_that_is_late_enough() -> None:
    found = late_position("tic_tac_toe", 0, max_histories=300, matches=1)
    assert found.oracle.positions <= 300
    before = load("tic_tac_toe").new_initial_state()
    for action in found.state.history()[:-1]:
        before.apply_action(action)
    with pytest.raises(TooManyPositionsError):
        BruteForce(key=same_history, max_positions=300).value(before)


@pytest.mark.parametrize("size", [2, 3])
def test_the_hex_solver_agrees_with_brute_force_everywhere(size: int) -> None:
    brute, hex_solver = BruteForce(), HexSolver(size)
    seen = set()
    todo = [initial(f"hex(board_size={size})")]
    while todo:
        state = todo.pop()
        assert hex_solver.value(state) == brute.value(state), state.history()
        for child in (state.child(action) for action in state.legal_actions()):
            if str(child) not in seen:
                seen.add(str(child))
                todo.append(child)
    assert len(seen) == {2: 31, 3: 5_513}[size]


def test_the_hex_solver_agrees_with_brute_force_on_larger_boards() -> None:
    for size in (4, 5):
        hex_solver = HexSolver(size)
        for seed in range(5):
            late = late_position(f"hex(board_size={size})", seed, max_histories=1_000, matches=1)
            for child in (late.state.child(action) for action in late.state.legal_actions()):
                assert hex_solver.value(child) == late.oracle.value(child)


@pytest.mark.parametrize("size", [1, 2, 3, 4, pytest.param(5, marks=pytest.mark.slow("two minutes of solving"))])
def test_the_table_of_hex_openings_is_what_the_solver_finds(size: int) -> None:
    assert tuple(HexSolver(size).winning_openings()) == WINNING_OPENINGS[size]


@pytest.mark.parametrize("size", WINNING_OPENINGS)
def test_known_laws_of_hex_openings(size: int) -> None:
    """Beck's theorems: a1 loses from 2 x 2 on, b1 from 3 x 3 on. A half turn changes nothing; the first player wins."""
    won = set(WINNING_OPENINGS[size])
    assert won == {size * size - 1 - cell for cell in won}
    assert won
    assert 0 not in won or size < 2
    assert 1 not in won or size < 3
    assert (size * size - 1) // 2 in won or size % 2 == 0, "the centre of an odd board wins"
    assert {size - 1, size * (size - 1)} <= won, "the obtuse corners win on boards up to 5 x 5"


@pytest.mark.slow("half a minute of brute force")
def test_brute_force_finds_the_hex_openings_of_4x4() -> None:
    state = initial("hex(board_size=4)")
    values = solver().action_values(state)
    assert tuple(action for action, value in values.items() if value == 1) == WINNING_OPENINGS[4]
