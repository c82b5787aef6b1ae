"""A match as a page sees it."""

from __future__ import annotations

import random

import pytest

import athenan_spiel as ath
from athenan_spiel.games import given_game
from athenan_spiel.games.facts import FACTS
from athenan_spiel.web.interactive_board import InteractiveBoard, MoveError


def table_of(game: str) -> InteractiveBoard:
    return InteractiveBoard(ath.load_game(game).new_initial_state())


def site(table: InteractiveBoard, name: str) -> int:
    assert table.view is not None
    return next(i for i, x in enumerate(table.view.layout.sites) if x.name == name)


def press(table: InteractiveBoard, *names: str) -> str | None:
    done = None
    for name in names:
        done = table.press(site(table, name))
    return None if done is None else done.name


SMALL = {"go": "go(board_size=5)", "cursor_go": "cursor_go(board_size=5)", "y": "y(board_size=5)"}


@pytest.mark.parametrize("name", list(FACTS))
def test_every_action_can_be_chosen_by_pressing_and_by_name(name: str) -> None:
    """Of each legal action: its sites, pressed in order, and then its name where that is asked, make it."""
    rng = random.Random(0)
    table = table_of(SMALL.get(name, name))
    for _ in range(12):
        if table.is_over:
            break
        ply = len(table.moves)
        for option in rng.sample(table.options(), min(6, len(table.options()))):
            played = None
            for x in option.sites:
                assert x in table.targets()
                played = table.press(x)
            if played is None:
                assert option in table.named()
                table.play(option.action)
            assert table.moves[-1] == option.action
            table.show(ply)
        table.play(rng.choice(table.options()).action)


def test_a_move_is_from_where_to_where() -> None:
    table = table_of("breakthrough")
    assert press(table, "a7") is None
    assert table.chosen == (site(table, "a7"),)
    assert {table.view.layout.sites[i].name for i in table.targets()} == {"a6", "b6"}  # type: ignore[union-attr]
    assert press(table, "b6") == "a7b6"
    assert (table.chosen, table.mover) == ((), 1)
    assert [table.view.layout.sites[i].name for i in table.last_sites()] == ["a7", "b6"]  # type: ignore[union-attr]


def test_another_piece_may_be_chosen_and_let_go_of() -> None:
    table = table_of("breakthrough")
    press(table, "a7", "c7")
    assert table.chosen == (site(table, "c7"),)
    press(table, "h1")
    assert table.chosen == ()
    assert table.moves == ()


def test_moves_to_the_same_sites_are_chosen_by_name() -> None:
    table = table_of("pentago")
    assert press(table, "a1") is None
    assert len(table.named()) == 8
    assert not table.targets()
    table.play(table.named()[3].action)
    assert len(table.moves) == 1


def test_a_pass_has_no_place() -> None:
    table = table_of("go(board_size=5)")
    assert [option.name for option in table.named()] == ["B PASS"]


def test_moves_are_taken_back_and_shown_again() -> None:
    table = table_of("tic_tac_toe")
    for action in (4, 0, 8):
        table.play(action)
    assert table.take_back({1}) == 2
    assert (table.moves, table.ahead) == ((4,), (0, 8))
    table.show(2)
    assert (table.moves, table.ahead) == ((4, 0), (8,))
    table.take_back({1})
    table.play(0)
    assert (table.moves, table.ahead) == ((4, 0), ()), "who plays goes on from there, by the same move, too"
    with pytest.raises(MoveError, match="no move to take back"):
        table_of("tic_tac_toe").take_back()


def test_a_start_is_not_taken_back() -> None:
    state = ath.load_game("tic_tac_toe").new_initial_state()
    state.apply_action(4)
    table = InteractiveBoard(state)
    with pytest.raises(MoveError, match="no move to take back"):
        table.take_back()
    table.play(0)
    table.restart()
    assert (table.moves, table.state.history()) == ((), [4])


def test_what_is_not_legal_is_refused() -> None:
    table = table_of("tic_tac_toe")
    with pytest.raises(MoveError, match="expected a legal move, got 12"):
        table.play(12)
    with pytest.raises(MoveError, match="from 0 to 0, got 3"):
        table.show(3)
    for action in (0, 3, 1, 4, 2):
        table.play(action)
    assert table.is_over
    assert table.mover is None
    assert table.targets() == set()
    with pytest.raises(MoveError, match="the game is over"):
        table.play(8)


def test_a_game_without_a_picture_is_played_by_names() -> None:
    table = table_of("hive")
    assert table.view is None
    assert len(table.named()) == len(table.options()) > 0
    assert table.last_sites() == ()


def test_a_game_whose_states_must_last_keeps_doing_so() -> None:
    """A state's own game makes states that read freed memory (`games.lasting_states`)."""
    for table in (table_of("morpion_solitaire"), table_of("morpion_solitaire").copy()):
        assert given_game(table.game) is table.game


def test_a_copy_lists_the_options_of_its_position_alone() -> None:
    table = table_of("tic_tac_toe")
    copy = table.copy()
    table.play(0)
    assert copy.state.history() == []
    assert len(copy.options()) == 9
    table.take_options(copy)
    assert len(table.options()) == 8
    table.show(0)
    table.take_options(copy)
    assert table.options() is copy.options()
