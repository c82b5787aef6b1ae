"""Board of a page: moves by pressing sites or by name, moves taken back, copies."""

from __future__ import annotations

import random

import pytest

import athenan_spiel as ath
from athenan_spiel.games import given_game
from athenan_spiel.games.facts import FACTS
from athenan_spiel.play.move_tree import MoveError
from athenan_spiel.web.interactive_board import InteractiveBoard


def board_of(game: str) -> InteractiveBoard:
    return InteractiveBoard(ath.load_game(game).new_initial_state())


def site(board: InteractiveBoard, name: str) -> int:
    assert board.view is not None
    return next(i for i, x in enumerate(board.view.layout.sites) if x.name == name)


def press(board: InteractiveBoard, *names: str) -> str | None:
    done = None
    for name in names:
        done = board.press(site(board, name))
    return None if done is None else done.name


SMALL = {"go": "go(board_size=5)", "cursor_go": "cursor_go(board_size=5)", "y": "y(board_size=5)"}


@pytest.mark.parametrize("name", list(FACTS))
def test_every_action_can_be_chosen_by_pressing_and_by_name(name: str) -> None:
    """Pressing the sites of an action in order, and choosing its name if needed, plays it."""
    rng = random.Random(0)
    board = board_of(SMALL.get(name, name))
    for _ in range(12):
        if board.is_over:
            break
        ply = len(board.moves)
        for option in rng.sample(board.options(), min(6, len(board.options()))):
            played = None
            for x in option.sites:
                assert x in board.targets()
                played = board.press(x)
            if played is None:
                assert option in board.named()
                board.play(option.action)
            assert board.moves[-1] == option.action
            board.show(ply)
        board.play(rng.choice(board.options()).action)


def test_a_move_is_an_origin_and_a_destination() -> None:
    board = board_of("breakthrough")
    assert press(board, "a7") is None
    assert board.chosen == (site(board, "a7"),)
    assert {board.view.layout.sites[i].name for i in board.targets()} == {"a6", "b6"}  # type: ignore[union-attr]
    assert press(board, "b6") == "a7b6"
    assert (board.chosen, board.mover) == ((), 1)
    assert [board.view.layout.sites[i].name for i in board.last_sites()] == ["a7", "b6"]  # type: ignore[union-attr]


def test_dots_mark_sites_that_complete_a_move() -> None:
    board = board_of("breakthrough(rows=6,columns=6)")
    assert board.dots() == set()
    assert {board.view.layout.sites[i].name for i in board.drags()} == {f"{x}5" for x in "abcdef"}  # type: ignore[union-attr]
    board.press(site(board, "a5"))
    assert board.dots() == board.targets() != set()
    assert site(board, "a5") in board.drags()
    hexes = board_of("hex(board_size=3)")
    assert (hexes.dots(), hexes.drags()) == (set(range(9)), set())
    assert board_of("hive").drags() == set()
    backgammon = board_of("backgammon")
    backgammon.play(backgammon.options()[0].action)
    assert any(len(option.sites) > 1 for option in backgammon.options())
    assert backgammon.drags() == set(), "its two sites are the origins of two checkers"


def test_another_piece_can_be_chosen_or_none() -> None:
    board = board_of("breakthrough")
    press(board, "a7", "c7")
    assert board.chosen == (site(board, "c7"),)
    press(board, "h1")
    assert board.chosen == ()
    assert board.moves == ()


def test_moves_to_the_same_sites_are_chosen_by_name() -> None:
    board = board_of("pentago")
    assert press(board, "a1") is None
    assert len(board.named()) == 8
    assert not board.targets()
    board.play(board.named()[3].action)
    assert len(board.moves) == 1


def test_a_pass_has_no_site() -> None:
    board = board_of("go(board_size=5)")
    assert [option.name for option in board.named()] == ["B PASS"]


def test_moves_are_taken_back_and_shown_again() -> None:
    board = board_of("tic_tac_toe")
    for action in (4, 0, 8):
        board.play(action)
    assert board.take_back({1}) == 2
    assert (board.moves, board.ahead) == ((4,), (0, 8))
    board.show(2)
    assert (board.moves, board.ahead) == ((4, 0), (8,))
    board.take_back({1})
    board.play(0)
    assert (board.moves, board.ahead) == ((4, 0), (8,)), "the same move is no variation"
    board.take_back({1})
    board.play(1)
    assert (board.moves, board.ahead, len(board.tree)) == ((4, 1), (), 4)
    with pytest.raises(MoveError, match="no move to take back"):
        board_of("tic_tac_toe").take_back()


def test_a_start_is_not_taken_back() -> None:
    state = ath.load_game("tic_tac_toe").new_initial_state()
    state.apply_action(4)
    board = InteractiveBoard(state)
    with pytest.raises(MoveError, match="no move to take back"):
        board.take_back()
    board.play(0)
    board.restart()
    assert (board.moves, board.state.history()) == ((), [4])


def test_illegal_moves_are_refused() -> None:
    board = board_of("tic_tac_toe")
    with pytest.raises(MoveError, match="expected a legal move, got 12"):
        board.play(12)
    with pytest.raises(MoveError, match="from 0 to 0, got 3"):
        board.show(3)
    for action in (0, 3, 1, 4, 2):
        board.play(action)
    assert board.is_over
    assert board.mover is None
    assert board.targets() == set()
    with pytest.raises(MoveError, match="the game is over"):
        board.play(8)


def test_a_game_without_a_view_is_played_by_names() -> None:
    board = board_of("hive")
    assert board.view is None
    assert len(board.named()) == len(board.options()) > 0
    assert board.last_sites() == ()


def test_states_of_morpion_solitaire_stay_valid() -> None:
    """The game of a state itself makes states that read freed memory (`games.lasting_states`)."""
    for board in (board_of("morpion_solitaire"), board_of("morpion_solitaire").copy()):
        assert given_game(board.game) is board.game


def test_a_copy_has_the_options_of_its_position() -> None:
    board = board_of("tic_tac_toe")
    copy = board.copy()
    board.play(0)
    assert copy.state.history() == []
    assert len(copy.options()) == 9
    board.take_options(copy)
    assert len(board.options()) == 8
    board.show(0)
    board.take_options(copy)
    assert board.options() is copy.options()


def test_an_impossible_number_of_moves_changes_nothing() -> None:
    board = InteractiveBoard(ath.load_game("tic_tac_toe").new_initial_state())
    for action in (0, 1, 2):
        board.play(action)
    board.show(1)
    for ply in (-1, 4, 1.0):
        with pytest.raises((MoveError, TypeError)):
            board.show(ply)  # type: ignore[arg-type]
        assert (board.moves, board.ahead) == ((0,), (1, 2))


def test_deleting_the_current_position_shows_the_one_before() -> None:
    board = board_of("tic_tac_toe")
    for action in (0, 1, 2):
        board.play(action)
    first, second, third = board.node.path()
    board.go_to(second)
    board.delete(third)
    assert (board.moves, board.ahead) == ((0, 1), ())
    board.delete(first)
    assert (board.moves, board.state.history(), len(board.tree)) == ((), [], 0)


def test_any_node_of_the_tree_is_shown() -> None:
    """Also one on another variation, and one further along the current line."""
    board = board_of("tic_tac_toe")
    ends = []
    for line in ((0, 1, 2), (0, 4, 8), (6,)):
        board.show(0)
        for action in line:
            board.play(action)
        ends.append(board.node)
    for node in (*ends, ends[0].path()[0], ends[1]):
        board.go_to(node)
        assert board.state.history() == [each.action for each in node.path()]
        assert board.chosen == ()
