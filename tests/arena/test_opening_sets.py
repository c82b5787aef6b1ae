"""Openings from a file and by search, and one limit for all agents."""

from __future__ import annotations

from pathlib import Path

import pyspiel
import pytest

from athenan_spiel.arena.contestant import limited, with_limit
from athenan_spiel.arena.opening_sets import MOST_FILE, balanced_openings, opening_set, openings_of_file
from athenan_spiel.arena.tournament_settings import OpeningsConfig, openings_from
from athenan_spiel.errors import AgentError, ConfigError
from athenan_spiel.protocols.sgf import written
from athenan_spiel.solving.solver import solve

GAME = pyspiel.load_game("tic_tac_toe")


def test_a_file_holds_moves_by_name_or_number(tmp_path: Path) -> None:
    path = tmp_path / "openings"
    path.write_text("# three\n4 0\n\nx(1,1) o(0,2)\n  8\n")
    assert openings_of_file(GAME, path).openings == ((4, 0), (4, 2), (8,))
    assert openings_of_file(GAME, path, 2).openings == ((4, 0), (4, 2))
    assert openings_of_file(GAME, path, 2).told == f"2 openings of {path}"


def test_a_comment_ends_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "openings"
    for separator in ("\v", "\f", "\x1c", "\x85", "\u2028"):
        path.write_text(f"# a remark{separator}8\n4 0{separator}1\n", encoding="utf-8")
        assert openings_of_file(GAME, path).openings == ((4, 0, 1),)
    path.write_bytes(b"\xef\xbb\xbf# of an editor\r\n4 0\r8\r\n")
    assert openings_of_file(GAME, path).openings == ((4, 0), (8,))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"4 4", "line 1: expected a legal move as move 2, got '4'"),
        (b"4\n0 3 1 4 2", "line 2: expected a position with a move to play, got the end of the game"),
        (b"0 3 1 4 2 5", "expected no move 6, as the game has ended"),
        (b"4\n4", "line 2 repeats the opening of line 1"),
        ("# a\u2028x\u0085x\n4\r\n4".encode(), "line 3 repeats the opening of line 2"),
        (b"4 x", "expected a legal move as move 2, got 'x'"),
        (b"4", "4 games need 2 openings, got 1"),
        (b"\xff", "is not UTF-8"),
    ],
)
def test_errors_of_a_file_are_reported(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "openings"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as error:
        openings_of_file(GAME, path, 2)
    assert problem in str(error.value)


def test_a_file_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(MOST_FILE + 1)
    with pytest.raises(ConfigError, match="cannot be read: it has"):
        openings_of_file(GAME, path)


def test_balanced_openings_are_draws_where_that_is_known() -> None:
    """A judge that proves positions finds the draws after two plies of Tic-Tac-Toe."""
    config = OpeningsConfig(kind="balanced", plies=2, judge="alphabeta(9)@100000i")
    found = balanced_openings(GAME, config, 6, 0)
    assert len(set(found.openings)) == 6
    for opening in found.openings:
        state = GAME.new_initial_state()
        for action in opening:
            state.apply_action(action)
        assert solve(GAME, state).value == 0
    assert "alphabeta(9)@100000i" in found.told
    assert "tried)" in found.told


def test_balanced_openings_come_from_the_seed() -> None:
    config = OpeningsConfig(kind="balanced", plies=3)
    assert opening_set(GAME, config, 3, 1) == opening_set(GAME, config, 3, 1)
    assert opening_set(GAME, config, 3, 1) != opening_set(GAME, config, 3, 2)


def test_too_few_balanced_openings_are_reported() -> None:
    config = OpeningsConfig(kind="balanced", plies=1, bound=0.9, judge="alphabeta(1)@1i")
    with pytest.raises(
        ConfigError, match=r"10 openings of 1 plies must have values from -0.9 to 0.9, got \d of 9 tried"
    ):
        balanced_openings(GAME, config, 10, 0)


def test_a_judge_must_report_values() -> None:
    with pytest.raises(ConfigError, match=r"judge must be an agent that reports values.*'random'"):
        balanced_openings(GAME, OpeningsConfig(kind="balanced", judge="random"), 1, 0)
    with pytest.raises(AgentError, match="expected an agent"):
        balanced_openings(GAME, OpeningsConfig(kind="balanced", judge="nobody"), 1, 0)


def test_openings_from_command_line_options() -> None:
    assert openings_from(None, None, 3) == OpeningsConfig(plies=3)
    assert openings_from("balanced", "alphabeta@1i", 3).judge == "alphabeta@1i"
    assert openings_from("file.txt", None, 3).file == "file.txt"
    with pytest.raises(ConfigError, match="--judge is for --openings balanced"):
        openings_from(None, "alphabeta@1i", 3)


@pytest.mark.parametrize(
    ("word", "limit", "expected"),
    [
        ("alphabeta@2s", "5i", "alphabeta@5i"),
        ("alphabeta(3)", "0.1s", "alphabeta(3)@0.1s"),
        ("runs/x", "7i", "runs/x@7i"),
        ("runs/x#5@1s", "7i", "runs/x#5@7i"),
        ("runs/x:mcts(0.5)@1s", ".5s", "runs/x:mcts(0.5)@.5s"),
        ("alphabeta@5m+2s", "1m+.5s", "alphabeta@1m+.5s"),
        ("mcts:100", "1m+1s", "mcts@1m+1s"),
        ("random", "5i", None),
    ],
)
def test_a_limit_replaces_that_of_a_spec(word: str, limit: str, expected: str | None) -> None:
    assert with_limit(word, limit) == expected


def test_a_limit_must_be_accepted_by_an_agent() -> None:
    found = limited({"a": "alphabeta@1s", "b": "random"}, "3i")
    assert found == ({"a": "alphabeta@3i", "b": "random"}, ("b",))
    for limit in ("3", "3x", "i", "-1s", "1s@2s"):
        with pytest.raises(ConfigError, match="limit must be like 0"):
            limited({"a": "alphabeta"}, limit)
    with pytest.raises(ConfigError, match="limit must be one that an agent accepts"):
        limited({"b": "random"}, "3i")
    with pytest.raises(AgentError):
        limited({"b": "nobody"}, "3i")


def test_an_sgf_is_one_opening(tmp_path: Path) -> None:
    game = pyspiel.load_game("hex(board_size=3)")
    path = tmp_path / "opening.sgf"
    path.write_text(written(game, [0, 4]))
    found = openings_of_file(game, path, 1)
    assert found.openings == ((0, 4),)
    assert found.told == f"the main line of {path}"
    with pytest.raises(ConfigError, match="has one opening, for 2 games, got 4"):
        openings_of_file(game, path, 2)
    path.write_text(written(game, [0, 1, 3, 4, 6]))
    with pytest.raises(ConfigError, match=r"opening\.sgf: expected a position with a move to play"):
        openings_of_file(game, path, 1)
    with pytest.raises(ConfigError, match=r"opening\.sgf: SGF supports Go and Hex"):
        openings_of_file(GAME, path, 1)
    with pytest.raises(ConfigError, match="cannot be read"):
        openings_of_file(game, tmp_path / "nowhere.sgf", 1)
    path.write_text("( ;GM[11]SZ[3]\n( ;B[a1];W[b2])\n( ;B[c3]))")
    assert openings_of_file(game, path.rename(tmp_path / "OPENING.SGF"), 1).openings == ((0, 4),)
    (tmp_path / "setup.sgf").write_text("(;GM[11]SZ[3];C[x];AB[c3])")
    with pytest.raises(ConfigError, match=r"setup\.sgf: .*got other stones at first"):
        openings_of_file(game, tmp_path / "setup.sgf", 1)
