"""The best network of a run: it outlives the checkpoints, and a kill leaves the old one or the new one."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from run_folders import newest, two_checkpoints

from athenan_spiel.errors import CheckpointError
from athenan_spiel.training.best import BEST, RECORD, REPLACED, best_network, replace_best
from athenan_spiel.training.checkpoints import OPTIMIZER, REPLAY, read_header, read_weights
from athenan_spiel.training.loading import agent_path, game_of
from athenan_spiel.training.run_folder import RunFolder


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return two_checkpoints(tmp_path / "run")


def network(folder: RunFolder, matches: int) -> Path:
    """A copy of what of the checkpoint after `matches` matches can be played."""
    copy = folder.path / ".writing-network"
    shutil.copytree(folder.checkpoint(matches), copy)
    for name in (OPTIMIZER, REPLAY):
        (copy / name).unlink()
    return copy


def matches_of(path: Path) -> int:
    return read_header(path).counters.matches


def test_the_best_network_is_named(folder: RunFolder) -> None:
    best = replace_best(folder.path, network(folder, 4), b'{"points": 0.5}')
    assert best == folder.path / BEST == agent_path(folder.path, "best") == agent_path(best)
    assert sorted(path.name for path in best.iterdir()) == [RECORD, "state.json", "weights.safetensors"]
    assert matches_of(best) == 4
    assert game_of(folder.path, "best") == "tic_tac_toe()"
    assert json.loads((best / RECORD).read_text()) == {"points": 0.5}
    replace_best(folder.path, network(folder, 8), b"{}")
    assert matches_of(best) == 8
    assert read_weights(best).keys() == read_weights(newest(folder)).keys()
    assert {path.name for path in folder.path.iterdir()} == {".lock", "config.toml", "checkpoints", BEST}


def test_a_run_without_a_best_network_says_so(folder: RunFolder) -> None:
    with pytest.raises(CheckpointError, match=r"has no best network: .*evaluation.every_matches.*newest checkpoint"):
        agent_path(folder.path, "best")
    with pytest.raises(CheckpointError, match="checkpoint must be a whole number, got 'worst'"):
        agent_path(folder.path, "worst")  # type: ignore[arg-type]


@pytest.mark.parametrize("step", range(10))
def test_a_kill_at_any_step_leaves_a_whole_one(folder: RunFolder, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Each flush and rename in turn becomes the last thing that the process did."""
    replace_best(folder.path, network(folder, 4), b"{}")
    other, done = network(folder, 8), 0

    class KilledError(BaseException):
        pass

    def stepping(holder: object, name: str) -> None:
        original = getattr(holder, name)

        def until_killed(*arguments: object, **options: object) -> object:
            nonlocal done
            done += 1
            if done > step:
                raise KilledError
            return original(*arguments, **options)

        monkeypatch.setattr(holder, name, until_killed)

    for holder, name in ((os, "fsync"), (os, "open"), (shutil, "rmtree"), (Path, "rename")):
        stepping(holder, name)
    try:
        replace_best(folder.path, other, b"{}")
    except KilledError:
        pass
    else:
        assert step > 7, "all steps were taken"
    monkeypatch.undo()
    assert matches_of(best_network(folder.path)) in (4, 8), "found as it lies"
    with folder.locked():
        folder.remove_leftovers()
        assert matches_of(folder.path / BEST) in (4, 8)
        assert not list(folder.path.glob(".writing*"))


def test_between_the_two_renames_the_old_one_is_found(folder: RunFolder) -> None:
    best = replace_best(folder.path, network(folder, 4), b"{}")
    best.rename(folder.path / REPLACED)
    assert matches_of(agent_path(folder.path, "best")) == 4
    with folder.locked():
        folder.remove_leftovers()
        assert matches_of(best) == 4
        assert not (folder.path / REPLACED).exists()


def test_a_link_in_its_place_is_not_followed(folder: RunFolder, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(folder.checkpoint(4), elsewhere)
    (folder.path / BEST).symlink_to(elsewhere)
    with pytest.raises(CheckpointError, match="has no best network"):
        agent_path(folder.path, "best")
    with pytest.raises(CheckpointError, match=r"best: it is a link"), folder.locked():
        pass
    with pytest.raises(OSError, match="it is a link"):
        replace_best(folder.path, network(folder, 8), b"{}")
    assert matches_of(elsewhere) == 4


def test_a_damaged_one_is_told(folder: RunFolder) -> None:
    best = replace_best(folder.path, network(folder, 4), b"{}")
    os.truncate(best / "weights.safetensors", 10)
    with pytest.raises(CheckpointError, match=r"weights.safetensors .* does not match its checksum"):
        read_weights(best)
