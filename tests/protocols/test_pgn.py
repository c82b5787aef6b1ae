"""Matches of Chess in PGN, which python-chess reads."""

from __future__ import annotations

import datetime
import io
import random

import chess.pgn
import pyspiel
import pytest

from athenan_spiel.errors import ConfigError
from athenan_spiel.play.match import Forfeit
from athenan_spiel.protocols import pgn

CHESS = pyspiel.load_game("chess")


def actions(state: pyspiel.State, *names: str) -> list[int]:
    """The actions of a line of moves, as OpenSpiel writes them."""
    for name in names:
        (action,) = [action for action in state.legal_actions() if state.action_to_string(action) == name]
        state.apply_action(action)
    history: list[int] = state.history()
    return history


def read(text: str) -> chess.pgn.Game:
    found = chess.pgn.read_game(io.StringIO(text))
    assert found is not None
    assert found.errors == []
    return found


def test_a_match_as_it_is_written() -> None:
    mate = actions(CHESS.new_initial_state(), "f3", "e5", "g4", "Qh4#")
    assert pgn.written(CHESS, mate, ("mcts:100", "runs/chess@1s"), event="a\ttest", date=datetime.date(2026, 3, 1)) == (
        '[Event "a test"]\n[Site "?"]\n[Date "2026.03.01"]\n[Round "?"]\n[White "runs/chess@1s"]\n[Black "mcts:100"]\n'
        '[Result "0-1"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n\n'
    )


def test_python_chess_reads_random_matches_as_they_were() -> None:
    rng = random.Random(1)
    results = set()
    for _ in range(12):
        state = CHESS.new_initial_state()
        while not state.is_terminal():
            legal = state.legal_actions()
            mates = [action for action in legal if state.action_to_string(action).endswith("#")]
            state.apply_action(mates[0] if mates else rng.choice(legal))
        text = pgn.written(CHESS, state.history())
        assert max(map(len, text.splitlines())) <= pgn.WIDTH
        game = read(text)
        board = game.board()
        sans = []
        for move in game.mainline_moves():
            sans.append(board.san(move))
            board.push(move)
        assert board.fen().split()[:2] == str(state).split()[:2]
        assert sans == [word for word in text.split("\n\n")[1].split()[:-1] if not word[0].isdigit()]
        results.add(game.headers["Result"])
    assert results == {"1-0", "0-1", "1/2-1/2"}


def test_a_match_that_began_elsewhere() -> None:
    fen = "4k3/P7/8/8/8/8/8/4K3 b - - 3 40"
    line = actions(CHESS.new_initial_state(fen), "Kf7", "a8=Q", "Kf6")
    text = pgn.written(CHESS, line, start=fen)
    assert "\n\n40... Kf7 41. a8=Q Kf6 *\n\n" in text
    game = read(text)
    assert game.board().fen() == fen
    assert game.end().board().fen() == "Q7/8/5k2/8/8/8/8/4K3 w - - 1 42"


def test_a_forfeit_is_told_by_its_result_and_a_comment() -> None:
    text = pgn.written(CHESS, actions(CHESS.new_initial_state(), "e4"), returns=[1.0, -1.0], comment="lost {on time}\n")
    assert text.endswith("1. e4 {lost {on time) } 0-1\n\n")
    assert read(text).headers["Result"] == "0-1"
    assert read(pgn.written(CHESS, [])).headers["Result"] == "*"


def test_a_termination_names_the_side() -> None:
    illegal = "player 1 (GtpBot) must choose a legal action, [1, 2], after [0]; got 7"
    assert pgn.termination(Forfeit(1, illegal)) == illegal.replace("player 1", "White")
    assert pgn.termination(Forfeit(0, "player 0 (A) lost on time")) == "Black (A) lost on time"
    assert pgn.termination(Forfeit(0, "told of a move of player 1")) == "Black forfeited: told of a move of White"
    assert pgn.termination(Forfeit(0, "gnuchess has ended")) == "Black forfeited: gnuchess has ended"
    assert pgn.termination(Forfeit(1, "White Knight 2 resigned", resigned=True)) == "White resigned"
    assert pgn.termination(None) == ""
    text = pgn.written(CHESS, [], returns=[1.0, -1.0], comment=pgn.termination(Forfeit(1, "a } [Result *] ; %")))
    assert read(text).headers["Result"] == "0-1"
    assert read(text).comment == "White forfeited: a ) [Result *] ; %"


def test_the_result_is_that_of_the_last_position() -> None:
    mate = actions(CHESS.new_initial_state(), "f3", "e5", "g4", "Qh4#")
    assert '[Result "0-1"]' in pgn.written(CHESS, mate, returns=[1.0, -1.0])
    with pytest.raises(ConfigError, match=r"the returns of the last position, \[1.0, -1.0\], got \[-1.0, 1.0\]"):
        pgn.written(CHESS, mate, returns=[-1.0, 1.0])


def test_a_fen_has_all_fields() -> None:
    text = pgn.written(CHESS, [], start="4k3/P7/8/8/8/8/8/4K3 b - -")
    assert '[SetUp "1"]\n[FEN "4k3/P7/8/8/8/8/8/4K3 b - - 0 1"]' in text


def test_names_that_steer() -> None:
    text = pgn.written(CHESS, [], ('a"]\n[Result "1-0', "b\\\033[2J" + "x" * 999))
    headers = read(text).headers
    assert headers["Result"] == "*"
    assert headers["Black"] == "a'] [Result '1-0"
    assert headers["White"].startswith("b//x1b[2Jxxx")
    assert len(headers["White"]) == 200


def test_what_is_no_match_of_chess() -> None:
    with pytest.raises(ConfigError, match=r"PGN supports games of chess, got one of 'tic_tac_toe"):
        pgn.written(pyspiel.load_game("tic_tac_toe"), [0])
    with pytest.raises(ConfigError, match=r"got one of 'chess\(chess960=True"):
        pgn.written(pyspiel.load_game("chess(chess960=true)"), [])
    with pytest.raises(ConfigError, match="expected a legal action as number 1 of the game, got 0"):
        pgn.written(CHESS, [*actions(CHESS.new_initial_state(), "e4"), 0])
    mate = actions(CHESS.new_initial_state(), "f3", "e5", "g4", "Qh4#")
    with pytest.raises(ConfigError, match="expected a legal action as number 4 of the game, got 5"):
        pgn.written(CHESS, [*mate, 5])


def test_written_games_are_read() -> None:
    rng = random.Random(2)
    for start in (None, "4k3/P7/8/8/8/8/8/4K3 b - - 3 40"):
        state = CHESS.new_initial_state() if start is None else CHESS.new_initial_state(start)
        for _ in range(60):
            if not state.is_terminal():
                state.apply_action(rng.choice(state.legal_actions()))
        text = pgn.written(CHESS, state.history(), start=start)
        assert pgn.read(CHESS, text) == (start, tuple(state.history()))
        assert pgn.read(CHESS, str(read(text))) == (start, tuple(state.history())), "as python-chess writes it"


def test_comments_and_variations_are_skipped() -> None:
    text = (
        '[Event "a"]\n[FEN "4k3/P7/8/8/8/8/8/4K3 b - - 3 40"]\n% no move\n{a (start} 40... Kf7 '
        "$1 (40... Kd7 {b) c} 41. a8=Q "
        '(41. Kd2)) 41. a8Q! ; a comment 41... Kd7\n41... Kf6 * [Event "b"] 1. e4'
    )
    expected = actions(CHESS.new_initial_state("4k3/P7/8/8/8/8/8/4K3 b - - 3 40"), "Kf7", "a8=Q", "Kf6")
    assert pgn.read(CHESS, text)[1] == tuple(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "got no moves"),
        ("1. e4 e4", "half-move 2 of the PGN, got 'e4'"),
        ("1. e4 (", "without a closing bracket"),
        ("1. e4 )", "a closing bracket too many"),
        ("1. e4 hello", "got 'hello' after 1 half-moves"),
        ('[FEN "x"] *', "expected a FEN"),
        ("1. f3 e5 2. g4 Qh4# 3. a3", "half-move 5"),
        ("(" * 1_000_001, "1,000,000 characters at most"),
    ],
)
def test_other_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        pgn.read(CHESS, text)


def test_other_games_have_no_pgn() -> None:
    for name in ("tic_tac_toe", "chess(chess960=true)"):
        with pytest.raises(ConfigError, match="PGN supports games of chess"):
            pgn.read(pyspiel.load_game(name), "1. e4")
