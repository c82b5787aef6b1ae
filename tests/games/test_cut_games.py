"""Games ended by a length limit, and games ended by their rules."""

from __future__ import annotations

import random
from typing import Any

import pytest

from athenan_spiel import load_game
from athenan_spiel.games.facts import FACTS
from athenan_spiel.games.facts.lengths import never_cut
from athenan_spiel.games.playout import is_cut, playout


@pytest.mark.parametrize(
    ("spec", "cut"),
    [
        ("go(board_size=9,max_game_length=10)", True),
        ("lines_of_action(max_game_length=10)", True),
        ("chinese_checkers(max_moves=10)", True),
        ("lines_of_action", False),
        ("tic_tac_toe", False),  # its longest games end by the rules
        ("hex(board_size=2)", False),
        ("dots_and_boxes", False),
    ],
)
def test_a_cut_game_is_one_that_the_limit_ended(spec: str, cut: bool) -> None:
    game = load_game(spec)
    for seed in range(8):
        state = game.new_initial_state()
        assert not is_cut(state)
        assert is_cut(playout(state, random.Random(seed).choice)) == cut


def test_removing_a_man_is_not_a_turn() -> None:
    """200 turns end Nine Men's Morris, which may be more actions."""
    game = load_game("nine_mens_morris")
    seen = set()
    for seed in range(20):
        state = playout(game.new_initial_state(), random.Random(seed).choice)
        assert is_cut(state) == (len(state.history()) >= 200 and not any(state.returns()))
        seen.add(is_cut(state))
    assert seen == {True, False}


def test_a_state_may_decide_it_itself() -> None:
    class Ends:
        def is_terminal(self) -> bool:
            return True

        def was_cut(self) -> bool:
            return True

    state: Any = Ends()
    assert is_cut(state)


def test_games_that_always_end_by_their_rules_are_never_cut() -> None:
    unlimited = {name for name, facts in FACTS.items() if facts.cut is never_cut}
    assert {"tic_tac_toe", "hex", "connect_four", "breakthrough", "othello"} <= unlimited
    assert not {"chess", "oware", "go", "xiangqi", "hive"} & unlimited
