"""Games of more than two players on a page, without a browser."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pyspiel
import pytest

import athenan_spiel as ath
from agents import parse_spec
from athenan_spiel.arena.record import SavedMatch
from athenan_spiel.drawing.evaluations import NodeEvaluation
from athenan_spiel.drawing.tree import tree_html
from athenan_spiel.evaluators.simple import RolloutEvaluator
from athenan_spiel.outcomes.rows import gain_of
from athenan_spiel.play.move_tree import MoveTree
from athenan_spiel.search import UBFM, SearchResult, think
from athenan_spiel.search.branches import branch_of
from athenan_spiel.search.result import action_evaluations, state_evaluation
from athenan_spiel.search.sizes import node_bytes, sample_trees
from athenan_spiel.web.analysis import Analysis, AnalysisLog
from athenan_spiel.web.charts import values_options
from athenan_spiel.web.game_page import _bar
from athenan_spiel.web.live_game import LiveGame
from athenan_spiel.web.opponents import YOU, Opponents
from athenan_spiel.web.saved_panel import _title
from athenan_spiel.web.search_limits import SearchSlots, TreeMemory
from athenan_spiel.web.site import Offer

PIG = ath.load_game("pig(players=3,winscore=5)")
PATIENCE = 60.0


@pytest.fixture
def workers() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def game_of(workers: ThreadPoolExecutor, *seats: str, game: pyspiel.Game = PIG) -> LiveGame:
    opponents = Opponents([parse_spec("random")], game)
    match = LiveGame(game.new_initial_state(), opponents, seats, 0.05, SearchSlots(2), workers, TreeMemory(10**9, 2))
    match.come()
    return match


def wait(match: LiveGame, done: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end, (match.waiting_for, match.error)
        match.tick()
        time.sleep(0.002)


def search(*actions: int) -> SearchResult:
    """Returns a search of Pig after some actions and rolls."""
    state = PIG.new_initial_state()
    for action in actions:
        state.apply_action(action)
    return think(UBFM(PIG), state, ath.Budget(iterations=20), RolloutEvaluator(gain_of(PIG), 1))


def analysis(*actions: int) -> Analysis:
    result = search(*actions)
    assert result.state is not None
    return Analysis(actions, result.state, "ubfm", result, UBFM(PIG).new_tree())


def test_a_person_between_two_agents_plays_to_the_end(workers: ThreadPoolExecutor) -> None:
    match, rng = game_of(workers, "random", YOU, "random"), random.Random(1)
    while not match.is_over:
        wait(match, lambda: match.is_yours or match.is_over)
        if match.is_yours:
            assert match.board.mover == 1
            match.play(rng.choice(match.board.state.legal_actions()))
    result = match.result()
    assert sorted(result.returns) == [-0.5, -0.5, 1.0]
    last = match.values()[-1]
    assert last is not None
    assert (last.value, last.owner) == (result.returns[1], 1)
    assert last.text() == ("win" if result.winners == (1,) else "loss")
    saved = SavedMatch(str(match.game), match.seats, match.seats, 0, 0, 0, result)
    assert SavedMatch.from_json(saved.to_json()).require_true().is_terminal()
    assert _title(0, saved).startswith("1. random - you - random  returns ")


def test_a_move_is_taken_back_with_the_replies(workers: ThreadPoolExecutor) -> None:
    match = game_of(workers, "random", YOU, "random", game=ath.load_game("pig(players=3)"))
    wait(match, lambda: match.is_yours)
    before = match.line
    match.play(1)
    wait(match, lambda: match.is_yours)
    match.take_back()
    assert match.line == before


def test_the_others_share_the_win_after_a_resignation(workers: ThreadPoolExecutor) -> None:
    match = game_of(workers, YOU, YOU, YOU)
    match.play(1)
    match.resign()
    assert match.result().returns == (0.5, -1.0, 0.5)


def test_values_are_those_of_the_first_person(workers: ThreadPoolExecutor) -> None:
    assert game_of(workers, "random", "random", YOU).viewer == 2
    assert game_of(workers, "random", YOU, YOU).viewer == 1
    assert game_of(workers, "random", "random", "random").viewer == 0


def test_alphabeta_is_not_offered_with_rows() -> None:
    assert Opponents([], PIG).names == ["mcts", "uct", "random"]
    assert Offer(PIG.new_initial_state(), [], [YOU] * 3, 1.0).opponents.names == ["mcts", "uct", "random"]
    assert "alphabeta" in Opponents([], ath.load_game("pig(players=2)")).names


def test_values_belong_to_each_player() -> None:
    found = analysis()
    row = found.result.row
    assert row is not None
    log = AnalysisLog()
    root = MoveTree().root
    log.add(root, found)
    for player in range(3):
        (evaluation,) = log.evaluations([root], player)
        assert evaluation == state_evaluation(found.result, found.state, player)
        assert evaluation is not None
        assert (evaluation.value, evaluation.owner) == (row[player], player)
        assert f"for player {player}" in _bar(PIG, evaluation, player)


def test_proven_gains_are_those_of_the_named_player() -> None:
    found = analysis(0, 4)  # player 0 has rolled a 5, and wins by stopping
    assert found.result.is_resolved
    evaluations = [state_evaluation(found.result, found.state, player) for player in range(3)]
    texts = [evaluation.text(player) for player, evaluation in enumerate(evaluations)]
    assert texts == ["win in 1", "loss in 1", "loss in 1"]
    best, *_ = action_evaluations(found.result, found.state)
    assert (best.name, best.evaluation.text()) == ("stop", "win in 1")
    assert "win in 1 for player 0" in _bar(PIG, evaluations[0], 0)
    assert "loss in 1 for player 1" in _bar(PIG, evaluations[1], 1)


def test_the_tree_shows_the_scores_of_one_player() -> None:
    found = analysis(1)  # player 1 is to move
    scores = []
    for player in range(3):
        root = branch_of(found.result.node, found.state, found.result.calibration, player=player)
        scores.append([branch.evaluation.expected_score(player) for branch in root.children])
        assert f"{100 * scores[-1][0]:.1f} %" in tree_html(root, reader=player)
    assert scores[0] != scores[1]
    won = analysis(0, 4)
    root = branch_of(won.result.node, won.state, won.result.calibration, player=2)
    assert "loss in 1" in tree_html(root, reader=2)


def test_moves_are_ordered_and_coloured_for_the_mover_and_written_for_the_viewer() -> None:
    found = analysis(1)  # player 1 is to move
    theirs, ours = (action_evaluations(found.result, found.state, player) for player in (0, 1))
    assert [action.action for action in theirs] == [action.action for action in ours]
    for their, our in zip(theirs, ours, strict=True):
        assert their.mover_score == our.mover_score == our.evaluation.expected_score(1)
        assert their.evaluation.owner == 0
    assert any(action.mover_score != action.evaluation.expected_score(0) for action in theirs)


def test_the_chart_names_the_player() -> None:
    options = values_options(PIG, [NodeEvaluation(0.25, None, players=3, owner=2)], 0, 2)
    assert options["aria"]["label"]["description"].startswith("Score of player 2; after 0 moves: 62.5 %")


def test_sample_trees_have_rows() -> None:
    assert node_bytes(sample_trees(UBFM(PIG), priors=False)) > 500


def test_a_panel_of_draws() -> None:
    result = SimpleNamespace(returns=(0.0, 0.0, 0.0), winners=(), history=(1, 2))
    saved = SimpleNamespace(result=result, players=("a", "b", "c"))
    assert _title(1, saved) == "2. a - b - c  draw, 2 moves"  # type: ignore[arg-type]
