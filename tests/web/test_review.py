"""Review of a game: losses against exact values, accuracy, rolls, more than two players."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence

import pyspiel
import pytest

import athenan_spiel as ath
from athenan_spiel.drawing.evaluations import NodeEvaluation
from athenan_spiel.search.result import SearchResult
from athenan_spiel.web.analysis import AnalysisLog, Judgement
from athenan_spiel.web.interactive_board import InteractiveBoard
from athenan_spiel.web.positions import GameLine
from athenan_spiel.web.review import GameReview

TIC_TAC_TOE = ath.load_game("tic_tac_toe")


def review_of(board: InteractiveBoard) -> tuple[GameReview, AnalysisLog]:
    log = AnalysisLog()
    node = board.node
    return GameReview(board.start(), [board.tree.root, *node.path(), *node.continuation()], 1.0, log), log


def finish(review: GameReview, search: ath.Search, iterations: int) -> list[SearchResult]:
    """Reviews all positions with searches of this size."""
    results = []
    while not review.is_over:
        state = review.state
        results.append(ath.think(search, state, ath.Budget(iterations=iterations), lambda states: [0.0] * len(states)))
        review.take(results[-1])
    return results


@functools.cache
def score(line: tuple[int, ...]) -> float:
    """Returns the exact expected score of player 0 by brute force."""
    state = TIC_TAC_TOE.new_initial_state()
    for action in line:
        state.apply_action(action)
    if state.is_terminal():
        return float(0.5 + 0.5 * state.returns()[0])
    best = max if state.current_player() == 0 else min
    return best(score((*line, action)) for action in state.legal_actions())


@pytest.mark.parametrize("seed", range(4))
def test_losses_are_those_of_exact_play(seed: int) -> None:
    rng, state = random.Random(seed), TIC_TAC_TOE.new_initial_state()
    while not state.is_terminal():
        state.apply_action(rng.choice(state.legal_actions()))
    board = GameLine(tuple(state.history()), 0).board(TIC_TAC_TOE)
    review, log = review_of(board)
    assert all(result.is_resolved for result in finish(review, ath.AlphaBeta(TIC_TAC_TOE), 20))
    losses: list[list[float]] = [[], []]
    for node in board.node.continuation():
        line = tuple(each.action for each in node.path() if each.action is not None)
        lost = 100 * abs(score(line) - score(line[:-1]))
        found = log.judgements[node]
        assert found.lost == pytest.approx(lost)
        assert found.grade == ("blunder" if lost >= 30 else None)
        losses[node.mover].append(lost)
    for player in (0, 1):
        summary = review.summary(player)
        assert summary.moves == len(losses[player])
        assert summary.accuracy == pytest.approx(100 - sum(losses[player]) / len(losses[player]))
        assert summary.counts["blunder"] == sum(lost >= 30 for lost in losses[player])


@pytest.mark.parametrize(
    ("lost", "grade", "mark"),
    [
        (0, None, ""),
        (9.9, None, ""),
        (10, "inaccuracy", "?!"),
        (20, "mistake", "?"),
        (29.9, "mistake", "?"),
        (30, "blunder", "??"),
    ],
)
def test_grades_begin_at_their_loss(lost: float, grade: str | None, mark: str) -> None:
    value = NodeEvaluation(0.0, None)
    found = Judgement(0, lost, "best", value, value)
    assert (found.grade, found.mark) == (grade, mark)


def test_rolls_are_not_judged() -> None:
    """A move before a roll has the score that the search before it gives the move."""
    game = ath.load_game("pig(players=2,winscore=15)")
    board = GameLine((0, 4, 0, 5, 1, 0, 1), 0).board(game)
    review, log = review_of(board)
    finish(review, ath.UBFM(game), 30)
    nodes = board.node.continuation()
    judged = [node in log.judgements for node in nodes]
    assert judged == [not node.is_roll for node in nodes]
    assert review.summary(0).moves + review.summary(1).moves == sum(judged)
    assert all(0 <= log.judgements[node].lost <= 100 for node in nodes if not node.is_roll)


def test_the_preferred_move_loses_nothing() -> None:
    """Also if the next search values the position after it less."""
    game = ath.load_game("connect_four")
    board = GameLine((3, 3), 0).board(game)
    review, log = review_of(board)
    search = ath.UBFM(game)
    results = []
    for favoured in (1.0, -1.0, 1.0):
        ply = review.index

        def values(states: Sequence[pyspiel.State], ply: int = ply, favoured: float = favoured) -> list[float]:
            return [0.9 * favoured if state.history()[ply] == 3 else -0.9 * favoured for state in states]

        results.append(ath.think(search, review.state, ath.Budget(iterations=1), values))
        review.take(results[-1])
    assert [result.action for result in results[:2]] == [3, 3]
    first, second = board.node.continuation()
    assert log.judgements[first].lost == log.judgements[second].lost == 0.0
    assert log.judgements[first].before.expected_score(0) > log.judgements[first].after.expected_score(0)


def test_each_side_of_a_game_of_three_has_an_accuracy() -> None:
    game = ath.load_game("chinese_checkers(players=3)")
    board = InteractiveBoard(game.new_initial_state())
    for _ in range(4):
        board.play(board.options()[0].action)
    board.show(0)
    review, _ = review_of(board)
    search = ath.UBFM(game)
    while not review.is_over:
        review.take(
            ath.think(search, review.state, ath.Budget(iterations=3), lambda states: [[0.1, -0.2, 0.1]] * len(states))
        )
    assert [review.summary(player).moves for player in range(3)] == [2, 1, 1]
    assert all(review.summary(player).accuracy is not None for player in range(3))


def test_a_line_that_starts_with_a_roll_or_the_end_is_reviewed() -> None:
    game = ath.load_game("backgammon")
    board = InteractiveBoard(game.new_initial_state())
    while board.is_chance:
        board.play(board.options()[0].action)
    board.play(board.options()[0].action)
    board.show(0)
    review, log = review_of(board)
    assert review.state.current_player() != pyspiel.PlayerId.CHANCE
    finish(review, ath.UBFM(game), 1)
    assert len(log.judgements) == 1
    ended = GameLine((0, 3, 1, 4, 2)).board(TIC_TAC_TOE)
    over = GameReview(ended.state, [ended.node], 1.0, AnalysisLog())
    assert over.is_over
