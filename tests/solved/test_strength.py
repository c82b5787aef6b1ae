"""The benchmark of the defaults puts seeds together as it says, and trains no run that is there."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from athenan_spiel.arena.statistics import share_interval


@pytest.fixture
def strength() -> ModuleType:
    return importlib.import_module("strength")


def test_seeds_of_one_opening_are_one_group(strength: ModuleType) -> None:
    together = strength.Together()
    first = together.add("points", {(0,): [1.0, 0.5], (1,): [0.0, 0.0]})
    assert first == share_interval([[1.0, 0.5], [0.0, 0.0]])
    together.add("points", {(1,): [1.0, 0.0], (2,): [1.0, 1.0]})
    together.add("kept", {0: [1.0]})
    points = share_interval([[1.0, 0.5], [0.0, 0.0, 1.0, 0.0], [1.0, 1.0]])
    assert together.shares() == {"points": points, "kept": share_interval([[1.0]])}


@pytest.mark.parametrize("is_there", [False, True])
def test_a_run_that_is_there_is_not_trained(
    strength: ModuleType, is_there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []

    def noted(command: list[str], **_options: Any) -> None:
        commands.append(command)

    monkeypatch.setattr(strength.subprocess, "run", noted)
    run = tmp_path / "hex_board_size_5-3m-4"
    if is_there:
        run.mkdir()
    assert strength.trained("hex(board_size=5)", "3m", 4, tmp_path) == run
    words = ["train", "hex(board_size=5)", "--time", "3m", "--seed", "4", "--folder", str(run), "--quiet"]
    assert commands == ([] if is_there else [[sys.executable, "-m", "athenan_spiel", *words]])


def test_games_without_solved_positions_have_matches_alone(strength: ModuleType) -> None:
    assert strength.measured("hex(board_size=7)", "random", None) == {}
    kept = strength.measured("connect_four", "random", 2)
    assert {source: len(measurement.kept) for source, measurement in kept.items()} == dict.fromkeys(kept, 2)
    assert list(kept) == ["random", "mcts", "self-play"]
