"""Games with chance on a page: rolls, the list of moves, chance positions, analysis."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import athenan_spiel as ath
from agents import parse_spec
from athenan_spiel.arena.record import SavedMatch
from athenan_spiel.play.move_tree import MoveError
from athenan_spiel.web.interactive_board import InteractiveBoard
from athenan_spiel.web.live_game import LiveGame
from athenan_spiel.web.opponents import YOU, Opponents
from athenan_spiel.web.positions import GameLine
from athenan_spiel.web.search_limits import SearchSlots, TreeMemory

PIG = "pig(players=2,winscore=20)"
ROLL, STOP = 0, 1


@pytest.fixture
def workers() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def match_of_game(workers: ThreadPoolExecutor, game: str = PIG, seats: tuple[str, ...] = (YOU, "random")) -> LiveGame:
    match = LiveGame(
        ath.load_game(game).new_initial_state(),
        Opponents([parse_spec("random")]),
        seats,
        0.05,
        SearchSlots(2),
        workers,
        TreeMemory(10**9, 2),
    )
    match.come()
    return match


def wait(match: LiveGame, done: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not done():
        assert time.monotonic() < end, (match.waiting_for, match.error)
        match.tick()
        time.sleep(0.005)


def test_the_program_rolls_by_itself(workers: ThreadPoolExecutor) -> None:
    match = match_of_game(workers)
    match.play(ROLL)
    assert match.board.is_chance
    assert not match.is_yours
    assert match.board.mover is None
    assert match.waiting_for == "a roll is next"
    assert match.progress is None
    match.tick()
    assert not match.board.is_chance
    assert match.board.last_rolls() == [f"Roll {match.line[1] + 1}"]
    assert match.board.names() == [("roll", False), (f"Roll {match.line[1] + 1}", True)]


def test_a_person_rolls_or_types_an_outcome(workers: ThreadPoolExecutor) -> None:
    match = match_of_game(workers)
    match.roll_by_itself(False)
    match.play(ROLL)
    for _ in range(3):
        match.tick()
    assert match.may_roll
    match.roll()
    assert not match.board.is_chance
    with pytest.raises(MoveError, match="no roll is next"):
        match.roll()
    match.show(1)
    match.continue_here()
    match.play(3)
    assert match.board.last_rolls() == ["Roll 4"]
    match.play(ROLL)
    with pytest.raises(MoveError, match="expected an outcome, got 6"):
        match.play(6)


def test_a_chance_position_is_shown_without_a_roll(workers: ThreadPoolExecutor) -> None:
    match = match_of_game(workers)
    match.roll_by_itself(False)
    match.play(ROLL)
    match.play(5)
    match.play(ROLL)
    match.play(4)
    match.show(1)
    match.roll_by_itself(True)
    for _ in range(3):
        match.tick()
    assert match.board.is_chance
    assert match.board.ahead == (5, ROLL, 4)
    assert match.waiting_for == "later moves exist: go forward, or continue from here"
    with pytest.raises(MoveError, match="no roll is next"):
        match.roll()
    with pytest.raises(MoveError, match="not your turn"):
        match.play(3)
    match.step(1)
    assert match.is_yours
    match.show(1)
    match.continue_here()
    match.tick()
    assert len(match.line) == 2


def test_a_move_is_taken_back_with_its_roll(workers: ThreadPoolExecutor) -> None:
    match = match_of_game(workers, seats=(YOU, YOU))
    match.roll_by_itself(False)
    match.play(ROLL)
    match.play(5)
    match.play(ROLL)
    match.take_back()
    assert match.line == (ROLL, 5)
    match.take_back()
    assert match.line == ()


def test_the_first_roll_is_made_when_a_visitor_comes(workers: ThreadPoolExecutor) -> None:
    match = match_of_game(workers, "backgammon")
    match.leave()
    match.tick()
    assert match.line == ()
    match.come()
    match.tick()
    assert len(match.line) >= 1
    wait(match, lambda: match.is_yours)


def test_no_analysis_starts_in_a_chance_position(workers: ThreadPoolExecutor) -> None:
    match = match_of_game(workers)
    match.roll_by_itself(False)
    match.play(ROLL)
    match.analyse(True)
    for _ in range(3):
        match.tick()
    assert not match.is_thinking
    assert match.analysis is None


@pytest.mark.parametrize("game", [PIG, "einstein_wurfelt_nicht", "catch"])
def test_a_finished_game_is_saved_with_its_rolls(workers: ThreadPoolExecutor, game: str) -> None:
    count = ath.load_game(game).num_players()
    match = match_of_game(workers, game, ("random",) * count)
    wait(match, lambda: match.is_over)
    saved = SavedMatch(str(match.game), match.seats, match.seats, 0, 0, 0, match.result())
    assert -1 in saved.result.movers
    saved.require_true()
    match.load(GameLine(saved.result.history, 0).board(match.game))
    assert match.line == ()
    match.tick()
    assert match.line == ()
    match.show(len(saved.result.history))
    assert match.is_over
    assert all(value is None or value.completion in (None, -1, 0, 1) for value in match.values())


def test_the_last_move_of_a_player_is_marked_after_a_roll() -> None:
    board = InteractiveBoard(ath.load_game("einstein_wurfelt_nicht").new_initial_state())
    for _ in range(12):
        board.play(board.options()[0].action)
    assert len(board.names()) == 12
    assert [rolled for _, rolled in board.names()][:4] == [True, True, True, False]
    assert board.last_sites() == () or board.view is not None


def test_outcomes_have_no_sites() -> None:
    board = InteractiveBoard(ath.load_game("2048").new_initial_state())
    assert {option.sites for option in board.options()} == {()}
    assert board.options()[0].name == "2 added to row 1, column 1"
