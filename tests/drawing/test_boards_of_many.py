"""Boards and texts of games for more than two players."""

from __future__ import annotations

import random

import pytest

from athenan_spiel.drawing.board import COLOURS, board_svg
from athenan_spiel.drawing.state_picture import returns_text, turn_text
from athenan_spiel.drawing.views import VIEWS, view_of
from athenan_spiel.games import load_game
from athenan_spiel.games.chance import is_chance, possible_actions
from athenan_spiel.games.facts import mark_of

GAMES = [
    ("chinese_checkers(players=3)", ("1", "2", "3"), ("red", "blue", "green")),
    (
        "chinese_checkers(players=6)",
        ("1", "2", "3", "4", "5", "6"),
        ("red", "blue", "green", "yellow", "violet", "dark"),
    ),
    ("maedn(players=4)", ("1", "2", "3", "4"), ("red", "blue", "green", "yellow")),
    ("quoridor(players=3)", ("0", "@", "#"), ("dark", "light", "red")),
]


@pytest.mark.parametrize(("name", "marks", "colours"), GAMES)
def test_each_player_moves_its_own_pieces(name: str, marks: tuple[str, ...], colours: tuple[str, ...]) -> None:
    game, rng = load_game(name), random.Random(1)
    players, view = range(game.num_players()), view_of(game)
    assert view is not None
    assert tuple(mark_of(game, player) for player in players) == marks
    assert tuple(view.colour(player) for player in players) == colours
    state, moved = game.new_initial_state(), set()
    for _ in range(120):
        action = rng.choice(possible_actions(state))
        if not is_chance(state):
            mover = state.current_player()
            before, after = ({piece.site: piece.side for piece in view.pieces(s)} for s in (state, state.child(action)))
            changed = {
                after.get(site, before.get(site))
                for site in before.keys() | after.keys()
                if before.get(site) != after.get(site)
            }
            assert not changed or mover in changed
            moved |= changed
            assert turn_text(state, is_drawn=True).startswith(f"{view.colour_name(mover).capitalize()} is to move")
        state.apply_action(action)
    assert moved == set(players)
    assert all(f"{view.colour_name(player)} " in board_svg(view, state) for player in players)


def test_every_colour_of_a_view_is_drawn() -> None:
    for name in ("chinese_checkers", "maedn", "quoridor", "hex"):
        view = VIEWS[name](load_game(name))
        assert view is not None
        assert set(view.colours) <= COLOURS.keys()


def test_a_player_without_a_mark() -> None:
    assert mark_of(load_game("pig(players=3)"), 2) is None
    assert mark_of(load_game("tic_tac_toe"), 1) == "o"


@pytest.mark.parametrize(
    ("returns", "said"),
    [
        ([1.0, -1.0], "player 0 has won"),
        ([0.0, 0.0], "a draw"),
        ([7.0], "a score of 7"),
        ([-0.5, -0.5, 1.0], "player 2 has won (returns -0.5, -0.5, 1)"),
        ([0.5, -1.0, 0.5], "player 0 and player 2 share the first place (returns 0.5, -1, 0.5)"),
        ([0.0, 0.0, 0.0], "a draw"),
    ],
)
def test_the_result_names_the_winners(returns: list[float], said: str) -> None:
    assert returns_text(load_game("pig(players=3)"), returns) == said
