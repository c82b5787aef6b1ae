"""Going on with a run: for longer, with other settings, and from checkpoints that do not fit."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
from training_runs import TIC_TAC_TOE, TINY, edit_settings, state_of

from athenan_spiel.errors import CheckpointError, ConfigError
from athenan_spiel.training import resume, train
from athenan_spiel.training.checkpoints import read_header, read_weights
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.plan import plan_run
from athenan_spiel.training.run_folder import RunFolder


def test_more_matches_take_the_place_of_both_limits(tiny_run: Path, tmp_path: Path) -> None:
    run = train(TIC_TAC_TOE, dataclasses.replace(TINY, matches=3, seconds=500.0), tmp_path / "run")
    again = resume(run.folder)
    assert (again.matches, again.reason) == (3, "matches")
    more = resume(run.folder, more_matches=9)
    assert (more.matches, more.config.matches, more.config.seconds) == (12, 12, None)
    assert RunFolder(run.folder).settings()[1] == more.config
    assert state_of(more.checkpoint) == state_of(tiny_run / "checkpoints" / "000012")


@pytest.mark.parametrize("more", [{"more_matches": 0}, {"more_seconds": -1.0}, {"more_seconds": float("nan")}])
def test_more_must_be_more(tiny_run: Path, more: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"more_\w+ must be (more than zero|at least 1), got"):
        resume(tiny_run, **more)


def test_a_run_can_go_on_with_another_search(tmp_path: Path) -> None:
    run = train(TIC_TAC_TOE, TINY, tmp_path / "run")
    edit_settings(run.folder, "iterations = 3", "iterations = 5")
    more = resume(run.folder, more_matches=3)
    assert more.config.search.iterations == 5
    assert read_header(more.checkpoint).config == more.config


def test_a_run_can_go_on_with_another_learning_rate_and_memory(tmp_path: Path) -> None:
    run = train(TIC_TAC_TOE, TINY, tmp_path / "run")
    edit_settings(run.folder, "learning_rate = 0.001", "learning_rate = 1e-9")
    edit_settings(run.folder, "matches = 5\nduplication", "matches = 2\nduplication")
    before = read_weights(run.checkpoint)
    more = resume(run.folder, more_matches=3)
    now = read_weights(more.checkpoint)
    assert all(torch.allclose(before[name], now[name], atol=1e-6) for name in before)
    checkpoint = RunFolder(run.folder).load()
    assert checkpoint is not None
    assert len(checkpoint.replay["drawn"]) == 2


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("neurons = 16", "neurons = 17", "network"),
        ('method = "stratified"', 'method = "plain"', "replay.method"),
        ("seed = 0", "seed = 1", "seed"),
        ('outcome = "additive_depth"', 'outcome = "gain"', "outcome"),
        ('game = "tic_tac_toe()"', 'game = "connect_four()"', "game"),
    ],
)
def test_what_a_checkpoint_depends_on_must_not_be_edited(tmp_path: Path, old: str, new: str, name: str) -> None:
    run = train(TIC_TAC_TOE, dataclasses.replace(TINY, matches=3), tmp_path / "run")
    edit_settings(run.folder, old, new)
    with pytest.raises(ConfigError, match=rf"config.toml: {name} must stay .* got .*: change it back"):
        resume(run.folder)


def test_only_runs_are_resumed(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="expected the folder of a run"):
        resume(tmp_path)


def test_a_run_killed_before_its_first_checkpoint_begins_again(
    tmp_path: Path, tiny_run: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = RunFolder(tmp_path / "run")
    with folder.locked():
        folder.write_settings(str(TIC_TAC_TOE), TINY)
    assert state_of(resume(folder.path).checkpoint) == state_of(tiny_run / "checkpoints" / "000012")
    assert f"the run in {str(folder.path)!r} has no checkpoint and no games yet: it starts from" in caplog.text


def test_a_checkpoint_that_does_not_fit_is_refused(tiny_run: Path) -> None:
    checkpoint = RunFolder(tiny_run).load()
    assert checkpoint is not None
    wider = dataclasses.replace(TINY, network=dataclasses.replace(TINY.network, neurons=17))
    with pytest.raises(CheckpointError, match="the checkpoint's weights do not fit") as error:
        LearnerSide(plan_run(TIC_TAC_TOE, wider, header=checkpoint.header), checkpoint)
    assert len(str(error.value).splitlines()) == 1
    for change in ({"matches": {}}, {}):
        header = dataclasses.replace(checkpoint.header, generators=change)
        with pytest.raises(CheckpointError, match="the checkpoint does not fit this run"):
            LearnerSide(plan_run(TIC_TAC_TOE, TINY, header=header), dataclasses.replace(checkpoint, header=header))
    sizes = checkpoint.replay["shapes"].copy()
    sizes[:, 1] -= 1  # as many bytes a row, one number less
    foreign = dataclasses.replace(checkpoint, replay=checkpoint.replay | {"shapes": sizes})
    with pytest.raises(CheckpointError, match="its replay contains states of 35 numbers, expected 36"):
        LearnerSide(plan_run(TIC_TAC_TOE, TINY, header=foreign.header), foreign)
