"""A general game playing series: finished games stay, and the report has a row for each game, also for failures."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import errno
import functools
import io
import json
import math
import os
import re
import shutil
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import Out, complaint

from athenan_spiel.arena import tournament
from athenan_spiel.arena.standings import FailedMatch
from athenan_spiel.cli.main import main
from athenan_spiel.errors import CheckpointError, ConfigError, ExperimentError
from athenan_spiel.games import all_games, load_game
from athenan_spiel.ggp import GgpSettings, drawn_games, read_ggp, report_ggp, run_ggp
from athenan_spiel.ggp.folder import GgpFolder
from athenan_spiel.ggp.report import GgpReport, _by, _range, cells
from athenan_spiel.ggp.rows import FAILURE, RESULT, read_row
from athenan_spiel.ggp.task import (
    GameProgress,
    GameTask,
    _problems,
    _thinned,
    machine,
    memory_limit,
    progress_of,
    tournament_of,
)
from athenan_spiel.system.files import locked

pytestmark = pytest.mark.usefixtures("forked_workers")

SETTINGS = GgpSettings(
    name="tiny", games=("tic_tac_toe", "kuhn_poker"), seconds=1.0, matches=2, move_seconds=0.01, opponents=("random",)
)
ROOT = Path(__file__).parents[2]
FAILED_ROW = {"game": "chess", "reason": "it failed"}


class Recorder:
    """Records the phases of each game."""

    def __init__(self) -> None:
        self.phases: dict[str, list[str]] = {}

    def __call__(self, game: str, progress: GameProgress) -> None:
        phases = self.phases.setdefault(game, [])
        if phases[-1:] != [progress.phase]:
            phases.append(progress.phase)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, forked_workers: None) -> Path:
    """The folder of a finished series, to be left as it is."""
    folder = tmp_path_factory.mktemp("ggp") / "tiny"
    recorder = Recorder()
    report = run_ggp(SETTINGS, folder, processes=1, on_progress=recorder)
    assert report.complete
    assert recorder.phases["tic_tac_toe"] == ["training", "games", "finished"]
    assert recorder.phases["kuhn_poker"] == ["training", "failed"]
    return folder


def test_each_game_has_a_row(finished: Path) -> None:
    rows = {row["game"]: row for row in json.loads((finished / "results.json").read_text())["games"]}
    assert list(rows) == list(SETTINGS.games)
    row = rows["tic_tac_toe"]
    assert (row["players"], row["actions"], row["tensor"]) == (2, 9, [4, 3, 3])
    assert 5 < row["branching"] < 7
    assert row["training_seconds"] >= 1
    assert row["sessions"] == 1
    assert row["peak_megabytes"] > 100
    (pair,) = row["pairs"]
    assert (pair["opponent"], pair["matches"]) == ("random", 2)
    assert rows["kuhn_poker"] == {
        "game": "kuhn_poker",
        "reason": "kuhn_poker is not supported: it hides information (`athenan games` lists what is)",
    }
    table = list(csv.DictReader(io.StringIO((finished / "results.csv").read_text())))
    assert [line["game"] for line in table] == list(SETTINGS.games)
    assert float(table[0]["random points"]) == pair["points"]
    text = (finished / "report.md").read_text()
    assert "| `random` |" in text
    assert "it hides information" in text
    assert "Not finished" not in text


def test_what_is_finished_is_not_repeated(finished: Path) -> None:
    files = [file for file in finished.rglob("*") if file.is_file()]
    before = {file: file.stat().st_mtime_ns for file in files if "games" in file.parts}
    recorder = Recorder()
    assert run_ggp(SETTINGS, finished, processes=1, on_progress=recorder).complete
    assert recorder.phases == {"tic_tac_toe": ["finished"], "kuhn_poker": ["failed"]}
    assert {file: file.stat().st_mtime_ns for file in before} == before


def test_another_series_is_refused(finished: Path) -> None:
    other = GgpSettings(name="tiny", games=SETTINGS.games, seconds=2.0)
    with pytest.raises(ExperimentError, match="holds the results of another series"):
        run_ggp(other, finished, processes=1)


def test_a_training_that_was_stopped_continues_with_its_fitted_settings(tmp_path: Path) -> None:
    settings = dataclasses.replace(SETTINGS, seconds=1.5, memory=2_000_000_000)
    task, phases = GameTask(tmp_path / "x", "tic_tac_toe", settings, 1), Recorder()
    assert not task.run(functools.partial(phases, "a"), lambda: True)
    assert phases.phases == {"a": ["training"]}
    stopped = (tmp_path / "x" / "run" / "config.toml").read_text()
    assert "filters = 16" in stopped, "fitted to the time"
    other = dataclasses.replace(settings, seconds=2.0)
    assert GameTask(tmp_path / "x", "tic_tac_toe", other, 1).run(lambda progress: None, lambda: False)
    failure = tmp_path / "x" / FAILURE
    assert "has other training settings" in json.loads(failure.read_text())["reason"]
    failure.unlink()
    assert task.run(functools.partial(phases, "b"), lambda: False)
    assert phases.phases["b"] == ["training", "games", "finished"]
    assert json.loads((tmp_path / "x" / RESULT).read_text())["training_seconds"] >= 1.5


def test_games_that_were_stopped_continue(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished / "games" / "tic_tac_toe" / "run", tmp_path / "x" / "run")
    settings = dataclasses.replace(SETTINGS, matches=4)
    task, fractions = GameTask(tmp_path / "x", "tic_tac_toe", settings, 1), []

    def note(progress: GameProgress) -> None:
        fractions.extend([progress.done] if progress.phase == "games" else [])

    assert not task.run(note, lambda: 0.25 in fractions)
    assert not (tmp_path / "x" / RESULT).exists()
    assert fractions == [0, 0.25]
    assert task.run(note, lambda: False)
    assert fractions[2:] == [0.25, 0.5, 0.75, 1], "the saved game is not played again"
    assert (tmp_path / "x" / RESULT).exists()


@pytest.mark.parametrize(("points", "won"), [(0.4, 0), (0.5, 0), (0.6, 1)])
def test_an_opponent_is_beaten_with_more_than_half_of_the_points(points: float, won: int) -> None:
    pair = {"opponent": "mcts", "points": points}
    rows = {"a": {"game": "a", "pairs": [pair]}, "b": {"game": "b", "reason": "it failed"}}
    assert GgpReport(SETTINGS, rows).above_half() == {"mcts": (won, 1)}


def test_the_series_can_be_repeated_from_its_report(finished: Path) -> None:
    assert read_ggp(finished / "series.toml") == SETTINGS
    text = (finished / "report.md").read_text()
    assert "athenan ggp series.toml --processes 1" in text
    assert "athenan train GAME --time 1s --seed 0 --folder RUN" in text
    assert machine() in text


def test_the_page_shows_learning_curves_and_escapes_names(finished: Path) -> None:
    assert (finished / "report.html").read_text().startswith("<!doctype html>")
    (row,) = (row for row in json.loads((finished / "results.json").read_text())["games"] if "reason" not in row)
    report = GgpReport(SETTINGS, {"tic_tac_toe": {**row, "loss": [[0.1, 0.5], [0.9, 0.25]]}, "chess": FAILED_ROW})
    assert report.html().count("<svg") == 1, "one game was trained"
    assert "tic_tac_toe; loss: from 0.5 at 0.1 to 0.25 at 0.9" in report.html()
    name = "<script>|`"
    report = GgpReport(SETTINGS, {name: {**row, "game": name}, "b": {"game": "b", "reason": name}})
    assert "<script>" not in report.html()
    assert "`` <script>\\|` ``" in report.markdown()


@pytest.mark.parametrize(
    "change",
    [
        {"pairs": []},
        {"pairs": [{}]},
        {"loss": [[0]]},
        {"players": "2"},
        {"game": "chess"},
        {"more": 1},
        {"length": "x"},
        {"machine": "\ud800"},
        {"training_seconds": math.inf},
        {"pairs": [{"opponent": "random", "points": 0.5, "points_interval": {"low": 0, "high": 1}, "matches": 2}]},
    ],
)
def test_an_invalid_result_counts_as_none(change: dict[str, Any], finished: Path, tmp_path: Path) -> None:
    row = json.loads((finished / "games" / "tic_tac_toe" / RESULT).read_text())
    (tmp_path / RESULT).write_text(json.dumps(row))
    assert read_row(tmp_path, "tic_tac_toe") == row
    (tmp_path / RESULT).write_text(json.dumps({**row, **change}))
    assert read_row(tmp_path, "tic_tac_toe") is None


def test_points_and_sides_are_those_of_the_saved_games(finished: Path) -> None:
    row = read_row(finished / "games" / "tic_tac_toe", "tic_tac_toe")
    assert row is not None
    (pair,) = row["pairs"]
    assert progress_of(row).points == {"random": (2 * pair["points"], 2)}
    lines = (finished / "games" / "tic_tac_toe" / "matches" / "matches.jsonl").read_text().splitlines()
    firsts = [json.loads(line)["returns"][0] for line in lines]
    assert row["first_player_points"] == sum((value + 1) / 2 for value in firsts) / 2
    assert row["training_games"] >= row["undecided_training_games"] >= 0
    measured = r"random games take 8 moves, branching factor 6, a linear function explains \d+% of their results"
    assert re.match(f"{measured}; chosen: ", row["choice"])


@pytest.mark.parametrize(
    ("left", "text"), [(None, ["games", "50%", "", "75% of 2"]), (59.7, ["games", "50%", "1:00", "75% of 2"])]
)
def test_progress_has_time_left_and_points(left: float | None, text: list[str]) -> None:
    progress = GameProgress("games", 0.5, seconds_left=left, points={"mcts": (1.5, 2), "random": (0.0, 0)})
    assert cells(progress) == text


def test_groups_of_games_have_limits() -> None:
    rows = [{"length": value} for value in (5, 19.9, 20, 100, None)]
    groups = _by(rows, lambda row: _range("length", row["length"], (20, 100)))
    assert [(name, len(members)) for name, members in groups] == [
        ("length 0 to 20", 2),
        ("length 20 to 100", 1),
        ("length from 100", 1),
        ("length unknown", 1),
    ]


def test_categories_are_groups(finished: Path) -> None:
    row = read_row(finished / "games" / "tic_tac_toe", "tic_tac_toe")
    assert row is not None
    assert row["category"] == "", "OpenSpiel has none"
    rows = {
        name: {**row, "game": name, "category": name} for name in ("", "board/war/leaping/chess", "board/space/line")
    }
    (groups,) = (part for part in GgpReport(SETTINGS, rows).sections() if part.title == "Kinds of games")
    found = [(name, count) for name, count, *_ in groups.rows if "board" in name]
    assert sorted(found) == [("board/space/line", "1"), ("board/war/leaping", "1")]


class Faulty(GameTask):
    """Its process dies at Tic-Tac-Toe, it hangs at Nim, and its training fails at other games."""

    def run(self, report: Any, stop: Any) -> bool:
        if self.game == "tic_tac_toe":
            os.kill(os.getpid(), signal.SIGSEGV)
        if self.game == "nim":
            time.sleep(60)
        return super().run(report, stop)

    def _train(self, report: Any, stop: Any) -> bool:
        if self.game.startswith("nim("):
            raise ValueError(f"process {os.getpid()}")
        if self.game == "chess":  # its process has more than the limit from the start
            time.sleep(60)
        raise ValueError("a fault of the game")


def test_a_fault_or_a_dead_process_fails_only_its_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athenan_spiel.ggp.run.GameTask", Faulty)
    monkeypatch.setattr("athenan_spiel.ggp.run.SILENT_SECONDS", 2.0)
    settings = GgpSettings(name="bad", games=("tic_tac_toe", "nim", "hex(board_size=3)"), seconds=1.0)
    report = run_ggp(settings, tmp_path / "x", processes=1)
    reasons = {row["game"]: row["reason"] for row in report.failures}
    assert "signal 11" in reasons["tic_tac_toe"]
    assert reasons["nim"] == "its process made no progress for 2 s and was killed"
    assert "a fault of the game" in reasons["hex(board_size=3)"]
    assert report.complete


def test_each_game_has_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athenan_spiel.ggp.run.GameTask", Faulty)
    settings = GgpSettings(name="bad", games=("nim(pile_sizes=1;2)", "nim(pile_sizes=1;3)"))
    reasons = {row["reason"] for row in run_ggp(settings, tmp_path / "x", processes=1).failures}
    assert len(reasons) == 2, reasons


def test_a_game_that_needs_too_much_memory_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athenan_spiel.ggp.run.GameTask", Faulty)
    settings = GgpSettings(name="bad", games=("chess", "hex(board_size=3)"), memory=10**8)
    reasons = {row["game"]: row["reason"] for row in run_ggp(settings, tmp_path / "x", processes=1).failures}
    assert reasons["chess"] == "it needed more than 0.1 GB of memory"
    assert "a fault of the game" in reasons["hex(board_size=3)"]


def test_the_limit_of_memory_is_a_share_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athenan_spiel.ggp.task.memory", lambda: 8 * 10**9)
    assert memory_limit(SETTINGS, 4) == 2 * 10**9
    assert memory_limit(dataclasses.replace(SETTINGS, memory=10**9), 4) == 1.25 * 10**9
    monkeypatch.setattr("athenan_spiel.ggp.task.memory", lambda: None)
    assert memory_limit(SETTINGS, 4) is None


def test_the_report_is_written_while_games_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athenan_spiel.ggp.run.REPORT_SECONDS", 0.0)
    texts: list[str] = []

    def on_progress(game: str, progress: GameProgress) -> None:
        path = tmp_path / "x" / "report.md"
        texts.extend([path.read_text()] if path.exists() else [])

    settings = dataclasses.replace(SETTINGS, games=("tic_tac_toe",))
    run_ggp(settings, tmp_path / "x", processes=1, on_progress=on_progress)
    assert any("| `tic_tac_toe` | training |" in text for text in texts)
    assert any("| `tic_tac_toe` | games | 50% |" in text for text in texts)
    assert "## Running" not in (tmp_path / "x" / "report.md").read_text()


def test_a_game_for_one_player_fails_before_its_training(tmp_path: Path) -> None:
    task, phases = GameTask(tmp_path / "x", "catch", SETTINGS, 1), Recorder()
    assert task.run(functools.partial(phases, "a"), lambda: False)
    assert phases.phases == {"a": ["training", "failed"]}
    assert (
        "it is for one player, so it has no opponents" in json.loads((tmp_path / "x" / FAILURE).read_text())["reason"]
    )
    assert not (tmp_path / "x" / "run").exists()


def test_openings_that_do_not_suit_a_game_fail_before_its_training(tmp_path: Path) -> None:
    task = GameTask(tmp_path / "x", "tic_tac_toe", dataclasses.replace(SETTINGS, opening_plies=9), 1)
    assert task.run(lambda progress: None, lambda: False)
    assert "openings" in json.loads((tmp_path / "x" / FAILURE).read_text())["reason"]
    assert not (tmp_path / "x" / "run").exists()


def with_training(finished: Path, folder: Path, **changes: Any) -> GameTask:
    """The task of a game whose training is finished."""
    shutil.copytree(finished / "games" / "tic_tac_toe" / "run", folder / "run")
    return GameTask(folder, "tic_tac_toe", dataclasses.replace(SETTINGS, **changes), 1)


def test_a_stop_drops_the_game_in_progress(finished: Path, tmp_path: Path) -> None:
    task, phases = with_training(finished, tmp_path / "x", opponents=("uct@60s",)), Recorder()
    start = time.monotonic()
    assert not task.run(functools.partial(phases, "a"), lambda: time.monotonic() > start + 3)
    assert time.monotonic() < start + 50, "a move takes 60 s"
    assert not list((tmp_path / "x").glob("*.json"))


def test_a_long_game_reports_that_it_continues(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athenan_spiel.ggp.task.REPORT_SECONDS", 0.1)
    task, reports = with_training(finished, tmp_path / "x", opponents=("uct@60s",)), []
    assert not task.run(lambda progress: reports.append(progress), lambda: len(reports) > 5)
    assert [report.done for report in reports if report.phase == "games"] == [0.0] * len(reports[1:])


def test_games_without_a_result_are_a_failure(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def play_all(encounters: Any, on_result: Any, *, on_failure: Any, **options: Any) -> None:
        for index, encounter in enumerate(encounters):
            for fixture in encounter.matches:
                on_failure(index, fixture, "its process ended by signal 11 (SIGSEGV)" + 2000 * "!")

    monkeypatch.setattr("athenan_spiel.arena.tournament.play_all", play_all)
    assert with_training(finished, tmp_path / "x").run(lambda progress: None, lambda: False)
    row = read_row(tmp_path / "x", "tic_tac_toe")
    assert row is not None
    assert row["reason"].startswith("no game against an opponent was finished, as its process ended by signal 11")


def test_a_missing_opponent_is_a_failure(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = tournament.play_all

    def play_all(encounters: Any, on_result: Any, *, on_failure: Any, **options: Any) -> None:
        real(encounters[:1], on_result, on_failure=on_failure, **options)
        for index, encounter in enumerate(encounters[1:], 1):
            for fixture in encounter.matches:
                on_failure(index, fixture, "its process ended")

    monkeypatch.setattr(tournament, "play_all", play_all)
    task = with_training(finished, tmp_path / "x", opponents=("random", "mcts:1"))
    assert task.run(lambda progress: None, lambda: False)
    reason = json.loads((tmp_path / "x" / FAILURE).read_text())["reason"]
    assert reason == "no game against an opponent was finished, as its process ended"


def test_another_error_of_a_file_is_a_failure_of_the_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(*content: Any) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr("athenan_spiel.training.run_folder.write_checkpoint", write)
    assert GameTask(tmp_path / "x", "tic_tac_toe", SETTINGS, 1).run(lambda progress: None, lambda: False)
    assert "Invalid argument" in json.loads((tmp_path / "x" / FAILURE).read_text())["reason"]


def test_a_report_is_refused_while_the_series_runs(finished: Path) -> None:
    with GgpFolder(finished, SETTINGS).locked(), pytest.raises(ExperimentError, match="another process"):
        report_ggp(SETTINGS, finished)


@pytest.mark.parametrize(("count", "kept"), [(0, []), (3, [0, 1, 2]), (81, [*range(2, 81, 3)])])
def test_a_thinned_curve_ends_with_the_last_point(count: int, kept: list[int]) -> None:
    points: Any = [*range(count)]
    assert _thinned(points) == kept


def test_a_full_disk_is_no_failure_of_the_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(*content: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("athenan_spiel.training.run_folder.write_checkpoint", write)
    with pytest.raises(CheckpointError, match="No space left on device"):
        GameTask(tmp_path / "x", "tic_tac_toe", SETTINGS, 1).run(lambda progress: None, lambda: False)
    assert not (tmp_path / "x" / FAILURE).exists()


def test_a_training_without_a_checkpoint_starts_again(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "x" / "run").mkdir(parents=True)
    shutil.copy(finished / "games" / "tic_tac_toe" / "run" / "config.toml", tmp_path / "x" / "run")
    assert GameTask(tmp_path / "x", "tic_tac_toe", SETTINGS, 1).run(lambda progress: None, lambda: False)
    row = read_row(tmp_path / "x", "tic_tac_toe")
    assert row is not None
    assert 5 < row["branching"] < 7, "measured again"
    assert row["peak_megabytes"] is None, "another process may have begun"


def test_failed_games_and_forfeits_are_reported(finished: Path) -> None:
    failed = FailedMatch("tic_tac_toe", "athenan", "mcts", 0, "its process ended")
    standings: Any = SimpleNamespace(reasons={"mcts": (3, "it broke")}, failures=[failed, failed])
    lines = ["mcts forfeited 3 games, the first as it broke", "2 games had no result, the first as its process ended"]
    assert _problems(standings) == lines
    row = read_row(finished / "games" / "tic_tac_toe", "tic_tac_toe")
    assert row is not None
    assert (row["forfeits"], row["failed_games"], row["problems"]) == (0, 0, [])
    text = GgpReport(SETTINGS, {"a": {**row, "forfeits": 3, "failed_games": 2, "problems": lines}}).markdown()
    assert "| 0 | 5 |" in text, "cut, failed"
    assert f"| `{lines[0]}` |" in text


def test_a_training_of_another_game_is_refused(finished: Path, tmp_path: Path) -> None:
    task = dataclasses.replace(with_training(finished, tmp_path / "x"), game="pig")
    assert task.run(lambda progress: None, lambda: False)
    assert "belongs to the game 'tic_tac_toe()'" in json.loads((tmp_path / "x" / FAILURE).read_text())["reason"]


def test_links_in_the_folder_are_not_followed(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "x" / "games" / "tic_tac_toe"
    folder.mkdir(parents=True)
    (folder / "run").symlink_to(finished / "games" / "tic_tac_toe" / "run")
    (tmp_path / "x" / "series.json").write_text((finished / "series.json").read_text())
    with pytest.raises(ExperimentError, match="cannot be used"):
        run_ggp(SETTINGS, tmp_path / "x", processes=1)


def test_a_game_waits_for_the_process_of_a_killed_series(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, waits = with_training(finished, tmp_path / "x"), []
    with contextlib.ExitStack() as held:
        held.enter_context(locked(task.folder / ".lock"))
        monkeypatch.setattr("athenan_spiel.ggp.task.PATIENCE_SECONDS", 0.2)
        with pytest.raises(ExperimentError, match="another process works in"):
            task.run(lambda progress: None, lambda: False)
        assert not (task.folder / FAILURE).exists()

        def sleep(seconds: float) -> None:
            waits.append(seconds)
            held.close()

        monkeypatch.setattr("athenan_spiel.ggp.task.PATIENCE_SECONDS", 60.0)
        monkeypatch.setattr("athenan_spiel.ggp.task.time.sleep", sleep)
        assert task.run(lambda progress: None, lambda: False)
    assert waits
    assert (task.folder / RESULT).exists()


def test_failed_games_run_again_if_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[str] = []

    def do_tasks(tasks: Sequence[GameTask], *rest: Any, **options: Any) -> None:
        for task in tasks:
            runs.append(task.game)
            options["losses"].on_lost(task, "its process ended")

    monkeypatch.setattr("athenan_spiel.ggp.run.do_tasks", do_tasks)
    for retry, expected in ((False, 2), (False, 2), (True, 4)):
        run_ggp(SETTINGS, tmp_path / "x", processes=1, retry=retry)
        assert len(runs) == expected
    assert not list((tmp_path / "x").rglob(RESULT))
    assert len(list((tmp_path / "x").rglob(FAILURE))) == 2


@pytest.mark.parametrize(("lacking", "has_run", "runs"), [(0, True, 0), (1, True, 1), (1, False, 0)])
def test_games_without_a_result_are_played_if_asked(
    lacking: int, has_run: bool, runs: int, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "x" / "games" / "tic_tac_toe"
    folder.mkdir(parents=True)
    shutil.copy(finished / "series.json", tmp_path / "x")
    row = json.loads((finished / "games" / "tic_tac_toe" / RESULT).read_text())
    (folder / RESULT).write_text(json.dumps({**row, "failed_games": lacking}))
    if has_run:
        (folder / "run").mkdir()
    started: list[GameTask] = []
    monkeypatch.setattr("athenan_spiel.ggp.run.do_tasks", lambda tasks, *rest, **options: started.extend(tasks))
    run_ggp(SETTINGS, tmp_path / "x", processes=1, retry=True)
    assert [task.game for task in started] == ["tic_tac_toe"] * runs + ["kuhn_poker"]


def test_a_sample_is_drawn_equally_from_each_source() -> None:
    games = drawn_games(40, ("openspiel", "ludii"), 1)
    assert games == drawn_games(40, ("openspiel", "ludii"), 1) != drawn_games(40, ("openspiel", "ludii"), 2)
    assert len(set(games)) == 40
    assert sum(game.startswith("ludii(game=") for game in games) == 20
    supported = {game.short_name for game in all_games() if game.supported and game.players[1] > 1}
    assert set(drawn_games(len(supported), ("openspiel",), 0)) == supported
    many = drawn_games(200, ("openspiel", "ludii"), 0)
    assert supported < set(many), "a source with fewer games gives all"
    with pytest.raises(ConfigError, match="count must be at most"):
        drawn_games(10_000, ("ludii",), 0)


FILE = """\
name = "small"
games = ["connect_four", "hex(board_size=7)"]
seconds = 60
move_seconds = 0.2

[seconds_of]
"hex(board_size=7)" = 600

[draw]
count = 4
sources = ["openspiel"]
seed = 3
"""


def test_a_file_names_games_times_and_a_draw(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(FILE)
    settings = read_ggp(tmp_path / "a.toml")
    assert settings.games[:2] == ("connect_four", "hex(board_size=7)")
    assert set(settings.games[2:]) <= set(drawn_games(4, ("openspiel",), 3))
    assert [settings.training_seconds(game) for game in settings.games[:2]] == [60, 600]
    assert settings.opponents_of("connect_four") == ("mcts@0.2s",)
    assert settings.opponents_of("ludii(game=Hex)") == ("ludii:UCT@0.2s",)
    assert settings.opponents_of("ludii(game=Hex)", "UCT") == ("ludii:UCT@0.2s",)
    assert settings.opponents_of("ludii(game=Hex)", "MC-GRAVE") == ("ludii:UCT@0.2s", "ludii:Ludii AI@0.2s")


@pytest.mark.parametrize(
    ("opponents", "pool"), [((), ["ludii:UCT@0.1s", "ludii:Ludii AI@0.1s"]), (("random",), ["random"])]
)
def test_the_agent_meets_the_recommended_ai(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, opponents: tuple[str, ...], pool: list[str]
) -> None:
    game = "ludii(game=Hex)"
    monkeypatch.setattr("athenan_spiel.ggp.task.read_header", lambda path: SimpleNamespace(game="tic_tac_toe"))
    monkeypatch.setattr("athenan_spiel.ggp.task.recommended_ai", lambda game: "MC-GRAVE")
    settings = GgpSettings(name="a", games=(game,), opponents=opponents)
    assert list(tournament_of(settings, game, tmp_path).pool.values()) == pool


def test_a_file_may_name_more_games_than_an_experiment(tmp_path: Path) -> None:
    games = [f"nim(pile_sizes=1;{size})" for size in range(1, 151)]
    (tmp_path / "a.toml").write_text(f'name = "many"\ngames = {json.dumps(games)}\n')
    assert read_ggp(tmp_path / "a.toml").games == tuple(games)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("seconds = 60", "secnds = 60", "line 3: secnds is not a setting: did you mean 'seconds'?"),
        ("seconds = 60", "seconds = 0", "line 3: seconds must be more than zero, got 0"),
        ('"hex(board_size=7)" = 600', '"hex" = 600', "seconds_of names 'hex'"),
        ('"hex(board_size=7)" = 600', '"hex(board_size=7)" = true', "seconds_of must be a table of numbers"),
        ('"hex(board_size=7)" = 600', '"hex(board_size=7)" = 0', "seconds_of must be above 0, got 0"),
        ("count = 4", 'count = "4"', "line 10: draw.count must be a whole number"),
        ('["openspiel"]', '["openspeil"]', "draw.sources must be some of openspiel, ludii, got"),
        ('["connect_four", "hex(board_size=7)"]', '["chess", "chess"]', "must be a list of different game strings"),
    ],
)
def test_mistakes_in_a_file_are_a_line(old: str, new: str, problem: str, tmp_path: Path, capsys: Out) -> None:
    (tmp_path / "a.toml").write_text(FILE.replace(old, new))
    assert problem in complaint(capsys, "ggp", str(tmp_path / "a.toml"), "--check")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "expected a file, games or --sample, got none of them"),
        (["tic_tac_toe", "--from", "ludii"], "--from names the sources of --sample, which is missing"),
        (["tic_tac_toe", "tic_tac_toe"], "games must differ, got 'tic_tac_toe' twice"),
        (["tic_tac_toe", "--matches", "3"], "matches must be even"),
        (["tic_tac_toe", "--processes", "0"], "processes must be at least 1, got 0"),
        (["tic_tac_toe", "--sample", "100000"], "count must be at most"),
        (["no.toml"], "no.toml"),
        (["tic_tac_toe", "--time", "1s", "--opponents", "mtcs:100"], "did you mean 'mcts:100'?"),
        (["tic_tac_toe", "--time", "1s", "--opponents", "gtp:gnugo --mode gtp@1s"], "gnugo --mode gtp"),
        (["tic_tac_toe", "--check", "--report"], "expected --check or --report, got both"),
    ],
)
def test_mistakes_on_the_command_line_are_a_line(
    words: list[str], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    monkeypatch.chdir(tmp_path)
    assert problem in complaint(capsys, "ggp", *words)
    assert not list(tmp_path.iterdir())


def test_the_command_prints_the_table(finished: Path, capsys: Out) -> None:
    words = ["ggp", *SETTINGS.games, "--time", "1s", "--matches", "2", "--move-time", "0.01s", "--opponents", "random"]
    assert main([*words, "--folder", str(finished), "--report"]) == 2, "the name is not that of the file"
    assert "another series" in capsys.readouterr().err
    assert main([*words, "--check"]) == 0
    said = capsys.readouterr().err
    assert "1 of 2 games can be trained" in said
    assert "kuhn_poker is not supported" in said


def test_a_check_loads_one_of_the_tested_games_of_ludii(monkeypatch: pytest.MonkeyPatch, capsys: Out) -> None:
    loaded: list[str] = []
    monkeypatch.setattr("athenan_spiel.games.load_game", loaded.append)
    games = ["ludii(game=Hex)", "tic_tac_toe", "ludii(game=Surakarta)", "ludii(game=Hex,options=Board Size/9x9)"]
    assert main(["ggp", *games, "--check"]) == 0
    assert loaded == ["ludii(game=Hex)", "tic_tac_toe", "ludii(game=Hex,options=Board Size/9x9)"]
    assert "4 of 4 games can be trained" in capsys.readouterr().err


def test_the_published_table_repeats_the_results() -> None:
    folder = ROOT / "docs" / "experiments" / "hundred"
    rows = {row["game"]: row for row in json.loads((folder / "results.json").read_text())["games"]}
    report = GgpReport(read_ggp(ROOT / "examples" / "ggp" / "hundred.toml"), rows)
    assert report.table() in (ROOT / "docs" / "ggp.md").read_text()
    files = report.files()
    for path in folder.iterdir():
        assert path.read_text() == files[path.name]


def test_the_example_has_all_games_of_openspiel_and_sixty_of_ludii() -> None:
    games = read_ggp(ROOT / "examples" / "ggp" / "hundred.toml").games
    mine = [game for game in games if not game.startswith("ludii(")]
    supported = {game.short_name for game in all_games() if game.supported and game.players[1] > 1}
    assert (len(mine), len(games)) == (44, 104)
    loaded = [load_game(game) for game in mine]
    names = {game.get_type().short_name for game in loaded}
    assert {name for name in supported if not name.startswith("python_")} <= names  # other tests import these
    parameters = [(game.get_type().short_name, sorted(game.get_parameters().items())) for game in loaded]
    assert len(set(map(repr, parameters))) == len(mine), "a variant has the default parameters"
