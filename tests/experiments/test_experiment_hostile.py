"""Untrusted experiment folders: no link is followed, and all content is checked."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from experiment_runs import TINY, rows, run_tiny, tiny_file

from athenan_spiel.cli.main import main
from athenan_spiel.errors import AthenanError, CheckpointError, ExperimentError
from athenan_spiel.experiments import report
from athenan_spiel.experiments.plan import Plan
from athenan_spiel.training.checkpoints import signed

pytestmark = pytest.mark.slow(reason="tries hostile experiment folders")

Out = pytest.CaptureFixture[str]


@pytest.fixture
def copied(tiny_experiment: Path, tmp_path: Path) -> Path:
    """Copy of a finished experiment's folder."""
    shutil.copytree(tiny_experiment, tmp_path / "tiny")
    return tmp_path / "tiny"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder outside the experiment, with a file."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "letter.txt").write_text("dear")
    return tmp_path / "outside"


def state_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Contents and modification times of a folder."""
    return {str(item): (item.read_bytes(), item.stat().st_mtime_ns) for item in folder.rglob("*") if item.is_file()} | {
        str(folder): (b"", folder.stat().st_mtime_ns)
    }


def with_first(folder: Path, **changes: Any) -> None:
    """Change keys of the first saved game."""
    lines = (folder / "matches.jsonl").read_text().splitlines(keepends=True)
    lines[0] = json.dumps(json.loads(lines[0]) | changes) + "\n"
    (folder / "matches.jsonl").write_text("".join(lines))


UBFM = "ubfm (repetition 1, stage 2)"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"game": "chess"}, "do not meet at 'chess' in the experiment"),
        ({"agents": ["nobody (repetition 1, stage 2)", UBFM]}, "do not meet at 'tic_tac_toe' in the experiment"),
        ({"agents": [UBFM, UBFM]}, "do not meet at 'tic_tac_toe' in the experiment"),
        ({"agents": ["descent (repetition 3, stage 2)", UBFM]}, "do not meet at 'tic_tac_toe' in the experiment"),
        ({"agents": ["descent (repetition 1, stage 0)", UBFM]}, "do not meet at 'tic_tac_toe' in the experiment"),
        ({"number": 2}, "number must be less than 2, got 2"),
    ],
)
def test_lines_with_foreign_games_are_reported(copied: Path, changes: dict[str, Any], reason: str) -> None:
    with_first(copied, **changes)
    with pytest.raises(ExperimentError) as raised:
        report(tiny_file(), copied)
    said = str(raised.value)
    assert said.startswith(f"{copied / 'matches.jsonl'}, line 1 is not a game of the experiment")
    assert reason in said
    assert said.endswith("remove the line, and the game is played again")
    assert "\n" not in said


def test_a_folder_of_an_older_version_is_refused(copied: Path) -> None:
    (copied / "matches.jsonl").write_text('{"game": "tic_tac_toe", "variant_a": "descent", "points_a": 1.0}\n')
    with pytest.raises(ExperimentError, match="line 1 is not a saved game: expected an object of format, game, agents"):
        report(tiny_file(), copied)


def test_an_experiment_without_newer_settings_can_continue(copied: Path) -> None:
    description = json.loads((copied / "experiment.json").read_text())
    for variant in description["experiment"]["variants"]:
        del variant["training"]["keep"], variant["training"]["milestone_matches"], variant["play"]["batched"]
    del description["experiment"]["protocol"]["spacing"]
    (copied / "experiment.json").write_text(json.dumps(description))
    assert report(tiny_file(), copied).complete
    description["experiment"]["variants"][0]["training"]["keep"] = 3
    (copied / "experiment.json").write_text(json.dumps(description))
    with pytest.raises(ExperimentError, match=r"there variants\.\w+\.training\.keep is 3, and here 2"):
        report(tiny_file(), copied)


def linked(path: Path, outside: Path) -> None:
    """Move `path` outside and replace it by a link."""
    if path.is_dir():
        shutil.copytree(path, outside / path.name)
        shutil.rmtree(path)
    else:
        shutil.copy2(path, outside / path.name) if path.exists() else None
        path.unlink(missing_ok=True)
    path.symlink_to(outside / path.name)


TRAINING = Plan(tiny_file().experiment).trainings()[0].folder


@pytest.mark.parametrize(
    "name",
    [
        "experiment.json",
        "matches.jsonl",
        "trainings",
        str(TRAINING.parent.parent),
        str(TRAINING.parent),
        str(TRAINING),
        f"{TRAINING}/stages",
        f"{TRAINING}/stages/1",
        f"{TRAINING}/stages/2",
        f"{TRAINING}/stages/2/state.json",
        f"{TRAINING}/stages/2/weights.safetensors",
    ],
)
def test_a_link_in_the_folder_is_not_followed(copied: Path, outside: Path, name: str) -> None:
    linked(copied / name, outside)
    before = state_of(outside)
    # Without matches, networks are read; without the last stage, a training goes on.
    if name != "matches.jsonl":
        (copied / "matches.jsonl").write_text("")
    with pytest.raises(AthenanError, match="link, which is not followed") as raised:
        run_tiny(copied)
    assert "\n" not in str(raised.value)
    assert state_of(outside) == before


def test_the_folder_itself_may_be_a_link(copied: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(copied)
    assert report(tiny_file(), tmp_path / "link").complete


def signed_again(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a state.json and sign it again."""
    state = json.loads(path.read_text())
    change(state)
    path.write_bytes(signed(state))


def other_outcome(state: dict[str, Any]) -> None:
    state["config"]["outcome"] = "evil:outcome"


def other_game(state: dict[str, Any]) -> None:
    state["game"] = "connect_four()"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (other_outcome, "has other training settings than the experiment: remove it to train again"),
        (other_game, r"belongs to the game 'connect_four\(\)', the experiment expects 'tic_tac_toe\(\)': remove it"),
    ],
)
def test_networks_of_other_trainings_are_refused(
    copied: Path, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    signed_again(copied / TRAINING / "stages" / "2" / "state.json", change)
    (copied / "matches.jsonl").write_text("")
    with pytest.raises(CheckpointError, match=message):
        run_tiny(copied)


def test_other_trainings_are_not_resumed(copied: Path) -> None:
    shutil.rmtree(copied / TRAINING / "stages")
    path = copied / TRAINING / "config.toml"
    text = re.sub('^outcome = ".*"$', 'outcome = "evil:outcome"', path.read_text(), flags=re.MULTILINE)
    assert "evil" in text
    path.write_text(text)
    with pytest.raises(CheckpointError, match="has other training settings than the experiment: remove it"):
        run_tiny(copied)


@pytest.mark.parametrize("name", ["report.md", "final.csv", "final.png", "experiment.toml", ".writing-report.md"])
def test_written_files_replace_links(copied: Path, outside: Path, name: str) -> None:
    (copied / name).unlink(missing_ok=True)
    (copied / name).symlink_to(outside / "letter.txt")
    report(tiny_file(), copied)
    assert (outside / "letter.txt").read_text() == "dear"
    assert name == "experiment.toml" or not (copied / name).is_symlink()


def test_games_are_not_written_through_links(copied: Path, outside: Path) -> None:
    path = copied / "matches.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:6]))
    (copied / ".writing-matches.jsonl").symlink_to(outside / "letter.txt")
    run_tiny(copied)
    assert (outside / "letter.txt").read_text() == "dear"
    assert len(rows(copied)) == 112


def test_a_file_in_place_of_a_folder_is_reported(copied: Path) -> None:
    shutil.rmtree(copied / "trainings")
    (copied / "trainings").write_text("")
    with pytest.raises(ExperimentError, match="trainings cannot be used: it is no folder"):
        run_tiny(copied)


def test_the_command_refuses_a_name_outside_runs(tmp_path: Path, capsys: Out, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.toml").write_text(TINY.replace('"tiny"', '"../../evil"'))
    assert main(["experiment", "evil.toml"]) == 2
    assert capsys.readouterr().err.startswith("athenan experiment: evil.toml, line 1: name must not contain a slash")
    assert os.listdir(tmp_path) == ["evil.toml"]


@pytest.mark.parametrize("processes", ["0", "-1", "100000", "9" * 4_000])
def test_the_number_of_processes_is_bounded(tmp_path: Path, capsys: Out, processes: str) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    words = ["experiment", str(tmp_path / "tiny.toml"), "--folder", str(tmp_path / "x"), "--processes", processes]
    for addition in ([], ["--check"]):
        assert main([*words, *addition]) == 2
        said = capsys.readouterr().err
        assert "processes must be at " in said
        assert len(said) < 400
    assert not (tmp_path / "x").exists()
