"""Matches as SGF: written, read back, and read by sgfmill to the same moves."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sgfmill import sgf as mill

from athenan_spiel.errors import ConfigError, UnsupportedGameError
from athenan_spiel.games import load_game
from athenan_spiel.play.move_tree import MoveTree
from athenan_spiel.protocols import sgf
from athenan_spiel.protocols.vertices import vertices_of
from athenan_spiel.web.positions import GameLine

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
    path.write_bytes(b"x" * (sgf.MAX_BYTES + 1))
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
    assert names == ["A9", "B8", "pass", "C7"]


def test_variations_and_comments_are_read() -> None:
    """Numbers of positions are those of `MoveNotes`: the main line first, then the variations."""
    text = "(;SZ[9]C[start];B[aa](;W[bb]C[two\nlines];B[tt](;W[cc])(;W[dd];B[ee]))(;W[ee]C[a \\] b]))(;GM[5])"
    actions, notes = sgf.read_tree(NINE, text)
    assert actions == sgf.read(NINE, text)
    named = {name: vertices_of(NINE).action(NINE.new_initial_state(), name) for name in ("D6", "E5")}
    assert notes.variations == ((3, named["D6"]), (5, named["E5"]), (1, named["E5"]))
    assert notes.comments == ((0, "start"), (2, "two\nlines"), (7, "a ] b"))


@pytest.mark.parametrize(
    ("variation", "reason"),
    [
        ("W[aa]", "expected a legal move 2 of W"),
        ("B[bb]", "expected a legal move 2 of W"),
        ("AW[bb]", "no stones to be set up after move 1"),
        ("SZ[13]", "got SZ[13]"),
        ("W[cc]w[dd]", "after a name in lower case"),
        ("W[cc]B[dd]", "expected one move"),
    ],
)
def test_an_invalid_variation_is_left_out_with_the_reason(variation: str, reason: str) -> None:
    text = f"(;SZ[9];B[aa]C[known](;W[bb])(;{variation.replace('w[', 'ww[')};B[ff];W[gg])(;W[ii]))"
    actions, notes = sgf.read_tree(NINE, text)
    assert len(actions) == 2
    assert notes.variations == ((1, 8),)
    ((number, comment),) = notes.comments
    assert number == 1
    assert comment.startswith("known\nA variation is left out: expected ")
    assert reason in comment


@pytest.mark.parametrize("spec", GAMES)
def test_a_tree_is_read_as_it_is_written(spec: str) -> None:
    game = load_game(spec)
    for seed in range(5):
        rng, tree = random.Random(seed), MoveTree()
        states = [(game.new_initial_state(), tree.root)]
        tree.set_comment(tree.root, "first ] line\n\\ second: \033")
        for _ in range(40):
            state, node = rng.choice(states)
            if not state.is_terminal():
                action = rng.choice(state.legal_actions())
                child = tree.add(node, action, "", state.current_player())
                tree.set_comment(child, rng.choice(["", "", "C[x](;", "]"]))
                states.append((state.child(action), child))
        main = [node.action for node in tree.root.continuation()]
        text = sgf.written(game, main, ("A", "B"), tree=tree)
        actions, notes = sgf.read_tree(game, text)
        board = GameLine(actions, notes=notes).board(game)
        shown = [(depth, node.action, node.comment) for depth, node in tree.listed()]
        assert [(depth, node.action, node.comment) for depth, node in board.tree.listed()] == shown
        assert board.tree.root.comment == "first ] line\n\\ second:"
        if spec.startswith("go"):
            assert len(mill.Sgf_game.from_string(text).get_main_sequence()) >= len(main)


def test_a_tree_has_a_bounded_number_of_nodes() -> None:
    with pytest.raises(ConfigError, match="expected an SGF of 100,000 nodes at most"):
        sgf.read_tree(NINE, "(;SZ[9]" + "(;)" * 100_000 + ")")
    with pytest.raises(ConfigError, match="characters at most"):
        sgf.read_tree(NINE, "(;" + " " * 2_000_000)
    nested = "(;SZ[9]" + "(;C[x]" * 9_000 + "(;B[aa])(;B[bb])" + ")" * 9_001
    assert len(sgf.read_tree(NINE, nested)[0]) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected an SGF, which begins with"),
        ("(;SZ[9]", "is cut off"),
        ("(;SZ[9]B[aa", "expected a property such as"),
        ("(;SZ[9] 17 ;B[aa])", "expected a property such as"),
        ("(;SZ[9]B)", "got an invalid text: property with no values"),
        ("(;GM[2]SZ[9])", r"GM\[1\], got GM\[2\]"),
        ("(;SZ[13])", r"SZ\[9\], got SZ\[13\]"),
        ("(;B[aa])", r"SZ\[9\], got none, which means SZ\[19\]"),
        ("(;SZ[9]KM[6.5])", r"got KM\[6.5\]"),
        ("(;SZ[9]KM[much])", r"got KM\[much\]"),
        ("(;SZ[9]AB[aa])", "got other stones at first"),
        ("(;SZ[9]AW[aa])", "got other stones at first"),
        ("(;SZ[9];W[aa])", r"expected a legal move 1 of B in the SGF, got 'W\[aa\]'"),
        ("(;SZ[9];B[aa];W[aa])", "expected a legal move 2 of W"),
        ("(;SZ[9];B[jj])", "expected a legal move 1 of B"),
        ("(;SZ[9];B[aaa])", "expected a legal move 1 of B"),
        ("(;SZ[9];B[];W[];B[aa])", r"expected no move after the end of the game, got B\[aa\]"),
        ("(;SZ[9]" + ";" * 20_000 + ")", "moves at most"),
        ("(;SZ[9]" + "(" * 900_000 + ")" * 10, "is cut off"),
        ("(;SZ[9]" + "(" * 300_000 + ")" * 300_001, "got an invalid text: empty sequence"),
        ("(;" + " " * 2_000_000, "characters at most"),
    ],
)
def test_texts_that_are_none(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as refused:
        sgf.read(NINE, text)
    assert len(str(refused.value)) < 400


def vertices_in(text: str) -> list[str]:
    """The moves that are read on a board of 9 to a side."""
    vertices, state = vertices_of(NINE), NINE.new_initial_state()
    names = []
    for action in sgf.read(NINE, text):
        names.append(vertices.vertex(state, action))
        state.apply_action(action)
    return names


@pytest.mark.parametrize("space", ["", " ", "\n", "\r\n\t", "\v\f"])
def test_white_space_is_legal_everywhere(space: str) -> None:
    tokens = ["(", ";", "GM", "[1]", "SZ", "[9]", "KM", "[7.5]", "(", ";", "B", "[aa]", "(", ";", "W", "[bb]", ")"]
    tokens += ["(", ";", "W", "[cc]", ")", ")", "(", ";", "B", "[dd]", ")", ")"]
    assert vertices_in(space.join(["", *tokens, ""])) == ["A9", "B8"]
    for name, value in (("SZ", "[13]"), ("KM", "[0.5]")):
        wrong = [value if before == name else token for before, token in zip(["", *tokens], tokens, strict=False)]
        with pytest.raises(ConfigError, match=rf"got {name}\[{value[1:-1]}\]"):
            sgf.read(NINE, space.join(wrong))


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("(;GaMe[1]SiZe[9]KoMi[7.5];Black[aa];White[bb])", ["A9", "B8"]),
        ("(;FF[1]SZ[9];B[tt];W[tt])", ["pass", "pass"]),
        ("(;SZ[9:9]KM[];B[ aa ];W[b\\\nb])", ["A9", "B8"]),
        ("(;SZ[9]SZ[9]HA[0]PL[B];B[aa]PM[1];PL[W];W[bb];PL[black]C[PL[W\\]])", ["A9", "B8"]),
        ("(;SZ[9]HA[]C[(;AB[aa\\]SZ[13\\])];;B[aa])", ["A9"]),
        ("A letter (with brackets)\n(\n;SZ[9];B[aa])) (;SZ[13];AB[aa])", ["A9"]),
        ("(;SZ[9];B[aa](;W[bb])(;AB[cc:dd]PL[B]))", ["A9", "B8"]),
        ("(;SZ[9]AB[aa:bb];AE[aa][ab:bb];AE[ba]AW[cc];AE[cc];AB[];B[aa])", ["A9"]),
        ("(;SZ[9];B[];W[];PL[B])", ["pass", "pass"]),
        ("(;SZ[9]" + "(;C[x]" * 9_000 + "(;B[aa])(;B[bb])" + ")" * 9_001, ["A9"]),
    ],
)
def test_what_writers_write(text: str, moves: list[str]) -> None:
    assert vertices_in(text) == moves


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(;SZ[9];AB[aa][bb]AW[cc])", r"got other stones at first: 'AB\[aa\], AB\[bb\], AW\[cc\]'"),
        ("(;SZ[9];C[x];AB[aa:ii];B[aa])", "got other stones at first"),
        ("(;SZ[9]AddBlack[aa];W[bb])", "got other stones at first"),
        ("(;SZ[9]AB[tt])", r"expected points of the board in a setup of the SGF, such as aa or aa:cc, got 'tt'"),
        ("(;SZ[9]AE[aa:jj])", "expected points of the board"),
        ("(;SZ[9]AB[aa]AW[aa])", "expected each point once in a setup of the SGF, got 'aa' twice"),
        ("(;SZ[9]AB[aa:bb][bb])", "got 'bb' twice"),
        ("(;SZ[9];B[aa];AB[bb])", r"no stones to be set up after move 1 of the SGF, got AB\[bb\]"),
        ("(;SZ[9];B[aa];AW[bb])", r"got AW\[bb\]"),
        ("(;SZ[9];B[aa];AE[aa];W[bb])", r"got AE\[aa\]"),
        ("(;SZ[9]PL[W])", r"expected PL\[B\] after move 0 of the SGF, got PL\[W\]"),
        ("(;SZ[9];PL[white];B[aa])", r"got PL\[white\]"),
        ("(;SZ[9];B[aa];PL[B])", r"expected PL\[W\] after move 1 of the SGF, got PL\[B\]"),
        ("(;SZ[9];B[aa];PL[])", r"got PL\[\]"),
        ("(;SZ[9];B[aa]W[bb])", "expected one move, or a setup without a move, in a node of the SGF, got B and W"),
        ("(;SZ[9];B[aa]B[bb])", "got B and B"),
        ("(;SZ[9];B[aa]AW[bb])", "got B and AW"),
        ("(;SZ[9];B[aa]PL[W])", "got B and PL"),
        ("(;SZ[9]SZ[13];B[aa])", r"got SZ\[13\]"),
        ("(;SZ[9];SZ[13];B[aa])", r"got SZ\[13\]"),
        ("(;SZ[9:10])", r"got SZ\[9:10\]"),
        ("(;SZ[])", r"got SZ\[\]"),
        ("(;GM[1]GM[11]SZ[9])", r"got GM\[11\]"),
        ("(;SZ[9];B[aa];KM[0])", r"KM\[7.5\], got KM\[0\]"),
        ("(;SZ[9]KM[nan])", r"got KM\[nan\]"),
        ("(;SZ[9]HA[2];B[aa])", r"HA\[0\], got HA\[2\]"),
        ("(;SZ[9];b[aa])", r"got \[aa\] after a name in lower case"),
        ("(;SZ[9](;B[aa]);W[bb])", "an invalid text: unexpected node"),
        ("(SZ[9];B[aa])", "expected an SGF, which begins with"),
        ("(;SZ[9];B[aa](;W[bb])", "is cut off"),
    ],
)
def test_no_other_position_is_played(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as refused:
        sgf.read(NINE, text)
    assert len(str(refused.value)) < 400


def test_setups_that_a_game_begins_with() -> None:
    game = load_game("go(board_size=19,handicap=2,komi=0.5)")
    white = game.new_initial_state().legal_actions()[0]
    for setup in ("HA[2]AB[pd][dp]PL[W]", "AB[dp];AB[pd]", "AB[pd:pd]AB[dp];PL[W]", "AB[aa];AE[aa]AB[dp][pd]"):
        assert sgf.read(game, f"( ;SZ[19]KM[0.5]{setup};W[as])") == (white,)
    for setup in ("", "HA[2]", "AB[pd]", "AB[pd][dp][dd]", "AB[pd]AW[dp]", "HA[3]AB[pd][dp]", "AB[pd][dp]PL[B]"):
        with pytest.raises(ConfigError, match=r"expected an SGF that begins as|HA|PL"):
            sgf.read(game, f"(;SZ[19]{setup};W[as])")
        with pytest.raises(ConfigError, match=r"expected an SGF that begins as|HA|PL"):
            sgf.read(game, f"(;SZ[19]{setup})")


def test_hex_of_other_writers() -> None:
    game = load_game("hex(board_size=5,swap=true)")
    assert len(sgf.read(game, "( ; GM[11] SZ[5:5] ; B[C2] ; W[swap-pieces]; PL[B]; B[a1])")) == 3
    assert len(sgf.read(load_game("hex"), "(;GM[11];AE[a1];B[a1])")) == 1
    for setup in ("AB[a1]", "AW[a1:b2]", ";PL[W]", ";B[a1];AE[a1]", ";B[a1];AB[b2]"):
        with pytest.raises(ConfigError, match=r"got other stones at first|PL\[B\]|no stones to be set up after move 1"):
            sgf.read(game, f"(;GM[11]SZ[5]{setup})")
    with pytest.raises(ConfigError, match=r"GM\[11\], got none, which means GM\[1\]"):
        sgf.read(game, "(;SZ[5];B[a1])")
    with pytest.raises(ConfigError, match=r"SZ\[5\], got none, which means SZ\[11\]"):
        sgf.read(game, "(;GM[11];B[a1])")


def test_charsets_whose_characters_hold_brackets(tmp_path: Path) -> None:
    path = tmp_path / "match.sgf"
    text = "(;GM[1]SZ[9]CA[{}]PB[{}]KM[0.5];B[aa])"
    for charset, name in (("Shift_JIS", "\u30bd"), ("GBK", "\u6b5a"), ("Big5", "\u8a31"), ("UTF-8", "\u30bd")):
        path.write_bytes(text.format(charset, name).encode(charset))
        with pytest.raises(ConfigError, match=r"got KM\[0.5\]"):
            sgf.read_sgf(NINE, path)
    for charset in ("none such", "unicode_escape", "\u00fc", "", "utf-16"):
        path.write_text(text.format(charset, "x").replace("0.5", "7.5"), encoding="utf-8-sig")
        assert sgf.read_sgf(NINE, path) == (72,)
    path.write_text("(;SZ[9])", encoding="utf-16")
    with pytest.raises(ConfigError, match="expected an SGF, which begins with"):
        sgf.read_sgf(NINE, path)


def test_komi_is_written_in_full() -> None:
    game = load_game("go(board_size=9,komi=6.1234567)")
    assert sgf.read(game, sgf.written(game, (0,))) == (0,)
    assert "KM[7]" in sgf.written(load_game("go(board_size=9,komi=7.0)"), ())


SPACE = st.sampled_from(["", "", " ", "\n", " \t\r\n"])
DECOYS = st.sampled_from(["C[(;B[ii\\];AB[aa\\])]", "N[x]", "XX[a][b:c]", "LB[aa:(;]", "TR[aa][bb]", "C[\\\\]", ""])


@st.composite
def trees(draw: st.DrawFn, moves: tuple[int, ...]) -> str:
    """An SGF whose main line has these moves, with variations, white space and other properties."""
    lines = sgf.written(NINE, moves).splitlines()
    nodes = [line.rstrip(")") for line in lines if line.startswith(";")]
    text = f"({draw(SPACE)};{draw(SPACE)}SZ{draw(SPACE)}[9]{draw(DECOYS)}"
    variations: list[str] = []
    for node in nodes:
        colour, value = node[1:].split("[")
        if draw(st.booleans()):
            text += draw(SPACE) + "("
            other = draw(st.sampled_from(["W[ii]", "B[ii]", "AB[ii]", "PL[W]", "AE[aa]", ""]))
            variations.append(f"{draw(SPACE)}({draw(SPACE)};{other})")
        small = draw(st.sampled_from(["", "xy"]))
        text += draw(SPACE).join([";", draw(DECOYS), f"{colour}{small}", f"[{value}", draw(DECOYS)])
    for variation in reversed(variations):
        text += draw(SPACE) + ")" + variation * draw(st.integers(0, 2))
    return text + draw(SPACE) + ")" + draw(st.sampled_from(["", "(;SZ[9];B[aa])", ")"]))


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(0, 20), st.integers(0, 12))
def test_the_main_line_of_any_tree(data: st.DataObject, seed: int, plies: int) -> None:
    moves = played("go(board_size=9)", seed, plies)
    text = data.draw(trees(moves))
    assert sgf.read(NINE, text) == sgf.read_tree(NINE, text)[0] == moves
    assert len(mill.Sgf_game.from_string(text).get_main_sequence()) == 1 + len(moves)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="(;)[]\\BWACZS9 a:\n", max_size=40))
def test_no_text_is_more_than_an_error(text: str) -> None:
    for begun in (text, f"(;SZ[9]{text}", f"(;SZ[9];B[aa]{text})"):
        with contextlib.suppress(ConfigError):
            sgf.read(NINE, begun)
        with contextlib.suppress(ConfigError):
            actions, notes = sgf.read_tree(NINE, begun)
            GameLine(actions, notes=notes).board(NINE)


def test_games_and_actions_that_are_none() -> None:
    with pytest.raises(ConfigError, match="SGF supports Go and Hex, got 'othello"):
        sgf.written(load_game("othello"), ())
    assert not sgf.is_written(load_game("othello"))
    with pytest.raises(ConfigError, match="expected a legal action as move 2, got 0"):
        sgf.written(NINE, (0, 0))


def test_a_resignation_in_hex_is_no_action_and_ends_the_game() -> None:
    hexagon = load_game("hex(board_size=5)")
    moves = sgf.read(hexagon, "(;FF[4]GM[11]SZ[5];B[a1];W[b2])")
    assert sgf.read(hexagon, "(;FF[4]GM[11]SZ[5];B[a1];W[b2];B[resign])") == moves
    assert sgf.read(hexagon, "(;FF[4]GM[11]SZ[5];B[resign])") == ()
    with pytest.raises(ConfigError, match=r"expected no move after the end of the game, got W\[c3\]"):
        sgf.read(hexagon, "(;FF[4]GM[11]SZ[5];B[a1];W[b2];B[resign];W[c3])")
    with pytest.raises(ConfigError, match=r"expected a legal move 3 of B in the SGF, got 'W\[resign\]'"):
        sgf.read(hexagon, "(;FF[4]GM[11]SZ[5];B[a1];W[b2];W[resign])")
    with pytest.raises(ConfigError, match="expected a legal move 1 of B"):
        sgf.read(NINE, "(;FF[4]GM[1]SZ[9];B[resign])")


def test_a_game_that_cannot_be_played_is_refused() -> None:
    game = pyspiel.load_game("go(board_size=9,handicap=2)")
    for use in (lambda: sgf.read(game, "(;GM[1]SZ[9])"), lambda: sgf.written(game, ())):
        with pytest.raises(UnsupportedGameError, match="handicap 2 needs a board_size of at least 16, got 9"):
            use()
