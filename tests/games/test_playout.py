"""Random playouts: uniform over the legal actions, by the caller's draws, to the end or until the caller stops."""

from __future__ import annotations

import random
from collections import Counter
from itertools import islice
from typing import Any

import pytest
from fake_game import FakeGame, chance, first

from athenan_spiel import load_game
from athenan_spiel.games.playout import playout, random_moves

GAME = load_game("connect_four")


def test_a_playout_takes_one_draw_per_action_to_the_end() -> None:
    drawn: list[list[int]] = []

    def choose(actions: list[int]) -> int:
        drawn.append(list(actions))
        return actions[-1]

    state = GAME.new_initial_state()
    assert playout(state, choose) is state
    assert state.is_terminal()
    assert len(drawn) == state.move_number()
    again = GAME.new_initial_state()
    for actions, action in zip(drawn, state.history(), strict=True):
        assert actions == again.legal_actions()
        assert action == actions[-1]
        again.apply_action(action)


def test_a_playout_is_that_of_random_choice() -> None:
    ours = playout(GAME.new_initial_state(), random.Random(3).choice)
    rng, state = random.Random(3), GAME.new_initial_state()
    while not state.is_terminal():
        state.apply_action(rng.choice(state.legal_actions()))
    assert ours.history() == state.history()


def test_the_caller_may_stop_before_a_draw() -> None:
    rng = random.Random(0)
    state = GAME.new_initial_state()
    assert len(list(islice(random_moves(state, rng.choice), 4))) == 4
    assert state.move_number() == 3, "the fourth was offered, and nothing drawn for it"
    expected = random.Random(0)
    for _ in range(3):
        expected.choice(range(7))
    assert rng.getstate() == expected.getstate()


def test_nothing_is_played_after_the_end() -> None:
    state = playout(GAME.new_initial_state(), random.Random(0).choice)
    assert list(random_moves(state, random.Random(0).choice)) == []


def test_chance_is_drawn_by_its_probabilities_and_players_choose_uniformly() -> None:
    game: Any = FakeGame(first(0.0, A=chance(0.0, [0.0, 0.9, 0.1], B=1.0, C=2.0, D=3.0), E=4.0))
    rng = random.Random(0)
    found = Counter(str(playout(game.new_initial_state(), rng.choice)) for _ in range(4000))
    assert found["B"] == 0
    assert found["E"] / 4000 == pytest.approx(0.5, abs=0.03)
    assert found["D"] / (found["C"] + found["D"]) == pytest.approx(0.1, abs=0.03)
