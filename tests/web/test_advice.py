"""Hints and threats by the search of a position."""

from __future__ import annotations

import pytest

import athenan_spiel as ath
from agents import AthenanBot
from athenan_spiel.drawing.views import view_of
from athenan_spiel.web.advice import Advice, Question, advice_of
from athenan_spiel.web.opponents import PLAIN_PLAYOUTS, PLAYOUTS, Opponent
from athenan_spiel.web.positions import GameLine
from athenan_spiel.web.search_limits import TreeMemory


def answer(question: Question, game: str, line: tuple[int, ...], analyst: Opponent = PLAIN_PLAYOUTS) -> Advice:
    loaded = ath.load_game(game)
    board = GameLine(line).board(loaded)
    bot = analyst.make(loaded, 0, 0.5, 1, TreeMemory(10**9, 2))
    assert isinstance(bot, AthenanBot)
    return advice_of(question, board.node, bot.agent.think(board.state), board.state, view_of(loaded))


@pytest.mark.parametrize(
    ("game", "line", "move", "site"),
    [
        ("connect_four", (3, 2, 3, 2, 3), "Red threatens x3, the best reply to", 17),
        ("tic_tac_toe", (0, 8, 1), "x threatens x(0,2), the best reply to", 2),
    ],
)
def test_a_threat_is_the_reply_to_most_moves(game: str, line: tuple[int, ...], move: str, site: int) -> None:
    found = answer("threat", game, line)
    assert found.text.startswith(move)
    assert found.is_threat
    assert found.sites == (site,)


def test_a_position_may_have_no_threat() -> None:
    forced = answer("threat", "tic_tac_toe", (0, 4, 8, 1, 7, 6, 2, 5))  # the last move ends the game
    assert forced.text == "No threat found: no reply was searched"
    assert (forced.sites, forced.is_threat) == ((), False)
    rolls = answer("threat", "einstein_wurfelt_nicht", (0, 0, 0))
    assert rolls.text == "No threat found: no reply was searched", "a roll comes before each reply"


def test_a_hint_is_the_best_move_with_its_score() -> None:
    assert answer("hint", "tic_tac_toe", (0, 4, 1, 8), PLAYOUTS).text == "Hint: x(0,2), win in 1 for x"
    assert answer("hint", "tic_tac_toe", (0, 4, 1, 8), PLAYOUTS).sites == (2,)
    chess = answer("hint", "chess", (), PLAYOUTS)
    assert len(chess.sites) == 2
    assert chess.text.endswith("% for White")


def test_a_game_without_a_view_has_advice_without_sites() -> None:
    game = ath.load_game("tic_tac_toe")
    board = GameLine((0, 4, 1, 8)).board(game)
    result = ath.think(ath.AlphaBeta(game), board.state, ath.Budget(iterations=9), lambda states: [0.0] * len(states))
    for question in ("hint", "threat"):
        assert advice_of(question, board.node, result, board.state, None).sites == ()  # type: ignore[arg-type]
