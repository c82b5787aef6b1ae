"""Results folders of tournaments and experiments: owner, leftovers of a kill, untrusted content."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import athenan_spiel
from athenan_spiel.arena import results_folder
from athenan_spiel.arena.record import SavedMatch
from athenan_spiel.arena.results_folder import ResultsFolder
from athenan_spiel.errors import ArenaError, ExperimentError
from athenan_spiel.play.match import MatchResult

SETTINGS = {"matches": 2, "agents": [{"name": "a", "word": "random"}]}
RESULT = MatchResult((0, 3, 1, 4, 2), 2, (1.0, -1.0), (0.0, 0.0), None, (0, 1, 0), (0.0, 0.0, 0.0), (0, 0), (0, 0))


def folder_at(path: Path, settings: dict[str, object] = SETTINGS) -> ResultsFolder:
    return ResultsFolder(path, "experiment", settings, ExperimentError)


def game(number: int) -> SavedMatch:
    return SavedMatch("tic_tac_toe()", ("a", "b"), ("random", "random"), 0, number, 1, RESULT)


def number_of(match: SavedMatch) -> int:
    if match.number > 5:
        raise ArenaError("there are six games")
    return match.number


@pytest.fixture
def begun(tmp_path: Path) -> ResultsFolder:
    """A folder with two games."""
    folder = folder_at(tmp_path / "x")
    with folder.locked():
        folder.write_settings(more=[1])
    for number in (0, 1):
        folder.append(game(number))
    return folder


def numbers(folder: ResultsFolder) -> list[int]:
    return [number for number, _ in folder.games(number_of)]


def test_games_are_read_with_their_keys(begun: ResultsFolder) -> None:
    assert begun.begun() == {"athenan_spiel": athenan_spiel.__version__, "experiment": SETTINGS, "more": [1]}
    assert [*begun.games(number_of)] == [(0, game(0)), (1, game(1))]
    assert folder_at(begun.path.with_name("new")).begun() is None


def test_results_of_other_settings_are_refused_in_one_line(begun: ResultsFolder) -> None:
    with pytest.raises(ExperimentError) as raised:
        folder_at(begun.path, SETTINGS | {"matches": 4}).begun()
    assert str(raised.value) == (
        f"{str(begun.path)!r} holds the results of another experiment, started with athenan_spiel "
        f"{athenan_spiel.__version__}: there matches is 2, and here 4; choose another --folder"
    )
    table = {"athenan_spiel": "0\n" * 10_000, "experiment": SETTINGS | {"a\nkey" * 1_000: "x\n" * 10_000}}
    begun.settings_path.write_text(json.dumps(table))
    with pytest.raises(ExperimentError, match="holds the results of another experiment") as raised:
        begun.begun()
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 1_000


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "3", "{}", '{"experiment": {}}', "[" * 5_000, '{"experiment": ' + "9" * 5_000 + "}"],
    ids=lambda text: text[:20],
)
def test_invalid_settings_give_one_line_of_error(begun: ResultsFolder, text: str) -> None:
    begun.settings_path.write_text(text)
    with pytest.raises(ExperimentError, match=r"experiment.json cannot be understood") as raised:
        begun.begun()
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 500


def test_a_folder_with_other_content_is_refused(begun: ResultsFolder, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").touch()
    with pytest.raises(ExperimentError, match=r"expected a new folder or one of this experiment, .* 'letter.txt'"):
        folder_at(tmp_path).begun()
    (tmp_path / "link").symlink_to(begun.path)
    with pytest.raises(ExperimentError, match="a link, which is not followed"):
        folder_at(tmp_path / "link").begun()
    with pytest.raises(ExperimentError, match="cannot be"), folder_at(tmp_path / "letter.txt" / "x").locked():
        pass


def test_leftovers_of_a_killed_start_are_accepted(tmp_path: Path) -> None:
    (tmp_path / ".writing-experiment.json").write_text("{")
    (tmp_path / "matches.jsonl").touch()
    folder = folder_at(tmp_path)
    assert folder.begun() is None
    with folder.locked():
        assert folder.begun() is None
    assert not (tmp_path / ".writing-experiment.json").exists()
    (tmp_path / "matches.jsonl").write_text("a game")
    with pytest.raises(ExperimentError, match=r"which holds 'matches\.jsonl'"):
        folder.begun()


def test_one_process_at_a_time_works_in_a_folder(begun: ResultsFolder) -> None:
    with (
        begun.locked(),
        pytest.raises(ExperimentError, match="another process works on the experiment in"),
        folder_at(begun.path).locked(),
    ):
        pass


def test_a_truncated_line_is_ignored_and_removed(begun: ResultsFolder) -> None:
    path = begun.path / "matches.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:50])
    assert numbers(begun) == [0, 1]
    begun.repair()
    assert path.read_bytes() == whole
    begun.append(game(2))
    assert numbers(begun) == [0, 1, 2]


@pytest.mark.parametrize(
    ("number", "problem"),
    [
        (1, "is not a game of the experiment: another line holds the same game"),
        (6, "is not a game of the experiment: there are six games"),
        (-1, "is not a saved game: number must be a whole number from 0"),
    ],
)
def test_lines_with_foreign_games_are_reported(begun: ResultsFolder, number: int, problem: str) -> None:
    begun.append(game(number))
    with pytest.raises(ExperimentError) as raised:
        numbers(begun)
    assert str(raised.value).startswith(f"{begun.path / 'matches.jsonl'}, line 3 {problem}")
    assert str(raised.value).endswith("; remove the line, and the game is played again")


def test_a_missing_file_of_games_is_reported(begun: ResultsFolder) -> None:
    (begun.path / "matches.jsonl").unlink()
    for attempt in (lambda: numbers(begun), begun.repair):
        with pytest.raises(ExperimentError, match="is missing: put it back, or make an empty file there to play all"):
            attempt()
    (begun.path / "matches.jsonl").touch()
    begun.repair()
    assert numbers(begun) == []


@pytest.mark.parametrize("name", ["experiment.json", "matches.jsonl"])
def test_links_and_fifos_are_refused(begun: ResultsFolder, tmp_path: Path, name: str) -> None:
    (begun.path / name).rename(tmp_path / name)
    (begun.path / name).symlink_to(tmp_path / name)
    before = (tmp_path / name).read_bytes()
    attempts = [begun.begun] if name == "experiment.json" else [lambda: numbers(begun), begun.repair]
    for attempt in attempts:
        with pytest.raises(ExperimentError, match=f"{name} cannot be read: it is a link, which is not followed"):
            attempt()
    begun.write("experiment.json", "new")
    assert (tmp_path / name).read_bytes() == before
    (begun.path / name).unlink()
    os.mkfifo(begun.path / name)
    for attempt in attempts:
        with pytest.raises(ExperimentError, match=rf"{name} cannot be read: it is no regular file"):
            attempt()


def test_a_large_file_is_refused_by_its_size(begun: ResultsFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results_folder, "MOST_BYTES", 100)
    monkeypatch.setattr(results_folder, "MAX_SETTINGS_BYTES", 10)
    for attempt in (lambda: numbers(folder_at(begun.path)), begun.begun):
        with pytest.raises(ExperimentError, match=r"cannot be read: it has .* more than the 10+ that are"):
            attempt()
