"""The benchmark of the defaults puts seeds together as it says, and trains no run that is there."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from athenan_spiel.play.intervals import share_interval
from athenan_spiel.play.series import Tally


@pytest.fixture
def strength() -> ModuleType:
    return importlib.import_module("strength")


def test_seeds_of_one_opening_are_one_group(
    strength: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    points = [{(0,): [1.0, 0.5], (1,): [0.0, 0.0]}, {(1,): [1.0, 0.0], (2,): [1.0, 1.0]}]
    series = [SimpleNamespace(tally=Tally(1, 1, 2), points_by_opening=by_opening) for by_opening in points]
    monkeypatch.setattr(strength, "train", lambda _game, folder, *_words: folder)
    monkeypatch.setattr(strength, "measured", lambda *_: {})
    monkeypatch.setattr(strength, "played", lambda *_: series.pop(0))
    monkeypatch.setattr(sys, "argv", ["strength.py", "hex(board_size=5)", "--seeds", "0", "1"])
    strength.report(*strength.read_arguments(), tmp_path)
    lines = capsys.readouterr().out.splitlines()
    together = [[1.0, 0.5], [0.0, 0.0, 1.0, 0.0], [1.0, 1.0]]
    shares = [share_interval(points[0].values()), share_interval(points[1].values()), share_interval(together)]
    printed = [line.partition(": ")[2].partition(";")[0] for line in lines if "points against" in line]
    assert printed == [strength.percent(share) for share in shares]
    assert lines[-2] == "seeds 0, 1 together"


def test_the_folder_of_a_run_names_its_options(
    strength: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders: list[str] = []
    monkeypatch.setattr(strength, "train", lambda _game, folder, *_words: folders.append(folder.name) or folder)
    monkeypatch.setattr(strength, "measured", lambda *_: {})
    for options in ([], ["--", "--network.filters", "64"]):
        monkeypatch.setattr(sys, "argv", ["strength.py", "hex(board_size=5)", "--seeds", "0", "--against", *options])
        strength.report(*strength.read_arguments(), tmp_path)
    assert folders == ["hex_board_size_5-3m-0", "hex_board_size_5_network_filters_64-3m-0"]


@pytest.mark.parametrize("is_there", [False, True])
def test_a_run_that_is_there_is_not_trained(
    strength: ModuleType, is_there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []

    def noted(command: list[str], **_options: Any) -> None:
        commands.append(command)

    monkeypatch.setattr(strength.subprocess, "run", noted)
    run = tmp_path / "run"
    if is_there:
        run.mkdir()
    assert strength.train("hex(board_size=5)", run, "--time", "3m") == run
    words = ["train", "hex(board_size=5)", "--time", "3m", "--quiet", "--folder", str(run)]
    assert commands == ([] if is_there else [[sys.executable, "-m", "athenan_spiel", *words]])


def test_games_without_solved_positions_have_matches_alone(strength: ModuleType) -> None:
    assert strength.measured("hex(board_size=7)", "random", None) == {}
    kept = strength.measured("connect_four", "random", 2)
    assert {source: len(measurement.kept) for source, measurement in kept.items()} == dict.fromkeys(kept, 2)
    assert list(kept) == ["random", "mcts", "self-play"]
