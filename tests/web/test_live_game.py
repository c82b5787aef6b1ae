"""Game on a page: turns, searches, taking back, resigning, leaving."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import athenan_spiel as ath
from agents import AgentSpec, AthenanBot, parse_spec
from athenan_spiel.arena.record import SavedMatch
from athenan_spiel.play import move_tree
from athenan_spiel.play.move_tree import MoveError
from athenan_spiel.web import live_game
from athenan_spiel.web.bot_search import BotSearch
from athenan_spiel.web.live_game import LiveGame
from athenan_spiel.web.opponents import PLAYOUTS, YOU, Opponent, Opponents, PlayoutAnalyst, require_seconds
from athenan_spiel.web.positions import GameLine
from athenan_spiel.web.search_limits import SearchSlots, TreeMemory

PATIENCE = 60.0
PONDERS = AgentSpec("ponderer", "alphabeta", {"seconds": 0.05, "ponder": True})


@pytest.fixture
def workers() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def match_at(
    workers: ThreadPoolExecutor, game: str = "tic_tac_toe", seats: tuple[str, ...] = (YOU, "quick"), count: int = 2
) -> LiveGame:
    words = [parse_spec("alphabeta@20i"), parse_spec("random"), PONDERS]
    words += [parse_spec("runs/nothing")] if "nothing" in seats else []
    seats = tuple({"quick": "alphabeta@20i"}.get(name, name) for name in seats)
    match = LiveGame(
        ath.load_game(game).new_initial_state(),
        Opponents(words),
        seats,
        0.05,
        SearchSlots(count),
        workers,
        TreeMemory(10**9, count),
    )
    match.come()
    return match


def wait(match: LiveGame, done: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end, (match.waiting_for, match.error)
        match.tick()
        time.sleep(0.005)


def test_a_person_and_an_agent_take_turns(workers: ThreadPoolExecutor) -> None:
    match = match_at(workers)
    assert match.is_yours
    match.press(4)
    assert not match.is_yours
    wait(match, lambda: match.is_yours)
    assert len(match.board.moves) == 2
    assert match.analysis is not None
    assert match.analysis.line == (4,)
    assert match.values()[1] is not None
    assert match.values()[0] is None


def test_values_stay_on_the_board_after_a_move(workers: ThreadPoolExecutor) -> None:
    """The board shows what the agent's tree knows about the position after its move."""
    match = match_at(workers)
    match.press(4)
    assert match.board_analysis is None
    wait(match, lambda: match.is_yours)
    known = match.board_analysis
    assert known is not None
    assert match.analysis is not None
    assert (match.analysis.line, known.line) == ((4,), match.line)
    assert known.result.actions.tolist() == match.board.state.legal_actions()
    assert str(known.state) == str(match.board.state)
    assert known.result.calibration is match.analysis.result.calibration
    match.analysis.tree.table.clear()
    assert match.board_analysis is match.analysis, "nothing is known: the earlier analysis"
    match.press(next(iter(match.board.targets())))
    match.resign() if match.is_yours else match.show(0)
    assert match.board_analysis is None, "no analysis on this line"


def test_two_agents_play_a_game_that_can_be_saved(workers: ThreadPoolExecutor) -> None:
    match = match_at(workers, seats=("random", "quick"))
    wait(match, lambda: match.is_over)
    saved = SavedMatch(str(match.game), match.seats, match.seats, 0, 0, 0, match.result())
    assert SavedMatch.from_json(saved.to_json()).require_true().is_terminal()
    assert match.values()[-1] is not None


def test_no_agent_moves_while_moves_lie_ahead(workers: ThreadPoolExecutor) -> None:
    match = match_at(workers, seats=("random", "quick"))
    wait(match, lambda: len(match.board.moves) >= 3)
    match.show(1)
    for _ in range(20):
        match.tick()
        time.sleep(0.005)
    assert len(match.board.moves) == 1
    assert "later moves" in str(match.waiting_for)
    match.continue_here()
    wait(match, lambda: len(match.board.moves) >= 2)


def test_an_agent_answers_a_variation(workers: ThreadPoolExecutor) -> None:
    match = match_at(workers)
    match.play(4)
    wait(match, lambda: match.is_yours)
    match.show(0)
    assert not match.is_thinking
    match.play(0)
    wait(match, lambda: match.is_yours and len(match.board.moves) == 2)
    first, other = match.board.tree.root.children
    assert (first.action, other.action) == (4, 0)
    assert len(other.children) == 1
    match.show(0)
    match.play(4)
    wait(match, lambda: match.is_yours)
    assert match.board.node in first.children, "a move played again is answered again"


def test_a_move_that_replaces_one_taken_back_is_the_main_line(workers: ThreadPoolExecutor) -> None:
    match = match_at(workers, seats=(YOU, YOU))
    match.play(4)
    match.take_back()
    match.play(0)
    assert [node.action for node in match.board.tree.root.children] == [0, 4]
    match.take_back()
    match.show(0)
    match.play(1)
    assert [node.action for node in match.board.tree.root.children] == [0, 4, 1], "a position shown is only branched"


def test_a_full_tree_takes_no_move_and_stops_no_other_game(
    workers: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(move_tree, "MAX_TREE_MOVES", 3)
    match = match_at(workers, seats=("random", "random"))
    wait(match, lambda: len(match.board.moves) == 3)
    for _ in range(5):
        match.tick()
    assert match.forfeit is None
    assert match.waiting_for == "too many moves: delete variations"
    match.set_seats((YOU, YOU))
    with pytest.raises(MoveError, match="delete some"):
        match.play(match.board.state.legal_actions()[0])
    match.delete()
    match.play(match.board.state.legal_actions()[0])


def test_a_position_is_found_by_its_node(workers: ThreadPoolExecutor) -> None:
    match = match_at(workers, seats=(YOU, YOU))
    match.play(4)
    node = match.board.node
    match.show(0)
    match.go_to(node.number)
    assert match.line == (4,)
    match.delete()
    assert match.line == ()
    with pytest.raises(MoveError, match="was deleted"):
        match.go_to(node.number)
    with pytest.raises(MoveError, match="cannot be deleted"):
        match.delete()


def test_taking_back_returns_the_turn_to_the_person(workers: ThreadPoolExecutor) -> None:
    match = match_at(workers)
    with pytest.raises(MoveError, match="no move"):
        match.take_back()
    match.press(0)
    wait(match, lambda: match.is_yours)
    match.take_back()
    assert match.board.moves == ()
    assert match.is_yours


def test_sides_can_be_swapped_during_a_game(workers: ThreadPoolExecutor) -> None:
    match = match_at(workers)
    match.press(4)
    match.set_seats(match.seats[::-1])
    assert match.is_yours
    with pytest.raises(ath.AgentError, match="expected one of"):
        match.set_seats((YOU, "gtp:rm"))


def test_resigning_ends_the_game(workers: ThreadPoolExecutor) -> None:
    match = match_at(workers)
    with pytest.raises(MoveError, match="not over"):
        match.result()
    match.resign()
    assert match.is_over
    result = match.result()
    assert result.returns == (-1.0, 1.0)
    assert result.forfeit is not None
    assert result.forfeit.resigned
    with pytest.raises(MoveError, match="only the player to move"):
        match.resign()


def test_searches_stop_when_the_visitor_leaves(workers: ThreadPoolExecutor) -> None:
    match = match_at(workers, "connect_four", seats=("alphabeta", YOU))
    match.set_seconds(60)
    wait(match, lambda: match.is_thinking)
    match.leave()
    wait(match, lambda: not match._stopping)
    for _ in range(5):
        match.tick()
    assert not match.is_thinking
    assert match.board.moves == ()
    match.come()
    wait(match, lambda: match.is_thinking)
    match.leave()
    wait(match, lambda: not match._stopping)


def test_a_search_waits_for_a_free_slot(workers: ThreadPoolExecutor) -> None:
    slots = SearchSlots(1)
    first, second = match_at(workers), match_at(workers)
    first._slots = second._slots = slots
    for match in (first, second):
        match.set_seats(("alphabeta", YOU))
    first.set_seconds(60)
    wait(first, lambda: first.is_thinking)
    wait(second, lambda: "free core" in str(second.waiting_for))
    assert not second.is_thinking
    first.leave()
    wait(first, lambda: not first._stopping)
    first.tick()
    wait(second, lambda: len(second.board.moves) == 1)


def test_a_position_is_analysed_while_a_person_is_to_move(workers: ThreadPoolExecutor) -> None:
    match = match_at(workers)
    match.analyse(True)
    wait(match, lambda: match.analysis is not None and not match.is_thinking)
    assert match.analysis is not None
    assert match.analysis.line == ()
    assert match.is_yours


def test_an_agent_without_a_tree_cannot_analyse(workers: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PlayoutAnalyst, "make", Opponent.make)  # OpenSpiel's MCTS
    match = match_at(workers, seats=(YOU, "random"))
    match.analyse(True)
    wait(match, lambda: match.error is not None)
    assert "shows no analysis" in str(match.error)
    assert not match.analyses


def test_an_agent_that_cannot_play_the_game_gives_its_seat_to_a_person(workers: ThreadPoolExecutor) -> None:
    match = match_at(workers, seats=("nothing", YOU))
    wait(match, lambda: match.error is not None)
    assert "cannot play here" in str(match.error)
    assert match.seats == (YOU, YOU)


def test_a_saved_game_is_shown_from_its_start(workers: ThreadPoolExecutor) -> None:
    match = match_at(workers)
    match.load(GameLine((0, 4, 1, 5, 2), 0).board(match.game))
    assert match.board.moves == ()
    match.show(5)
    assert match.is_over


@pytest.mark.parametrize("seconds", [0, 61, "1", None, True, float("nan")])
def test_times_out_of_bounds_are_refused(seconds: object) -> None:
    with pytest.raises(ath.BudgetError, match="seconds per move"):
        require_seconds(seconds)


def test_progress_has_the_time_left(workers: ThreadPoolExecutor) -> None:
    match = match_at(workers, "connect_four", seats=("alphabeta", YOU))
    assert match.progress is not None
    assert (match.progress.what, match.progress.left) == ("loading alphabeta", None)
    match.set_seconds(30)
    wait(match, lambda: match.is_thinking)
    progress = match.progress
    assert progress is not None
    assert progress.share is not None
    assert progress.left is not None
    assert 0 <= progress.share < 1
    assert progress.left == pytest.approx(30 * (1 - progress.share))
    match.leave()
    match.set_seats((YOU, "alphabeta"))
    assert match.progress is None
    wait(match, lambda: not match._stopping)


def test_only_time_limits_give_the_time_left() -> None:
    found = Opponents([parse_spec("alphabeta@20i"), parse_spec("alphabeta@3s")])
    assert [found.find(name).limit(1.5) for name in ("alphabeta@20i", "alphabeta@3s", "alphabeta")] == [None, 3.0, 1.5]


def test_an_agent_ponders_during_a_persons_turn(workers: ThreadPoolExecutor) -> None:
    match = match_at(workers, "breakthrough", seats=(YOU, "alphabeta"))
    match.ponder(True)
    match.play(match.board.state.legal_actions()[0])
    wait(match, lambda: match.is_yours and match.is_pondering)
    wait(match, lambda: match.analysis is not None and match.analysis.line == match.line)
    assert match.analysis is not None
    assert "pondering" in match.analysis.by
    first = match.analysis.result
    wait(match, lambda: match.analysis is not None and match.analysis.result is not first)
    match.take_back()
    assert not match.is_pondering
    match.play(match.board.state.legal_actions()[1])
    wait(match, lambda: match.is_yours and match.is_pondering)
    match.ponder(False)
    assert not match.is_pondering


def test_pondering_needs_a_visitor_and_a_slot(workers: ThreadPoolExecutor) -> None:
    match = match_at(workers, "breakthrough", seats=(YOU, "alphabeta"), count=1)
    match.ponder(True)
    match.play(match.board.state.legal_actions()[0])
    wait(match, lambda: match.is_yours and match.is_pondering)
    match.leave()
    assert not match.is_pondering
    match.come()
    match.play(match.board.state.legal_actions()[0])
    wait(match, lambda: match.is_yours and match.is_pondering)
    match._slots.release(match)
    assert match._slots.acquire(workers)
    match.tick()
    assert not match.is_pondering


def test_a_spec_may_ask_for_pondering(workers: ThreadPoolExecutor) -> None:
    match = match_at(workers, "breakthrough", seats=(YOU, PONDERS.text))
    match.play(match.board.state.legal_actions()[0])
    wait(match, lambda: match.is_yours and match.is_pondering)
    match.leave()


def test_an_illegal_move_of_an_agent_is_a_forfeit(workers: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    """`tick` raises nothing, so other games continue."""
    monkeypatch.setattr(BotSearch, "search", lambda self: 999)
    match = match_at(workers, seats=("random", YOU))
    wait(match, lambda: match.is_over)
    assert match.forfeit is not None
    assert "expected a legal move, got 999" in match.forfeit.reason


def test_a_review_judges_each_move_of_the_line(workers: ThreadPoolExecutor) -> None:
    """Other positions may be shown meanwhile, and agents wait."""
    match = match_at(workers, "tic_tac_toe", seats=(YOU, YOU))
    match.load(GameLine((0, 4, 1, 8, 2)).board(match.game))
    match.start_review(0.05)
    assert match.is_reviewing
    wait(match, lambda: match.is_thinking)
    search = match._thinking
    match.show(1)
    assert match._thinking is search
    match.set_seats((YOU, "random"))
    match.continue_here()
    wait(match, lambda: match.progress is not None and "of 6" in match.progress.what)
    assert match.waiting_for == "a review is in progress"
    wait(match, lambda: not match.is_reviewing)
    assert match.board.tree.root.children[0].children[0].action == 4
    assert match.review is not None
    sides = [match.review.summary(player) for player in (0, 1)]
    assert [side.moves for side in sides] == [3, 2]
    assert sides[1].counts["blunder"] == 1, "player 1 allows a line of three"
    assert None not in match.values()
    wait(match, lambda: len(match.board.node.children) >= 1 and not match.is_thinking)


def test_a_review_is_stopped_and_continues_after_a_visit(workers: ThreadPoolExecutor) -> None:
    match = match_at(workers, "connect_four", seats=(YOU, YOU))
    with pytest.raises(MoveError, match="no move to review"):
        match.start_review(1)
    match.play(3)
    with pytest.raises(ath.BudgetError):
        match.start_review(100)
    match.start_review(0.5)
    wait(match, lambda: match.is_thinking)
    match.leave()
    assert not match.is_thinking
    assert match.is_reviewing
    wait(match, lambda: not match._stopping)
    match.come()
    wait(match, lambda: match.is_thinking)
    match.stop_review()
    assert not match.is_reviewing
    wait(match, lambda: not match._stopping)
    match.tick()
    assert not match.is_thinking
    match.start_review(0.05)
    wait(match, lambda: not match.is_reviewing)
    assert match.review is not None
    match.restart()
    assert match.review is None


def test_a_game_for_one_player_has_no_review(workers: ThreadPoolExecutor) -> None:
    match = match_at(workers, "morpion_solitaire", seats=(YOU,))
    match.play(match.board.state.legal_actions()[0])
    with pytest.raises(MoveError, match="this game has one"):
        match.start_review(1)


def test_a_review_without_an_agent_that_can_search_is_given_up(
    workers: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PlayoutAnalyst, "make", Opponent.make)  # OpenSpiel's MCTS
    match = match_at(workers, seats=(YOU, "random"))
    match.play(4)
    match.start_review(0.1)
    wait(match, lambda: match.error is not None)
    assert "shows no analysis" in str(match.error)
    assert match.review is None


@pytest.mark.parametrize(
    ("game", "seats"),
    [("tic_tac_toe", (YOU, YOU)), ("pig(players=3)", (YOU,) * 3), ("pig", (YOU, YOU)), ("morpion_solitaire", (YOU,))],
)
def test_positions_are_analysed_by_playouts_without_a_network(
    game: str, seats: tuple[str, ...], workers: ThreadPoolExecutor
) -> None:
    match = match_at(workers, game, seats=seats)
    match.analyse(True)
    wait(match, lambda: match.analysis is not None)
    assert match.analysis is not None
    assert match.analysis.by == "solver and playouts"
    assert "solver and playouts" not in match._opponents.names
    match.analyse(False)
    wait(match, lambda: not match._stopping)


def test_a_position_is_proven_before_playouts() -> None:
    game = ath.load_game("tic_tac_toe")
    bot = PLAYOUTS.make(game, 0, 0.2, 1, TreeMemory(10**9, 2))
    assert isinstance(bot, AthenanBot)
    won = GameLine((0, 4, 1, 8)).board(game).state
    result = bot.agent.think(won)
    assert (result.is_resolved, result.completion, result.action) == (True, 1, 2)
    assert bot.step(won) == 2
    bot.agent.bound_tree(1000)
    assert bot.agent.tree.most == 500


def test_a_hint_and_a_threat_are_answered_once(workers: ThreadPoolExecutor) -> None:
    match = match_at(workers, "connect_four", seats=(YOU, YOU))
    match.load(GameLine((3, 2, 3, 2, 3)).board(match.game))
    match.ask("threat")
    wait(match, lambda: match.progress is not None)
    wait(match, lambda: match.advice is not None)
    assert match.advice is not None
    assert match.advice.text.startswith("Red threatens x3")
    assert not match.is_thinking
    assert match.analysis is None, "the search for a threat is no analysis"
    match.ask("hint")
    assert match.advice is None
    wait(match, lambda: match.advice is not None)
    assert match.advice is not None
    assert match.advice.text.startswith("Hint: o3")
    wait(match, lambda: not match._stopping)
    match.tick()
    assert not match.is_thinking
    match.step(-1)
    assert match.advice is None
    match.ask("threat")
    match.step(-1)
    for _ in range(3):
        match.tick()
    assert not match.is_thinking, "a question is about the position in which it was asked"


def test_a_hint_during_an_analysis_does_not_end_it(
    workers: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_game, "ADVICE_SECONDS", 0.3)
    match = match_at(workers, "connect_four", seats=(YOU, YOU))
    match.analyse(True)
    wait(match, lambda: match.is_thinking)
    search = match._thinking
    match.ask("hint")
    wait(match, lambda: match.advice is not None)
    assert match._thinking is search
    match.analyse(False)
    wait(match, lambda: not match._stopping)


def test_questions_are_for_a_person_to_move(workers: ThreadPoolExecutor) -> None:
    match = match_at(workers, "connect_four", seats=("random", YOU))
    with pytest.raises(MoveError, match="for a person to move"):
        match.ask("hint")
    alone = match_at(workers, "morpion_solitaire", seats=(YOU,))
    with pytest.raises(MoveError, match="this game has none"):
        alone.ask("threat")
    reviewed = match_at(workers, seats=(YOU, YOU))
    reviewed.play(4)
    reviewed.start_review(1)
    with pytest.raises(MoveError, match="a review is in progress"):
        reviewed.ask("hint")


def test_a_question_without_an_agent_that_can_search_is_given_up(
    workers: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PlayoutAnalyst, "make", Opponent.make)
    match = match_at(workers, seats=(YOU, YOU))
    match.ask("threat")
    wait(match, lambda: match.error is not None)
    for _ in range(3):
        match.tick()
    assert not match.is_thinking
