"""The files of solved positions are what they say: solved, distinct, of their sources, and made by their script."""

from __future__ import annotations

import importlib
import random
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import forking
import pytest
from solved_games import GAMES

ROOT = Path(__file__).resolve().parents[2]
SETS = ("judging", "choosing")


@pytest.fixture
def games() -> ModuleType:
    return importlib.import_module("solved.games")


@pytest.fixture
def positions() -> ModuleType:
    return importlib.import_module("solved.positions")


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return forking.script(ROOT / "benchmarks" / "solved_positions.py", *words, folder=ROOT)


def test_these_are_the_games(games: ModuleType, positions: ModuleType) -> None:
    assert tuple(games.GAMES) == GAMES
    assert tuple(positions.SETS) == SETS
    files = {positions.file_of(game, which) for game in GAMES for which in SETS}
    assert set(positions.FOLDER.glob("*.txt")) == files


@pytest.mark.parametrize("name", GAMES)
def test_all_positions_are_different_and_open(games: ModuleType, positions: ModuleType, name: str) -> None:
    """Also between the sets: by none of those that settings were chosen by is anything judged."""
    making = importlib.import_module("solved_positions").Making
    solved, game, seen = games.GAMES[name], games.GAMES[name].load(), set()
    for which in SETS:
        known = positions.read(name, which)
        assert [position.source for position in known] == [
            source for source in positions.SOURCES for _ in range(making(solved, which, source).count)
        ]
        for position in known:
            state = position.state(game)
            assert not state.is_terminal()
            assert not solved.is_decided_at_once(state)
            assert positions.position_of(state) not in seen
            seen.add(positions.position_of(state))
            legal = state.legal_actions()
            assert 0 < len(position.keeping) < len(legal)
            assert position.keeping == tuple(action for action in legal if action in position.keeping)
            plies = solved.random_plies if position.source == "random" else solved.plies
            assert len(position.actions) in plies


@pytest.mark.parametrize("which", SETS)
@pytest.mark.parametrize("name", GAMES)
def test_the_latest_positions_are_solved_anew(games: ModuleType, positions: ModuleType, name: str, which: str) -> None:
    solved = games.GAMES[name]
    late = sorted(positions.read(name, which), key=lambda position: -len(position.actions))[:40]
    for position in random.Random(0).sample(late, 10):
        assert solved.keeping(position.state(solved.load())) == position.keeping


@pytest.mark.slow("solves positions of all depths, some minutes")
@pytest.mark.parametrize("which", SETS)
@pytest.mark.parametrize("name", GAMES)
def test_a_sample_is_solved_anew(games: ModuleType, positions: ModuleType, name: str, which: str) -> None:
    solved = games.GAMES[name]
    for position in random.Random(1).sample(positions.read(name, which), 20):
        assert solved.keeping(position.state(solved.load())) == position.keeping


@pytest.mark.slow("solves positions of Connect Four by the solver of all games, a minute")
def test_two_solvers_agree_on_connect_four(games: ModuleType, positions: ModuleType) -> None:
    game = games.GAMES["connect_four"].load()
    for position in [position for position in positions.read("connect_four", "judging") if len(position.actions) > 24]:
        assert games.kept(position.state(game)) in (position.keeping, None)


@pytest.mark.slow("plays matches of MCTS, a minute")
@pytest.mark.parametrize("name", GAMES)
def test_matches_are_as_long_as_is_said(games: ModuleType, name: str) -> None:
    matches = importlib.import_module("solved.matches")
    solved, rng, plies = games.GAMES[name], random.Random(2), []
    begin = matches.begin_of("mcts", solved, 0, Path())
    for _ in range(60):
        state, choose = solved.load().new_initial_state(), begin(rng)
        while not state.is_terminal():
            state.apply_action(choose(state))
        plies.append(state.move_number())
    assert solved.length == pytest.approx(sum(plies) / len(plies), abs=2)


def test_thirds_of_a_match(games: ModuleType) -> None:
    solved = games.GAMES["othello"]
    assert solved.length == 60
    assert [solved.third(plies) for plies in (1, 19, 20, 39, 40, 70)] == [
        *("first third", "first third", "middle third", "middle third", "last third", "last third")
    ]


@pytest.mark.parametrize("name", GAMES)
def test_the_page_says_which_positions_there_are(games: ModuleType, name: str) -> None:
    text, solved = (ROOT / "docs" / "arena.md").read_text(encoding="utf-8"), games.GAMES[name]
    (cells,) = re.findall(rf"^\| `{re.escape(name)}` \| (.*) \| (\d+)(?: plies)? / 3 \|", text, re.MULTILINE)
    assert cells[0].startswith(f"{solved.plies[0]} to {solved.plies[-1]}")
    assert cells[0].endswith(f"{solved.random_plies[0]} to {solved.random_plies[-1]}")
    assert int(cells[1]) == solved.length
    assert f"{games.MOST_NODES:,} positions" in text


def test_a_line_is_read_as_it_is_written(
    positions: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(positions, "FOLDER", tmp_path)
    position = positions.SolvedPosition((3, 12, 3), (0, 10), "self-play")
    assert str(position) == "3,12,3 0,10 self-play"
    file = positions.file_of("hex(board_size=5)", "choosing")
    assert file == tmp_path / "hex_board_size_5_choosing.txt"
    assert positions.read("hex(board_size=5)", "choosing") == []
    file.write_text(f"{position}\n")
    assert positions.read("hex(board_size=5)", "choosing") == [position]


@pytest.mark.parametrize("source", ["random", "mcts"])
@pytest.mark.parametrize("which", SETS)
@pytest.mark.parametrize("name", ["connect_four", "dots_and_boxes(num_rows=3,num_cols=3)"])
def test_the_files_can_be_made_again(positions: ModuleType, name: str, which: str, source: str) -> None:
    done = run(name, "--sets", which, "--sources", source, "--count", "2")
    assert done.returncode == 0, done.stderr
    known = [position for position in positions.read(name, which) if position.source == source]
    assert done.stdout.splitlines()[:-1] == [str(position) for position in known[:2]]


def test_another_position_than_that_of_the_file_is_an_error(
    positions: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    name = "dots_and_boxes(num_rows=3,num_cols=3)"
    script = importlib.import_module("solved_positions")
    first = positions.read(name, "judging")[0]
    monkeypatch.setattr(positions, "FOLDER", tmp_path)
    arguments = ["solved_positions.py", name, "--sets", "judging", "--sources", "random", "--count", "1"]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit, match="expected what its file has there, none"):
        script.main()
    monkeypatch.setattr(script, "COUNTS", {"judging": 1})
    monkeypatch.setattr(sys, "argv", [*arguments[:-2], "--write"])
    script.main()
    assert positions.read(name, "judging") == [first]
    monkeypatch.setattr(sys, "argv", arguments)
    script.main()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["chess"], "expected games of connect_four, hex(board_size=5), "),
        (["othello", "--count", "0"], "expected --count to be 1 or more, and without --write, got 0"),
        (["othello", "--count", "2", "--write"], "without --write, got 2"),
        (["othello", "--sets", "judgment"], "invalid choice: 'judgment'"),
    ],
)
def test_what_is_wrong_is_said_in_two_lines(words: list[str], message: str) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 2
