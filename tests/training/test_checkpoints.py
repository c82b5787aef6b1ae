"""A checkpoint: what is written comes back, and what is damaged, foreign or forged is said in a line or two."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from run_folders import GAME, edit_state, newest, sample, sha256, truncate, two_checkpoints

from athenan_spiel.errors import CheckpointError
from athenan_spiel.training.checkpoints import read_checkpoint, read_header, read_weights
from athenan_spiel.training.run_folder import RunFolder


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return two_checkpoints(tmp_path / "run")


def test_a_checkpoint_comes_back_as_it_was(folder: RunFolder) -> None:
    written, read = sample(8), folder.load()
    assert read is not None
    assert read.header == written.header
    assert {name: t.numpy().tobytes() for name, t in read.weights.items()} == {
        name: t.numpy().tobytes() for name, t in written.weights.items()
    }
    assert str(read.optimizer) == str(written.optimizer)
    assert read.replay.keys() == written.replay.keys()
    assert all(np.array_equal(read.replay[name], array) for name, array in written.replay.items())
    assert all(read.replay[name].dtype == array.dtype for name, array in written.replay.items())


def test_state_says_format_versions_and_checksums(folder: RunFolder) -> None:
    state = json.loads((newest(folder) / "state.json").read_text())
    assert state["version"] == 3
    assert {"athenan_spiel", "torch", "open_spiel", "numpy", "python"} <= state["libraries"].keys()
    assert state["sha256"].keys() == {"weights.safetensors", "optimizer.pt", "replay.npz"}
    assert state["game"] == GAME


def test_a_header_can_be_brought_up_to_date(folder: RunFolder) -> None:
    header = sample(8).header
    later = dataclasses.replace(header, counters=dataclasses.replace(header.counters, seconds=99.0))
    folder.save_header(newest(folder), later)
    read = folder.load()
    assert read is not None
    assert read.header == later
    assert sorted(path.name for path in newest(folder).iterdir()) == [
        "optimizer.pt",
        "replay.npz",
        "state.json",
        "weights.safetensors",
    ]


@pytest.mark.parametrize("name", ["weights.safetensors", "optimizer.pt", "replay.npz"])
def test_a_truncated_file_is_noticed_and_the_older_checkpoint_named(folder: RunFolder, name: str) -> None:
    truncate(newest(folder) / name)
    with pytest.raises(CheckpointError) as error:
        folder.load()
    first, second = str(error.value).splitlines()
    assert "000008 is damaged" in first
    assert f"{name} (" in first
    assert "does not match its checksum" in first
    assert second.endswith(f"000004 is whole: go on from there with athenan resume {folder.path} --from 4")
    shutil.rmtree(newest(folder))
    read = folder.load()
    assert read is not None
    assert read.header.counters.matches == 4


def test_a_truncated_state_is_noticed(folder: RunFolder) -> None:
    truncate(newest(folder) / "state.json")
    with pytest.raises(CheckpointError, match=r"state.json is not valid JSON \(\d+ bytes: .*\); it may be truncated"):
        folder.load()


@pytest.mark.parametrize("name", ["weights.safetensors", "optimizer.pt", "replay.npz"])
def test_a_single_flipped_bit_is_noticed_and_the_older_checkpoint_named(folder: RunFolder, name: str) -> None:
    path = newest(folder) / name
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for bit in rng.choice(8 * len(whole), 100).tolist():
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        with pytest.raises(CheckpointError, match=rf"{name} \(\d+ bytes\) does not match .*\n.* --from 4"):
            folder.load()


def test_weights_that_are_not_finite_are_damage(folder: RunFolder) -> None:
    """They come of no training: a learning phase that would leave any is an error."""
    checkpoint = sample(12)
    next(iter(checkpoint.weights.values())).view(-1)[0] = np.nan
    with folder.locked():
        folder.save(checkpoint)
    with pytest.raises(CheckpointError, match=r"000012 is damaged: weights.safetensors holds numbers .*\n.*--from 8"):
        folder.load()
    with pytest.raises(CheckpointError, match="infinite or NaN"):
        read_weights(newest(folder))


def test_where_no_checkpoint_is_whole_none_is_named(folder: RunFolder) -> None:
    for path in folder.checkpoints():
        truncate(path / "replay.npz")
    with pytest.raises(CheckpointError) as error:
        folder.load()
    assert len(str(error.value).splitlines()) == 1


def test_a_missing_file_is_noticed(folder: RunFolder) -> None:
    (newest(folder) / "optimizer.pt").unlink()
    with pytest.raises(CheckpointError, match=r"optimizer.pt cannot be read \(No such file or directory\)"):
        read_checkpoint(newest(folder))
    (newest(folder) / "state.json").unlink()
    with pytest.raises(CheckpointError, match=r"state.json cannot be read"):
        read_header(newest(folder))


@pytest.mark.parametrize("content", ["[]", "{}", '{"format": "another program"}'])
def test_a_foreign_checkpoint_is_refused(folder: RunFolder, content: str) -> None:
    (newest(folder) / "state.json").write_text(content)
    with pytest.raises(CheckpointError, match="was not written by athenan_spiel"):
        read_header(newest(folder))


@pytest.mark.parametrize("version", [4, None, "1"])
def test_a_newer_format_is_refused(folder: RunFolder, version: object) -> None:
    edit_state(newest(folder), version=version)
    with pytest.raises(
        CheckpointError, match=r"has format version .*, and this athenan_spiel .* reads up to 3: install"
    ):
        read_header(newest(folder))


@pytest.mark.parametrize(
    "change",
    [
        {"counters": {"unknown": 1}},
        {"counters": 3},
        {"counters": {"matches": "six"}},
        {"counters": {"matches": -1}},
        {"counters": {"matches": True}},
        {"counters": {"seconds": 1e300}},
        {"counters": {"matches": 10**400}},
        {"config": {"seconds": 10**400}},
        {"config": {"seed": -1}},
        {"config": {"unknown": 1}},
        {"config": 3},
        {"game": 3},
        {"outcome": 3},
        {"generators": []},
    ],
)
def test_unexpected_content_is_damage(folder: RunFolder, change: dict[str, object]) -> None:
    edit_state(newest(folder), **change)
    with pytest.raises(CheckpointError, match=r"state.json has unexpected content"):
        read_header(newest(folder))


@pytest.mark.parametrize("sums", [None, {}, {"weights.safetensors": 3}])
def test_missing_checksums_are_damage(folder: RunFolder, sums: object) -> None:
    edit_state(newest(folder), sha256=sums)
    with pytest.raises(CheckpointError, match="does not match its checksum"):
        read_weights(newest(folder))


def test_nothing_is_unpickled(folder: RunFolder, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.touch, (tmp_path / "sprung",))

    path = newest(folder)
    torch.save({"state": Trap()}, path / "optimizer.pt")
    np.savez(path / "replay.npz", values=np.array([Trap()], dtype=object))
    sums = {name: sha256(path / name) for name in ("weights.safetensors", "optimizer.pt", "replay.npz")}
    edit_state(path, sha256=sums)
    with pytest.raises(CheckpointError, match=r"optimizer.pt has unexpected content"):
        read_checkpoint(path)
    torch.save({}, path / "optimizer.pt")
    edit_state(path, sha256=sums | {"optimizer.pt": sha256(path / "optimizer.pt")})
    with pytest.raises(CheckpointError, match=r"replay.npz has unexpected content"):
        read_checkpoint(path)
    (path / "weights.safetensors").write_bytes(b"no tensors")
    edit_state(path, sha256={"weights.safetensors": sha256(path / "weights.safetensors")})
    with pytest.raises(CheckpointError, match=r"weights.safetensors has unexpected content"):
        read_weights(path)
    assert not (tmp_path / "sprung").exists()


def test_each_flipped_bit_of_the_state_is_noticed(folder: RunFolder) -> None:
    """One in `matches` made a resumed run cut its metrics and go on from a state that never was."""
    path = newest(folder) / "state.json"
    whole, header = path.read_bytes(), read_header(newest(folder))
    rng = np.random.default_rng(0)
    noticed = 0
    for bit in rng.choice(8 * len(whole), 1000, replace=False).tolist():
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(bytes(changed))
        try:
            assert read_header(newest(folder)) == header, "white space alone may change"
        except CheckpointError:
            noticed += 1
    assert noticed > 900


def test_a_checkpoint_under_another_number_is_damaged(folder: RunFolder) -> None:
    newest(folder).rename(folder.checkpoints_path / "000009")
    with pytest.raises(CheckpointError, match=r"after 8 matches, and its name says 9\n.*000004 is whole"):
        folder.load()
