"""Matches of Chess in PGN, which python-chess reads."""

from __future__ import annotations

import datetime
import io
import random
import time

import chess.pgn
import pyspiel
import pytest

from athenan_spiel.errors import ConfigError
from athenan_spiel.play.match import Forfeit
from athenan_spiel.play.move_tree import NO_NOTES
from athenan_spiel.protocols import pgn
from athenan_spiel.web.interactive_board import InteractiveBoard

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
        assert pgn.read(CHESS, text) == (start, tuple(state.history()), NO_NOTES)
        assert pgn.read(CHESS, str(read(text)))[:2] == (start, tuple(state.history())), "as python-chess writes it"


STUDY = (
    '[Event "a"]\n\n% no move\n{start} 1. e4 $1 {best (by} {[%clk 0:01:00] test} e5 (1... c5 {sharp} '
    '2. Nf3! (2. c3 d5) 2... d6) (1... e6) 2. Nf3 Nc6 3. Bb5 ; Spanish (\n* [Event "b"] 1. d4'
)
"""Game with variations and comments, and the start of another one."""


def test_variations_and_comments_are_read() -> None:
    start, main, notes = pgn.read(CHESS, STUDY)
    assert start is None
    assert list(main) == actions(CHESS.new_initial_state(), "e4", "e5", "Nf3", "Nc6", "Bb5")
    assert notes.comments == ((0, "start"), (1, "best (by test"), (6, "sharp"), (5, "Spanish ("))
    assert [parent for parent, _ in notes.variations] == [1, 6, 6, 8, 7, 1]
    sicilian = actions(CHESS.new_initial_state(), "e4", "c5", "Nf3", "d6")
    assert [notes.variations[i][1] for i in (0, 1, 4)] == sicilian[1:]


def test_a_tree_is_written_with_variations_and_comments() -> None:
    """python-chess reads the same moves and comments from it."""
    board = InteractiveBoard(CHESS.new_initial_state())
    for action in pgn.read(CHESS, STUDY)[1]:
        board.play(action)
    board.add_notes(pgn.read(CHESS, STUDY)[2])
    text = pgn.written(CHESS, board.state.history(), tree=board.tree)
    assert text.split("\n\n")[1].replace("\n", " ") == (
        "{start} 1. e4 {best (by test} 1... e5 (1... c5 {sharp} 2. Nf3 (2. c3 d5) 2... d6) (1... e6) 2. Nf3 Nc6 "
        "3. Bb5 {Spanish (} *"
    )
    assert max(map(len, text.splitlines())) <= pgn.WIDTH
    assert pgn.read(CHESS, text) == pgn.read(CHESS, STUDY)
    theirs = read(text)
    assert [child.san() for child in theirs.variation(0).variations] == ["e5", "c5", "e6"]
    assert theirs.variation(0).comment == "best (by test"
    board.tree.set_comment(board.tree.root, "a } and\na line")
    assert "{a ) and a line}" in pgn.written(CHESS, board.state.history(), tree=board.tree)


def test_a_tree_from_a_position_of_black_is_numbered() -> None:
    fen = "4k3/P7/8/8/8/8/8/4K3 b - - 3 40"
    text = f'[FEN "{fen}"]\n40... Kf7 (40... Kd7 41. a8=Q) 41. a8=Q Kf6 *'
    start, main, notes = pgn.read(CHESS, text)
    board = InteractiveBoard(CHESS.new_initial_state(fen), fen)
    for action in main:
        board.play(action)
    board.add_notes(notes)
    written = pgn.written(CHESS, main, start=start, tree=board.tree)
    assert written.split("\n\n")[1] == "40... Kf7 (40... Kd7 41. a8=Q) 41. a8=Q Kf6 *"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "got no moves"),
        ("1. e4 e4", "half-move 2 of the PGN, got 'e4'"),
        ("1. e4 (", "without a closing bracket"),
        ("(1. e4)", "a move before each variation"),
        ("1. e4 ((1. d4))", "a move before each variation"),
        ("1. e4 (1. e5)", "half-move 2 of the PGN, got 'e5'"),
        ("1. e4 {", "got '{'"),
        ("1. e4 )", "a closing bracket too many"),
        ("1. e4 hello", "got 'hello' after 1 half-moves"),
        ('[FEN "x"] *', "expected a FEN"),
        ("1. f3 e5 2. g4 Qh4# 3. a3", "expected no half-move 5 .* the game is over"),
        ("1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8 5. e4", "the third repetition"),
        ("(" * 1_000_001, "1,000,000 characters at most"),
    ],
)
def test_other_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        pgn.read(CHESS, text)


def test_hostile_comments_take_linear_time() -> None:
    began = time.perf_counter()
    for text in ("e4 {" + "[%" * 400_000 + "}", "e4 " + "{x}" * 300_000):
        _, main, notes = pgn.read(CHESS, text)
        assert len(main) == 1
        assert len(notes.comments[0][1]) <= 2_000
    assert time.perf_counter() - began < 10


def test_other_games_have_no_pgn() -> None:
    for name in ("tic_tac_toe", "chess(chess960=true)"):
        with pytest.raises(ConfigError, match="PGN supports games of chess"):
            pgn.read(pyspiel.load_game(name), "1. e4")
