"""GNU Backgammon's positions and moves, and the program itself where it is installed."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pyspiel
import pytest
from installed import needs_gnubg

from athenan_spiel.errors import AgentError, ProgramError
from athenan_spiel.games import load_game
from athenan_spiel.games.chance import is_chance
from athenan_spiel.protocols.gnubg import (
    DEFAULT_SETTING,
    SETTINGS,
    Gnubg,
    Points,
    actions_to,
    after,
    dice_of,
    half_of,
    points_of,
    require_backgammon,
    setting_of,
    xgid,
)
from athenan_spiel.search import UBFM, Budget, Descent, Search, think

GAME = load_game("backgammon")
START = (0, -2, 0, 0, 0, 0, 5, 0, 3, 0, 0, 0, -5, 5, 0, 0, 0, -3, 0, -5, 0, 0, 0, 0, 2, 0)
START_LETTERS = "-b----E-C---eE---c-e----B-"
THREE_AND_ONE, DOUBLE_ONE = 2, 30
"""Outcomes of chance: player 0 starts with 3 and 1; a later roll of 1 and 1."""


def position(**checkers: int) -> Points:
    """Position with checkers at `p6=2` (own) or `p19=-2` (the opponent's), `bar=1` and `their_bar=1`."""
    points = [0] * 26
    for name, count in checkers.items():
        points[25 if name == "bar" else 0 if name == "their_bar" else int(name[1:])] = count
    return tuple(points)


def rolled(*actions: int) -> pyspiel.State:
    state = GAME.new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state


@pytest.mark.parametrize("outcome", range(30))
def test_the_initial_position_is_the_same_for_both_sides(outcome: int) -> None:
    state = rolled(outcome)
    assert points_of(state, 0) == points_of(state, 1) == START
    low, high = dice_of(state)
    assert f"(roll: {low}{high})" in (name := GAME.new_initial_state().action_to_string(-1, outcome)) or (
        f"(roll: {high}{low})" in name
    )


def test_a_position_is_written_for_the_program() -> None:
    assert xgid(START, (1, 3), 1) == f"XGID={START_LETTERS}:0:0:1:13:0:0:0:1:10"
    assert xgid(position(bar=2, p1=15, their_bar=-1, p24=-14), (6, 6), 0) == (
        "XGID=aO----------------------nB:0:0:1:66:0:0:0:0:10"
    )


@pytest.mark.parametrize(
    ("before", "move", "result"),
    [
        (START, "8/5 6/5", {**dict(enumerate(START)), 8: 2, 6: 4, 5: 2}),
        (position(p24=1, p18=-1), "24/18*/13", {0: -1, 13: 1}),
        (position(p8=3, p4=-1), "8/4*(2)", {0: -1, 8: 1, 4: 2}),
        (position(bar=1, p24=1, p6=2), "bar/22", {22: 1, 24: 1, 6: 2}),
        (position(p6=2, p1=1), "6/off(2)", {1: 1}),
        (position(p5=1, p3=2), "5/off 3/off(2)", {}),
        (position(bar=2, p24=-1), "bar/24*(2)", {0: -1, 24: 2}),
    ],
)
def test_moves_of_the_program(before: Points, move: str, result: dict[int, int]) -> None:
    assert after(before, move) == tuple(result.get(i, 0) for i in range(26))


def test_a_move_without_a_checker() -> None:
    with pytest.raises(ProgramError, match="expected a legal move, got '7/5'"):
        after(START, "7/5")


def test_a_move_is_one_action_and_with_doubles_two() -> None:
    state = rolled(THREE_AND_ONE)
    assert dice_of(state) == (1, 3)
    (action,) = actions_to(state, after(START, "8/5 6/5"))
    assert state.action_to_string(action).endswith("8/5 6/5")
    assert actions_to(state, after(START, "8/4 6/4")) == ()
    state.apply_action(action)
    state.apply_action(DOUBLE_ONE)
    points = points_of(state, 1)
    first, second = actions_to(state, after(points, "8/7(2) 6/5(2)"))
    state.apply_action(first)
    assert state.current_player() == 1
    assert actions_to(state, after(points, "8/7(2) 6/5(2)")) == (second,)
    state.apply_action(second)
    assert points_of(state, 1) == after(points, "8/7(2) 6/5(2)")


def test_the_second_half_of_doubles_plays_a_part_of_a_move_for_all_dice() -> None:
    state = rolled(THREE_AND_ONE)
    state.apply_action(state.legal_actions()[0])
    state.apply_action(DOUBLE_ONE)
    state.apply_action(actions_to(state, after(points_of(state, 1), "8/7(2) 6/5(2)"))[0])
    points = points_of(state, 1)
    assert half_of(state, "4/off") is None
    half = half_of(state, "13/11 6/5(2)")
    assert half is not None
    state.apply_action(half)
    parts = ("13/11", "13/12 6/5", "6/5(2)")
    assert points_of(state, 1) in [after(points, part) for part in parts]


def test_settings() -> None:
    assert setting_of("Intermediate") == SETTINGS["intermediate"]
    assert setting_of("2") == SETTINGS[DEFAULT_SETTING]
    for name in ("5", "worldclass", "", "x" * 1000):
        with pytest.raises(AgentError, match="expected plies from 0 to 4 or a setting of GNU Backgammon"):
            setting_of(name)


def test_games() -> None:
    require_backgammon(GAME)
    for name in ("chess", "backgammon(hyper_backgammon=true)"):
        with pytest.raises(AgentError, match="GNU Backgammon plays 'backgammon', got "):
            require_backgammon(pyspiel.load_game(name))


@pytest.fixture(scope="module")
def program() -> Iterator[Gnubg]:
    engine = Gnubg(["gnubg"], setting_of("0"))
    yield engine
    engine.close()


@needs_gnubg
@pytest.mark.parametrize("name", [name for name in SETTINGS if name not in ("3", "4", "grandmaster")])
def test_the_program_plays_well_known_openings(name: str) -> None:
    engine = Gnubg(["gnubg"], setting_of(name))
    try:
        move = engine.hint(START, (1, 3)).move
        assert move == "8/5 6/5" or setting_of(name).noise
        assert engine.hint(START, (1, 3)).move == move
    finally:
        engine.close()


@needs_gnubg
def test_gammons_count_in_games_that_score_them(program: Gnubg) -> None:
    engine = Gnubg(["gnubg"], setting_of("0"), gammons=True)
    try:
        assert engine.hint(START, (1, 3)).equity == pytest.approx(0.160, abs=0.01)
        assert program.hint(START, (1, 3)).equity == pytest.approx(0.102, abs=0.01)
    finally:
        engine.close()


def require_legal_hints(program: Gnubg, positions: int, seed: int) -> None:
    """Plays games at random and by the program, which must choose legal moves in `positions` states."""
    rng = random.Random(seed)
    state = GAME.new_initial_state()
    for _ in range(positions):
        asked = False
        while not asked:
            if state.is_terminal():
                state = GAME.new_initial_state()
            if is_chance(state):
                state.apply_action(rng.choice(state.legal_actions()))
                continue
            player = state.current_player()
            points = points_of(state, player)
            second_half = state.full_history()[-1].player == player
            actions = state.legal_actions()
            if len(actions) > 1 or state.child(actions[0]).current_player() == player:
                asked = True
                move = program.hint(points, dice_of(state)).move
                if second_half:
                    assert actions_to(state, after(points, move)) or half_of(state, move) in actions, str(state)
                else:
                    turn = actions_to(state, after(points, move))
                    assert turn, f"{move} in\n{state}"
                    if rng.random() < 0.5:
                        for action in turn:
                            state.apply_action(action)
                        assert points_of(state, player) == after(points, move)
                        continue
            state.apply_action(rng.choice(actions))


@needs_gnubg
def test_its_moves_are_legal(program: Gnubg) -> None:
    require_legal_hints(program, 200, seed=1)


@needs_gnubg
@pytest.mark.slow("5,000 positions")
def test_its_moves_are_legal_in_thousands_of_positions(program: Gnubg) -> None:
    require_legal_hints(program, 5000, seed=2)


def bear_offs(least: int, most: int, count: int, seed: int) -> list[pyspiel.State]:
    """Returns states after a roll in which both sides bear off their last `least` to `most` checkers."""
    rng = random.Random(seed)
    found: list[pyspiel.State] = []
    while len(found) < count:
        state = GAME.new_initial_state()
        while not state.is_terminal():
            if is_chance(state):
                state.apply_action(rng.choice(state.legal_actions()))
                continue
            player = state.current_player()
            points = points_of(state, player)
            own, theirs = sum(n for n in points if n > 0), -sum(n for n in points if n < 0)
            at_home = not any(points[7:19]) and max(points[19:]) <= 0 <= min(points[:7])
            rolled_now = state.full_history()[-1].player < 0
            if (
                at_home
                and rolled_now
                and least <= min(own, theirs)
                and max(own, theirs) <= most
                and len(state.legal_actions()) > 1
            ):
                found.append(state)
                break
            state.apply_action(min(state.legal_actions(), key=lambda a: (_outside(state, player, a), rng.random())))
    return found


def _outside(state: pyspiel.State, player: int, action: int) -> tuple[int, int]:
    """Returns the numbers of checkers on the board and outside of the home board after an action."""
    own = [max(0, n) for n in points_of(state.child(action), player)]
    return sum(own), sum(own[7:])


@needs_gnubg
@pytest.mark.slow("searches until the end of the game")
@pytest.mark.parametrize("kind", [UBFM, Descent])
def test_searches_prove_the_values_of_its_bear_off_database(kind: type[Search], program: Gnubg) -> None:
    """Its database for two sides is exact up to 6 checkers on each, apart from rounding to 1/65535."""
    values = set()
    for state in bear_offs(2, 4, count=24, seed=1):
        result = think(kind(GAME), state, Budget(iterations=12_000), lambda states: np.zeros(len(states)))
        if not result.is_resolved:
            continue
        mover = state.current_player()
        value = result.completion if mover == 0 else -result.completion
        hint = program.hint(points_of(state, mover), dice_of(state))
        assert (1 + value) / 2 == pytest.approx((1 + hint.equity) / 2, abs=0.001), str(state)
        values.add(round(value, 3))
    assert len(values - {-1.0, 1.0}) >= 3
