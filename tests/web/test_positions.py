"""Positions and games as links and texts."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, unquote

import pytest

import athenan_spiel as ath
from athenan_spiel.arena.record import SavedMatch
from athenan_spiel.errors import AthenanError
from athenan_spiel.play.match import MatchResult
from athenan_spiel.play.move_tree import MoveError, MoveNotes
from athenan_spiel.protocols import pgn, sgf
from athenan_spiel.web import positions
from athenan_spiel.web.interactive_board import InteractiveBoard
from athenan_spiel.web.positions import (
    GameLine,
    PositionError,
    game_text,
    link_query,
    position_of,
    position_text,
    read_link,
    read_text,
)

FEN = "4k3/P7/8/8/8/8/8/4K3 b - - 3 40"


def fields_of(board: InteractiveBoard) -> dict[str, str]:
    query = link_query(board)
    assert query is not None
    return {name: value for name, (value,) in parse_qs(query).items()}


@pytest.mark.parametrize(
    ("game", "actions", "ply"),
    [
        ("tic_tac_toe", (), None),
        ("tic_tac_toe", (4, 0, 8), None),
        ("tic_tac_toe", (4, 0, 8), 1),
        ("breakthrough(rows=6,columns=6)", (0, 5), 0),
        ("pig(players=2)", (0, 4, 0, 2), None),
        ("go(board_size=5,komi=5.5)", (3, 25, 25), 2),
    ],
)
def test_a_link_contains_the_line_and_the_position(game: str, actions: tuple[int, ...], ply: int | None) -> None:
    loaded = ath.load_game(game)
    if game.startswith("breakthrough"):
        state = loaded.new_initial_state()
        state.apply_action(state.legal_actions()[0])
        actions = (state.history()[0], state.legal_actions()[0])
    board = GameLine(actions, ply).board(loaded)
    name, position = read_link(fields_of(board))
    assert name == str(loaded)
    assert position == GameLine(actions, ply)
    again = position.board(loaded)
    assert str(again.state) == str(board.state)
    assert again.ahead == board.ahead


def test_a_link_of_chess_contains_another_first_position() -> None:
    game = ath.load_game("chess")
    board = read_text(game, FEN).board(game)
    board.play(board.options()[0].action)
    position = read_link(fields_of(board))[1]
    assert position.start == FEN
    assert str(position.board(game).state) == str(board.state)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "needs a game"),
        ({"game": "x", "moves": "1;2"}, "moves must be numbers"),
        ({"game": "x", "moves": "-1"}, "moves must be numbers"),
        ({"game": "x", "moves": "1" * 19}, "moves must be numbers"),
        ({"game": "x", "moves": "٣"}, "moves must be numbers"),
        ({"game": "x", "ply": "a"}, "ply must be"),
        ({"game": "x", "moves": "1," * 5000}, "at most 8,000 characters"),
    ],
)
def test_malformed_links_are_refused(fields: dict[str, str], message: str) -> None:
    with pytest.raises(PositionError, match=message):
        read_link(fields)


@pytest.mark.parametrize(
    ("game", "position", "message"),
    [
        ("tic_tac_toe", GameLine((4, 4)), r"move 2, 4, is not legal at 'tic_tac_toe\(\)'"),
        ("tic_tac_toe", GameLine((0, 3, 1, 4, 2, 5)), "move 6, 5, comes after the end"),
        ("tic_tac_toe", GameLine((10**17,)), "is not legal"),
        ("tic_tac_toe", GameLine((1,) * 20_001), "at most 20,000 moves"),
        ("tic_tac_toe", GameLine(start=FEN), "FEN supports chess"),
        ("chess", GameLine(start="8/8"), "expected a FEN"),
        ("pig(players=2)", GameLine((0, 9)), "move 2, 9, is not legal"),
    ],
)
def test_illegal_lines_are_refused(game: str, position: GameLine, message: str) -> None:
    with pytest.raises(PositionError, match=message):
        position.board(ath.load_game(game))


def test_a_long_game_has_no_link(monkeypatch: pytest.MonkeyPatch) -> None:
    board = GameLine((4, 0, 8)).board(ath.load_game("tic_tac_toe"))
    monkeypatch.setattr(positions, "MAX_LINK_CHARACTERS", 29)
    assert link_query(board) is None


@pytest.mark.parametrize("text", ["4, 0, 8", "[4, 0, 8]", "4\n0\n8\n", " 4 0 8", "4,0,8"])
def test_a_history_of_openspiel_is_read(text: str) -> None:
    assert read_text(ath.load_game("tic_tac_toe"), text) == GameLine((4, 0, 8))


def test_an_empty_text_is_the_start() -> None:
    assert read_text(ath.load_game("tic_tac_toe"), "[]") == GameLine()


def test_games_and_positions_are_read_as_they_are_copied() -> None:
    """SGF in Go and Hex, PGN and FEN in Chess, OpenSpiel's history in other games."""
    for name, notation in (("hex(board_size=5)", "SGF"), ("chess", "PGN"), ("pig(players=2)", "OpenSpiel history")):
        game = ath.load_game(name)
        board = InteractiveBoard(game.new_initial_state())
        for _ in range(4):
            board.play(board.options()[-1].action)
        board.show(2)
        found, text = game_text(board)
        assert found == notation
        assert read_text(game, text).actions == position_of(board).actions
        _, text = position_text(board)
        assert str(read_text(game, text).board(game).state) == str(board.state)


def test_invalid_notes_are_refused() -> None:
    game = ath.load_game("tic_tac_toe")
    for variations in (((3, 0),), ((0, 4), (0, 99))):
        with pytest.raises(MoveError):
            GameLine((4, 0), notes=MoveNotes(variations)).board(game)
    with pytest.raises(MoveError, match="from 0 to 2 in the notes, got 3"):
        GameLine((4, 0), notes=MoveNotes((), ((3, "x"),))).board(game)


def test_a_saved_game_is_read() -> None:
    game = ath.load_game("tic_tac_toe")
    result = MatchResult(
        history=(0, 3, 1, 4, 2), opening_plies=0, returns=(1.0, -1.0), seconds=(0.0, 0.0), movers=(0, 1, 0, 1, 0),
        move_seconds=(0.0,) * 5, evaluations=(0, 0), requests=(0, 0),
    )  # fmt: skip
    text = json.dumps(SavedMatch(str(game), ("a", "b"), ("a", "b"), 0, 0, 0, result).to_json())
    assert read_text(game, text).actions == result.history
    with pytest.raises(PositionError, match="this page plays"):
        read_text(ath.load_game("connect_four"), text)
    with pytest.raises(AthenanError, match="saved game"):
        read_text(game, text.replace('"seed"', '"sead"'))


@pytest.mark.parametrize(
    ("game", "text", "message"),
    [
        (
            "tic_tac_toe",
            "hello",
            "expected a saved game or actions as .*, got 'hello'",
        ),
        ("hex(board_size=5)", "hello", "expected SGF or"),
        ("hex(board_size=5)", "(;GM[1])", "expected an SGF of"),
        ("tic_tac_toe", "(;GM[11])", "SGF supports Go and Hex"),
        ("chess", "1. e4 e4", "half-move 2"),
        ("tic_tac_toe", FEN, "FEN supports chess"),
        ("chess", "x" * 500_001, "at most 500,000 characters"),
        ("tic_tac_toe", "[" + " " * 100_000 + "x", "or actions"),
    ],
)
def test_other_texts_are_refused_with_one_line(game: str, text: str, message: str) -> None:
    with pytest.raises(AthenanError, match=message) as caught:
        read_text(ath.load_game(game), text)
    assert "\n" not in str(caught.value)


def test_the_query_is_a_plain_address() -> None:
    board = GameLine((4, 0)).board(ath.load_game("tic_tac_toe"))
    query = link_query(board)
    assert query == "game=tic_tac_toe()&moves=4,0"
    assert unquote(query) == query


def test_notations_have_the_same_games() -> None:
    chess960 = ath.load_game("chess(chess960=true)")
    assert not pgn.is_written(chess960)
    assert sgf.is_written(ath.load_game("go(board_size=5)"))
