"""The solver of all games finds what brute force over histories finds, what was published, and what bitboards do."""

from __future__ import annotations

import importlib
import random
from types import ModuleType

import pyspiel
import pytest
from oracles.brute_force import BruteForce, load
from oracles.hex_openings import WINNING_OPENINGS
from oracles.positions import late_position
from solved_games import GAMES


@pytest.fixture
def exact() -> ModuleType:
    return importlib.import_module("solved.exact_solver")


def best_of(state: pyspiel.State, values: dict[int, float]) -> tuple[int, ...]:
    """The actions that are best for who is to move, by the first player's values."""
    best = max(values.values()) if state.current_player() == 0 else min(values.values())
    return tuple(action for action, value in values.items() if value == best)


@pytest.mark.parametrize("spec", [*GAMES, "tic_tac_toe"])
@pytest.mark.parametrize("seed", range(4))
def test_it_finds_what_brute_force_over_histories_finds(exact: ModuleType, spec: str, seed: int) -> None:
    late = late_position(spec, seed, max_histories=5_000, matches=3)
    solver = exact.ExactSolver()
    assert solver.keeping(late.state) == best_of(late.state, late.oracle.action_values(late.state))
    assert solver.value(late.state) == late.oracle.value(late.state)
    assert exact.ExactSolver().value(late.state) == late.oracle.value(late.state)


@pytest.mark.parametrize("order", [0, 1])
def test_what_it_keeps_changes_no_value(exact: ModuleType, order: int) -> None:
    game, oracle, solver = load("tic_tac_toe"), BruteForce(), exact.ExactSolver()
    states, waiting = [], [game.new_initial_state()]
    while waiting:
        state = waiting.pop()
        if not state.is_terminal() and state.move_number() < 5:
            states.append(state)
            waiting += [state.child(action) for action in state.legal_actions()]
    for state in random.Random(order).sample(states, 500):
        assert solver.value(state) == oracle.value(state)
        assert solver.keeping(state) == best_of(state, oracle.action_values(state))


@pytest.mark.parametrize("size", [2, 3])
def test_the_openings_that_win_hex_are_the_published_ones(exact: ModuleType, size: int) -> None:
    state = load(f"hex(board_size={size})").new_initial_state()
    assert exact.ExactSolver().keeping(state) == tuple(WINNING_OPENINGS[size])


def test_it_agrees_with_the_bitboards(exact: ModuleType) -> None:
    bitboards = importlib.import_module("solved.connect_four_solver").ConnectFourSolver(4, 4)
    game, rng, found = load("connect_four(columns=4,rows=4)"), random.Random(0), set()
    for _ in range(60):
        state = game.new_initial_state()
        while state.move_number() < 8 and not state.is_terminal():
            state.apply_action(rng.choice(state.legal_actions()))
        if state.is_terminal():
            continue
        values = bitboards.move_values(*bitboards.position(state.history()))
        best = max(values.values())
        found.add(best)
        assert exact.ExactSolver().keeping(state) == tuple(x for x, value in values.items() if value == best)
    assert found == {-1, 0, 1}


def test_it_gives_up_at_its_bound(exact: ModuleType) -> None:
    state = load("tic_tac_toe").new_initial_state()
    solver = exact.ExactSolver(100)
    with pytest.raises(exact.TooManyNodesError, match="not solved after 100 positions"):
        solver.value(state)
    assert solver.nodes == 100
    whole = exact.ExactSolver()
    assert whole.value(state) == 0
    assert exact.ExactSolver(whole.nodes).value(state) == 0
    with pytest.raises(exact.TooManyNodesError):
        exact.ExactSolver(whole.nodes - 1).value(state)
