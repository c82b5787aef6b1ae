"""Matches as SGF: written, read back, and read by sgfmill to the same moves."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from athenan_spiel.errors import ConfigError
from athenan_spiel.games import load_game
from athenan_spiel.protocols import sgf
from athenan_spiel.protocols.vertices import vertices_of

GAMES = ["go(board_size=9)", "go(board_size=19,handicap=3,komi=0.5)", "go(board_size=2)", "hex(board_size=5)"]
GAMES += ["hex(num_cols=3,num_rows=5)", "hex(board_size=4,swap=true)"]
NINE = load_game("go(board_size=9)")


def played(spec: str, seed: int, plies: int = 80) -> tuple[int, ...]:
    state, rng = load_game(spec).new_initial_state(), random.Random(seed)
    while not state.is_terminal() and state.move_number() < plies:
        state.apply_action(rng.choice(state.legal_actions()))
    return tuple(state.history())


@pytest.mark.parametrize("spec", GAMES)
def test_what_is_written_is_read_back(spec: str) -> None:
    game = load_game(spec)
    for seed in range(5):
        history = played(spec, seed)
        text = sgf.written(game, history, ("runs/a]b\\", "gtp:x --a:b\n\033c"), "B+R")
        assert sgf.read(game, text) == history
        assert "\033" not in text


def test_a_file_may_be_read(tmp_path: Path) -> None:
    path = tmp_path / "match.sgf"
    path.write_text(sgf.written(NINE, (40, 81, 3)), encoding="utf-8")
    assert sgf.read_sgf(NINE, path) == (40, 81, 3)
    path.write_bytes(b"x" * (sgf.LARGEST + 1))
    with pytest.raises(OSError, match="more than the 1,000,000"):
        sgf.read_sgf(NINE, path)
    (tmp_path / "link.sgf").symlink_to(path)
    with pytest.raises(OSError, match="link"):
        sgf.read_sgf(NINE, tmp_path / "link.sgf")


def test_what_stands_in_it() -> None:
    text = sgf.written(NINE, (0, 81), ("A", "B"), "W+R")
    assert text.splitlines()[1:] == ["SZ[9]KM[7.5]RU[Tromp-Taylor]", "PB[A]", "PW[B]", "RE[W+R]", ";B[ai]", ";W[])"]
    hexagon = load_game("hex(num_cols=3,num_rows=5)")
    assert sgf.written(hexagon, (3,)).splitlines()[1:] == ["SZ[3:5]", ";B[a2])"]
    assert "HA[2]AB[pd][dp]" in sgf.written(load_game("go(board_size=19,handicap=2)"), ())


def test_results() -> None:
    assert sgf.result_of(NINE, (1, -1)) == "B+"
    assert sgf.result_of(NINE, (-1, 1), resigned=True) == "W+R"
    assert sgf.result_of(NINE, (-1, 1), forfeited=True) == "W+F"
    assert sgf.result_of(NINE, (0, 0)) == "0"


@pytest.mark.parametrize("spec", GAMES[:3])
def test_sgfmill_reads_the_same_moves(spec: str) -> None:
    mill = pytest.importorskip("sgfmill.sgf", reason="sgfmill is not installed: pip install sgfmill")
    game = load_game(spec)
    vertices = vertices_of(game)
    for seed in range(3):
        history = played(spec, seed)
        names = ("a ] \\ b: c", "über")
        read = mill.Sgf_game.from_string(sgf.written(game, history, names, "W+R"))
        assert (read.get_player_name("b"), read.get_player_name("w"), read.get_winner()) == (*names, "w")
        assert (read.get_size(), read.get_komi()) == (vertices.size[0], game.get_parameters()["komi"])
        state = game.new_initial_state()
        for node, action in zip(read.get_main_sequence()[1:], history, strict=True):
            colour, point = node.get_move()
            assert colour == vertices.colour(state.current_player())
            assert action == (
                vertices.action(state, "pass") if point is None else point[0] * vertices.size[0] + point[1]
            )
            state.apply_action(action)
        stones = read.get_root().get_setup_stones()[0]
        assert len(stones) == game.get_parameters()["handicap"]


def test_only_the_main_line_is_read() -> None:
    text = "some words (;GM[1]SZ[9]\n C[a \\] b;W[aa] ;B[aa] (;W [bb];B[tt](;W[cc])(;W[dd]))(;W[ee]))(;GM[5])"
    vertices = vertices_of(NINE)
    state = NINE.new_initial_state()
    names = []
    for action in sgf.read(NINE, text):
        names.append(vertices.vertex(state, action))
        state.apply_action(action)
    assert names == ["A9", "B8", "PASS", "C7"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected an SGF, which begins with"),
        ("(;SZ[9]", "is cut off"),
        ("(;SZ[9]B[aa", "expected a property such as"),
        ("(;SZ[9] 17 ;B[aa])", "expected a property such as"),
        ("(;SZ[9]B)", "expected a property such as"),
        ("(;GM[2]SZ[9])", r"GM\[1\], got GM\[2\]"),
        ("(;SZ[13])", r"SZ\[9\], got SZ\[13\]"),
        ("(;B[aa])", r"SZ\[9\], got SZ\[\]"),
        ("(;SZ[9]KM[6.5])", r"got KM\[6.5\]"),
        ("(;SZ[9]KM[much])", r"got KM\[much\]"),
        ("(;SZ[9]AB[aa])", "got other stones at first"),
        ("(;SZ[9]AW[aa])", "got other stones at first"),
        ("(;SZ[9];W[aa])", r"expected a legal move 1 of B in the SGF, got 'W\[aa\]'"),
        ("(;SZ[9];B[aa];W[aa])", "expected a legal move 2 of W"),
        ("(;SZ[9];B[jj])", "expected a legal move 1 of B"),
        ("(;SZ[9];B[aaa])", "expected a legal move 1 of B"),
        ("(;SZ[9];B[];W[];B[aa])", r"expected no move after the end of the match, got B\[aa\]"),
        ("(;SZ[9]" + ";" * 20_000 + ")", "moves at most"),
        ("(;SZ[9]" + "(" * 900_000 + ")" * 10, "legal"),
        ("(;" + " " * 2_000_000, "characters at most"),
    ],
)
def test_texts_that_are_none(text: str, message: str) -> None:
    if message == "legal":  # nested without end, and without a move
        assert sgf.read(NINE, text) == ()
        return
    with pytest.raises(ConfigError, match=message) as refused:
        sgf.read(NINE, text)
    assert len(str(refused.value)) < 400


def test_games_and_actions_that_are_none() -> None:
    with pytest.raises(ConfigError, match="SGF is written for Go and Hex, got 'othello"):
        sgf.written(load_game("othello"), ())
    assert not sgf.is_written(load_game("othello"))
    with pytest.raises(ConfigError, match="expected a legal action as move 2, got 0"):
        sgf.written(NINE, (0, 0))
