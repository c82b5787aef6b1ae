"""Each legal action has one vertex, which reads back as the same action; boards agree with those of engines."""

from __future__ import annotations

import random

import pyspiel
import pytest

from athenan_spiel.errors import AgentError
from athenan_spiel.games import load_game
from athenan_spiel.protocols.vertices import vertices_of

GAMES = [
    "go(board_size=9)",
    "go(board_size=19,handicap=3)",
    "hex(board_size=5)",
    "hex(num_cols=3,num_rows=5)",
    "hex(board_size=4,swap=true)",
    "havannah(board_size=4)",
    "havannah(board_size=4,swap=true)",
    "othello",
    "y(board_size=7)",
    "gomoku(size=9)",
    "connect_four",
    "connect_four(rows=8,columns=9)",
    "tic_tac_toe",
    "mnk(m=5,n=4,k=4)",
    "breakthrough(rows=6,columns=5)",
    "breakthrough(rows=12,columns=5)",
    "clobber",
    "lines_of_action",
]
PLIES = 60


@pytest.mark.parametrize("spec", GAMES)
def test_there_and_back(spec: str) -> None:
    game = load_game(spec)
    vertices = vertices_of(game)
    rng = random.Random(1)
    for _ in range(3):
        state = game.new_initial_state()
        while not state.is_terminal() and state.move_number() < PLIES:
            legal = state.legal_actions()
            names = [vertices.vertex(state, action) for action in legal]
            assert len({name.lower() for name in names}) == len(legal)
            for action, name in rng.sample([*zip(legal, names, strict=True)], min(4, len(legal))):
                assert vertices.action(state, name) == vertices.action(state, f" {name.swapcase()} ") == action
            state.apply_action(rng.choice(legal))
            assert vertices.action(state, "z99") is None


def placed(spec: str, *moves: str) -> pyspiel.State:
    """The state after moves that are written as vertices."""
    game = load_game(spec)
    vertices, state = vertices_of(game), game.new_initial_state()
    for move in moves:
        action = vertices.action(state, move)
        assert action is not None, move
        state.apply_action(action)
    return state


def test_go_counts_from_the_lower_left_and_has_no_i() -> None:
    state = placed("go(board_size=9)", "A1", "J9", "pass")
    assert [line[3:].strip() for line in str(state).splitlines() if line[:2].strip() in ("1", "9")] == [
        "++++++++O",
        "X++++++++",
    ]
    assert vertices_of(load_game("go(board_size=9)")).action(state, "I5") is None


def test_hex_is_that_of_its_engines() -> None:
    """a1 is at the upper left, and black, who is the first player, joins the top and the bottom."""
    state = placed("hex(board_size=3)", "a1", "b1", "a2", "b2", "a3")
    assert state.is_terminal()
    assert state.returns() == [1.0, -1.0]
    swapped = placed("hex(board_size=3,swap=true)", "b1", "swap-pieces")
    assert swapped.current_player() == 0
    assert vertices_of(swapped.get_game()).action(swapped, "a2") is None  # the stone is mirrored


def test_rows_of_pairs_are_counted_from_the_bottom() -> None:
    assert str(placed("gomoku(size=9)", "B1")).splitlines()[-1] == ".b......."
    assert str(placed("tic_tac_toe", "C3")).splitlines()[0] == "..x"


def test_a_column_of_connect_four_will_do() -> None:
    state = placed("connect_four", "d", "D2", "d3")
    vertices = vertices_of(state.get_game())
    assert vertices.vertex(state, 3) == "D4"
    assert vertices.action(state, "D3") is None


def test_ranks_of_breakthrough_are_numbers() -> None:
    """OpenSpiel names rank 10 `:`."""
    state = placed("breakthrough(rows=10,columns=5)", "a9a8", "a2a3", "a10a9")
    assert str(state).splitlines()[:2] == [":.bbbb", "9bbbbb"]
    with pytest.raises(AgentError, match="expected a game whose moves are coordinates"):
        vertices_of(load_game("breakthrough(rows=6,columns=27)"))


@pytest.mark.parametrize(
    ("spec", "size", "setup", "first"),
    [
        ("go(board_size=9,komi=6.5)", (9,), ["komi 6.5"], "b"),
        ("go(board_size=19,handicap=2)", (19,), ["komi 7.5", "set_free_handicap Q16 D4"], "b"),
        ("hex(num_cols=3,num_rows=5)", (3, 5), [], "b"),
        ("havannah(board_size=4)", (4,), [], "w"),
        ("othello", (8,), [], "b"),
        ("y(board_size=7)", (7,), [], "b"),
        ("gomoku(size=9)", (9,), [], "b"),
        ("mnk(m=5,n=4,k=4)", (5, 4), [], "b"),
        ("connect_four", (7, 6), [], "b"),
        ("lines_of_action", (), [], "b"),
    ],
)
def test_what_is_said_before_a_match(spec: str, size: tuple[int, ...], setup: list[str], first: str) -> None:
    vertices = vertices_of(load_game(spec))
    assert vertices.size == size
    assert vertices.setup == setup
    assert vertices.colour(0) == first
    assert [vertices.player(colour) for colour in (first.upper(), "Black", "white", "red")] == [
        0,
        0 if first == "b" else 1,
        0 if first == "w" else 1,
        None,
    ]


def test_gtp_has_letters_for_25_columns() -> None:
    assert vertices_of(load_game("connect_four(columns=25)")).size == (25, 6)
    with pytest.raises(AgentError, match=r"25 columns, got 26 in 'connect_four\(columns=26\)': use a narrower board"):
        vertices_of(load_game("connect_four(columns=26)"))


@pytest.mark.parametrize("spec", ["chess", "amazons", "gomoku(size=30)", "gomoku(size=4,dims=3)", "twixt", "nim"])
def test_moves_that_are_no_coordinates(spec: str) -> None:
    with pytest.raises(AgentError, match=r"expected .* for GTP; those of '.*' are written"):
        vertices_of(load_game(spec))


@pytest.mark.parametrize("name", ["backgammon", "einstein_wurfelt_nicht", "pig(players=2)"])
def test_games_with_chance_are_refused(name: str) -> None:
    with pytest.raises(AgentError, match=r"GTP has no command for a roll, which .* needs"):
        vertices_of(load_game(name))
