"""Scores and piece counts, compared with returns, other ways to count, and positions by hand."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyspiel
import pytest

from athenan_spiel.cli.main import main
from athenan_spiel.errors import ConfigError
from athenan_spiel.games import piece_counts, score, supported_games
from athenan_spiel.games.boards import cells, numbered_rows, reached
from athenan_spiel.games.measures import MEASURES, has_measure
from athenan_spiel.outcomes import outcomes_for

SCORED = [
    "amazons",
    "amazons(board_size=6)",
    "cursor_go(board_size=4)",
    "dots_and_boxes",
    "dots_and_boxes(num_rows=3,num_cols=4)",
    "go(board_size=5)",
    "go(board_size=4,komi=2.0)",
    "go(board_size=19,handicap=3)",
    "mancala",
    "othello",
    "oware",
    "oware(num_houses_per_player=3,num_seeds_per_house=2)",
    "pig",
    "yacht",
    "yacht(num_dice=4,sort_dice=True)",
]
PIECES = {
    "antichess": (16, 16),
    "banqi": (16, 16),
    "breakthrough": (16, 16),
    "breakthrough(rows=60,columns=5)": (10, 10),  # its fiftieth row is called b
    "checkers": (12, 12),
    "checkers(rows=10,columns=10)": (15, 15),
    "chess": (16, 16),
    "clobber": (15, 15),
    "clobber(rows=11,columns=26)": (143, 143),
    "crazyhouse": (16, 16),
    "cursor_go(board_size=4)": (0, 0),
    "einstein_wurfelt_nicht": (0, 0),  # chance places the cubes
    "go(board_size=5)": (0, 0),
    "go(board_size=19,handicap=2)": (2, 0),
    "lines_of_action": (12, 12),
    "nine_mens_morris": (9, 9),
    "othello": (2, 2),
    "shogi": (20, 20),
    "xiangqi": (16, 16),
}


def short_name(spec: str) -> str:
    return spec.partition("(")[0]


def match(spec: str, seed: int) -> Iterator[pyspiel.State]:
    """Yields separate states of a random game; in Go, a pass is played only without another move."""
    rng = random.Random(seed)
    state = pyspiel.load_game(spec).new_initial_state()
    yield state
    while not state.is_terminal():
        actions = state.legal_actions()
        if short_name(spec) == "go" and len(actions) > 1 and rng.random() < 0.9:
            actions.pop()
        state = state.child(rng.choice(actions))
        yield state


def end(spec: str, seed: int) -> pyspiel.State:
    *_, last = match(spec, seed)
    return last


def sign(x: float) -> int:
    return (x > 0) - (x < 0)


# The table


def test_every_game_for_two_has_counts_or_reasons() -> None:
    names = [info.short_name for info in supported_games() if info.players != (1, 1)]
    two = [name for name in names if not name.startswith(("python_", "ludii"))]
    assert sorted(MEASURES) == sorted(two)
    assert list(MEASURES) == sorted(MEASURES), "as they are listed in an error"
    assert {name for name in MEASURES if has_measure("score", name)} == set(map(short_name, SCORED))
    assert {name for name in MEASURES if has_measure("pieces", name)} == set(map(short_name, PIECES))


@pytest.mark.parametrize("name", MEASURES)
def test_a_missing_count_is_refused_with_the_reason(name: str) -> None:
    state = pyspiel.load_game(name).new_initial_state()
    for count, measure in ((score, MEASURES[name].score), (piece_counts, MEASURES[name].pieces)):
        if measure.read is not None:
            assert len(count(state)) == 2
            continue
        with pytest.raises(ConfigError, match=r"has none \(.*\); games with one: .*go.*othello") as error:
            count(state)
        assert measure.text in str(error.value)
        assert "\n" not in str(error.value)


def test_a_game_that_is_not_in_the_table_is_refused() -> None:
    state = pyspiel.load_game("misere(game=tic_tac_toe())").new_initial_state()
    with pytest.raises(ConfigError, match="the library does not know its rules"):
        score(state)


def test_the_score_of_one_player_is_the_return() -> None:
    state = end("morpion_solitaire", 0)
    assert score(state) == (float(len(state.history())),)


# Boards


def test_rows_start_after_their_numbers() -> None:
    """8 is also a king of Checkers, and numbers of ten rows differ in length."""
    text = "10.8.\n 9+..\n" + "".join(f" {n}...\n" for n in range(8, 1, -1)) + " 18o.\n  abc\nCurrent player: 1\n"
    assert numbered_rows(text) == [".8.", "+..", *["..."] * 7, "8o."]


def test_reached_cells_are_free_and_on_the_board() -> None:
    rows = ["X#..", "#..#", "...#", "##.."]
    free, start = cells(rows, "."), cells(rows, "X")
    assert reached(start, free, 4, diagonally=True) == free
    assert reached(start, free, 4, diagonally=False) == 0
    corner = cells(["...#", "....", "....", "...."], "#")
    assert reached(corner, cells(["...#", "###.", "....", "#..."], "."), 4, diagonally=False) == cells(
        ["----", "---x", "xxxx", "-xxx"], "x"
    ) | cells(["xxx-", "----", "----", "----"], "x")


# Scores


@pytest.mark.parametrize("spec", SCORED)
def test_the_higher_score_has_won(spec: str) -> None:
    """Except in Amazons, where the last move decides, and for repetitions in Go."""
    results = set()
    for seed in range(4 if "19" in spec else 40):
        state = end(spec, seed)
        first, second = score(state)
        won = sign(state.player_return(0))
        results.add(won)
        if short_name(spec) == "amazons" and first == second == 0:
            continue
        if short_name(spec) == "go" and won == 0 and len(state.history()) < state.get_game().max_game_length():
            continue
        assert sign(first - second) == won, state
    assert {-1, 1} <= results or "19" in spec


@pytest.mark.parametrize("seed", range(12))
def test_the_area_of_go_is_where_komi_changes_the_winner(seed: int) -> None:
    """OpenSpiel returns only the winner, which changes between a komi just below and just above the area."""
    size = (4, 5, 6, 7, 11, 19)[seed % 6]
    state = end(f"go(board_size={size},komi=0.0)", seed)
    black, white = score(state)
    area = black - white
    assert area == int(area)
    if state.player_return(0) == 0 and area != 0:
        return  # a position that recurred
    for komi, won in ((area - 0.5, 1), (area + 0.5, -1)):
        again = pyspiel.load_game(f"go(board_size={size},komi={komi})").new_initial_state()
        for action in state.history():
            again.apply_action(action)
        assert again.player_return(0) == won
        assert score(again) == (black, white + komi)


def test_a_handicap_counts_for_white() -> None:
    state = pyspiel.load_game("go(board_size=19,handicap=2,komi=0.5)").new_initial_state()
    assert score(state) == (361, 2.5)


@pytest.mark.parametrize("seed", range(5))
def test_the_territory_of_amazons_equals_a_search_of_free_squares(seed: int) -> None:
    for state in match("amazons(board_size=6)", seed):
        board = {(r, c): x for r, row in enumerate(str(state).split("\n")) for c, x in enumerate(row)}
        found = []
        for amazon in "XO":
            seen: set[tuple[int, int]] = set()
            walk = [cell for cell, x in board.items() if x == amazon]
            while walk:
                r, c = walk.pop()
                near = {(r + i, c + j) for i in (-1, 0, 1) for j in (-1, 0, 1)} - seen
                free = [cell for cell in near if board.get(cell) == "."]
                seen.update(free)
                walk += free
            found.append(len(seen))
        assert score(state) == tuple(found)


def test_the_first_player_of_amazons_is_the_x() -> None:
    state = pyspiel.load_game("amazons(board_size=6)").new_initial_state()
    board = str(state).replace("\n", "")
    assert {board[action] for action in state.legal_actions()} == {"X"}


@pytest.mark.parametrize("seed", range(10))
def test_the_margin_in_boxes_is_what_openspiel_returns(seed: int) -> None:
    state = end("dots_and_boxes(num_rows=3,num_cols=4,utility_margin=true)", seed)
    assert np.subtract(*score(state)) == state.player_return(0)
    assert sum(score(state)) == 12


@pytest.mark.parametrize("seed", range(10))
def test_all_seeds_of_mancala_are_counted(seed: int) -> None:
    states = list(match("mancala", seed))
    assert {sum(score(state)) for state in states} == {48}
    pits = states[-1].observation_tensor(0)
    assert score(states[-1]) == (sum(pits[1:8]), pits[0] + sum(pits[8:14]))


@pytest.mark.parametrize("seed", range(10))
def test_seeds_of_oware_are_captured_by_the_mover(seed: int) -> None:
    state = pyspiel.load_game("oware").new_initial_state()
    for after in match("oware", seed):
        if not after.is_terminal() and after.history():
            mover = state.current_player()
            assert score(after)[1 - mover] == score(state)[1 - mover]
            shares = np.array(after.observation_tensor(0)[-2:])
            assert score(after) == tuple((48 * shares).round())
        state = after
    assert sum(score(state)) <= 48
    assert max(score(state)) >= 24


@pytest.mark.parametrize("seed", range(5))
def test_discs_of_othello_are_those_observed(seed: int) -> None:
    state = end("othello", seed)
    _, black, white = np.reshape(state.observation_tensor(0), (3, 8, 8)).sum((1, 2))
    assert score(state) == piece_counts(state) == (black, white)


# Pieces


@pytest.mark.parametrize("spec", PIECES)
def test_pieces_at_the_start(spec: str) -> None:
    assert piece_counts(pyspiel.load_game(spec).new_initial_state()) == PIECES[spec]


@pytest.mark.parametrize("spec", [spec for spec in PIECES if spec != "einstein_wurfelt_nicht"])
def test_only_the_opponent_takes_a_piece(spec: str) -> None:
    """No move of these games reduces the mover's own pieces, which also identifies the players."""
    taken = [0, 0]
    for seed in range(2 if "19" in spec else 6):
        before, mover = None, None
        for state in match(spec, seed):
            counts = piece_counts(state)
            if before is not None and mover is not None:
                assert counts[mover] >= before[mover], state
                taken[mover] += before[1 - mover] - counts[1 - mover]
            before, mover = counts, state.current_player() if state.current_player() >= 0 else None
    assert min(taken) > 0 or short_name(spec) == "cursor_go", "the law is tested on captures by both"


@pytest.mark.parametrize("seed", range(5))
def test_cubes_of_einstein_are_those_observed(seed: int) -> None:
    """A cube may capture one of its own colour."""
    for state in match("einstein_wurfelt_nicht", seed):
        cubes = np.reshape(state.observation_tensor(0), (6, 2, 25)).sum((0, 2))
        assert piece_counts(state) == tuple(cubes)


@pytest.mark.parametrize(("name", "total"), [("shogi", 40), ("crazyhouse", 32)])
def test_captured_pieces_are_in_hand(name: str, total: int) -> None:
    assert {sum(piece_counts(state)) for state in match(name, 1)} == {total}


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("chess", "4k3/8/8/8/8/5K2/2r5/8 b - - 0 56", (2, 1)),
        ("antichess", "1r3b2/4p3/1p5p/1q6/8/8/8/8 w - - 0 31", (6, 0)),
        ("crazyhouse", "4k3/8/8/8/8/5K2/2r5/8[QPPnr] b - - 0 56", (4, 4)),
        ("shogi", "4k4/9/9/9/9/9/9/2+R6/4K4 b 2GP12p 7", (5, 13)),
    ],
)
def test_pieces_of_a_position_by_hand(name: str, text: str, expected: tuple[int, int]) -> None:
    assert piece_counts(pyspiel.load_game(name).new_initial_state(text)) == expected


def test_kings_of_checkers_are_pieces() -> None:
    *_, state = (state for state in match("checkers", 1) if "8" in "".join(row[1:] for row in str(state).split("\n")))
    first, first_kings, second, second_kings, _ = np.reshape(state.observation_tensor(0), (5, 8, 8)).sum((1, 2))
    assert first_kings > 0
    assert piece_counts(state) == (first + first_kings, second + second_kings)


def test_the_page_equals_the_table() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "heuristics.md"
    text = page.read_text(encoding="utf-8").partition("| game | score | pieces |")[2]
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \|$", text, re.MULTILINE)
    cells = [(x.text if x.read else f"no: {x.text}" for x in (m.score, m.pieces)) for m in MEASURES.values()]
    assert rows == [(name, *pair) for name, pair in zip(MEASURES, cells, strict=True)]


@pytest.mark.parametrize(
    ("name", "also"),
    [("othello", ["score", "presence"]), ("amazons", ["score"]), ("chess", ["presence"]), ("hex", []), ("poker", None)],
)
def test_the_command_line_lists_the_outcomes_of_a_game(
    name: str, also: list[str] | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["games", name, "--json"]) == 0
    listed = {game["short_name"]: game["outcomes"] for game in json.loads(capsys.readouterr().out)}
    general = ["gain", "additive_depth", "multiplicative_depth", "mobility"]
    if also is None:
        assert listed["kuhn_poker"] == []
        return
    assert sorted(listed[name]) == sorted([*general, *also])
    assert main(["games", name]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if name in line.split())
    assert row.split("│")[-2].strip() == ", ".join(also)


def test_the_outcome_of_one_player_is_the_score() -> None:
    assert outcomes_for("morpion_solitaire", 1) == ["score"]
