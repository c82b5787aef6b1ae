"""A checkpoint: what is written comes back, and what is damaged, foreign or forged is said in a line or two."""

from __future__ import annotations

import dataclasses
import io
import json
import pickle
import shutil
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import safetensors.torch
import torch
from numpy.typing import NDArray
from run_folders import GAME, edit_state, newest, sample, sha256, truncate, two_checkpoints

from athenan_spiel.encoding.stored_arrays import MAX_HEADER_BYTES, read_arrays, write_arrays
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
    assert read.optimizer.keys() == written.optimizer.keys()
    assert all(torch.equal(read.optimizer[name], tensor) for name, tensor in written.optimizer.items())
    assert read.replay.keys() == written.replay.keys()
    assert all(np.array_equal(read.replay[name], array) for name, array in written.replay.items())
    assert all(read.replay[name].dtype == array.dtype for name, array in written.replay.items())


def test_state_says_format_versions_and_checksums(folder: RunFolder) -> None:
    state = json.loads((newest(folder) / "state.json").read_text())
    assert state["version"] == 4
    assert {"athenan_spiel", "torch", "open_spiel", "numpy", "python"} <= state["libraries"].keys()
    assert state["sha256"].keys() == {"weights.safetensors", "optimizer.safetensors", "replay.safetensors"}
    assert state["game"] == GAME


def test_a_header_can_be_brought_up_to_date(folder: RunFolder) -> None:
    header = sample(8).header
    later = dataclasses.replace(header, counters=dataclasses.replace(header.counters, seconds=99.0))
    folder.save_header(newest(folder), later)
    read = folder.load()
    assert read is not None
    assert read.header == later
    assert sorted(path.name for path in newest(folder).iterdir()) == [
        "optimizer.safetensors",
        "replay.safetensors",
        "state.json",
        "weights.safetensors",
    ]


@pytest.mark.parametrize("name", ["weights.safetensors", "optimizer.safetensors", "replay.safetensors"])
def test_a_truncated_file_is_noticed_and_the_older_checkpoint_named(folder: RunFolder, name: str) -> None:
    truncate(newest(folder) / name)
    with pytest.raises(CheckpointError) as error:
        folder.load()
    first, second = str(error.value).splitlines()
    assert "000008 is damaged" in first
    assert f"{name} (" in first
    assert "does not match its checksum" in first
    assert second.endswith(f"000004 is complete: continue from there with athenan resume {folder.path} --from 4")
    shutil.rmtree(newest(folder))
    read = folder.load()
    assert read is not None
    assert read.header.counters.matches == 4


def test_a_truncated_state_is_noticed(folder: RunFolder) -> None:
    truncate(newest(folder) / "state.json")
    with pytest.raises(CheckpointError, match=r"state.json is not valid JSON \(\d+ bytes: .*\); it may be truncated"):
        folder.load()


@pytest.mark.parametrize("name", ["weights.safetensors", "optimizer.safetensors", "replay.safetensors"])
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
    with pytest.raises(
        CheckpointError, match=r"000012 is damaged: weights.safetensors contains infinite .*\n.*--from 8"
    ):
        folder.load()
    with pytest.raises(CheckpointError, match="infinite or NaN"):
        read_weights(newest(folder))


def test_where_no_checkpoint_is_whole_none_is_named(folder: RunFolder) -> None:
    for path in folder.checkpoints():
        truncate(path / "replay.safetensors")
    with pytest.raises(CheckpointError) as error:
        folder.load()
    assert len(str(error.value).splitlines()) == 1


def test_a_missing_file_is_noticed(folder: RunFolder) -> None:
    (newest(folder) / "optimizer.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"optimizer.safetensors cannot be read \(No such file or directory\)"):
        read_checkpoint(newest(folder))
    (newest(folder) / "state.json").unlink()
    with pytest.raises(CheckpointError, match=r"state.json cannot be read"):
        read_header(newest(folder))


@pytest.mark.parametrize("content", ["[]", "{}", '{"format": "another program"}'])
def test_a_foreign_checkpoint_is_refused(folder: RunFolder, content: str) -> None:
    (newest(folder) / "state.json").write_text(content)
    with pytest.raises(CheckpointError, match="was not written by athenan_spiel"):
        read_header(newest(folder))


@pytest.mark.parametrize("version", [5, None, "1"])
def test_a_newer_format_is_refused(folder: RunFolder, version: object) -> None:
    edit_state(newest(folder), version=version)
    with pytest.raises(
        CheckpointError, match=r"has format version .*, and this athenan_spiel .* reads up to 4: install"
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


def safetensors_file(header: object, data: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor(dtype: str = "F32", shape: object = (2,), offsets: object = (0, 8)) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


HOSTILE = {
    "empty": b"",
    "a pickle": pickle.dumps({"values": [1.0]}),
    "a zip archive": b"PK\5\6" + bytes(18),
    "a header longer than the file": struct.pack("<Q", 2**63) + b"{}",
    "a header longer than is read": safetensors_file({"x" * MAX_HEADER_BYTES: tensor()}, bytes(8)),
    "a header of brackets": struct.pack("<Q", 5000) + b"[" * 5000,
    "no object": safetensors_file([]),
    "an array beyond the file": safetensors_file({"a": tensor(shape=(2**40,), offsets=(0, 2**42))}, bytes(8)),
    "a shape beyond any memory": safetensors_file({"a": tensor(shape=(2**40, 2**40))}, bytes(8)),
    "a negative shape": safetensors_file({"a": tensor(shape=(-1, -2))}, bytes(8)),
    "another size than the shape's": safetensors_file({"a": tensor(shape=(3,))}, bytes(8)),
    "offsets that run back": safetensors_file({"a": tensor(offsets=(8, 0))}, bytes(8)),
    "arrays that overlap": safetensors_file({"a": tensor(), "b": tensor()}, bytes(8)),
    "data of no array": safetensors_file({"a": tensor()}, bytes(16)),
    "an unknown type": safetensors_file({"a": tensor("object")}, bytes(8)),
    "a type that numpy lacks": safetensors_file({"a": tensor("BF16", (4,))}, bytes(8)),
}


@pytest.mark.parametrize("name", ["weights.safetensors", "optimizer.safetensors", "replay.safetensors"])
@pytest.mark.parametrize("content", HOSTILE)
def test_what_is_not_an_array_file_is_refused_in_a_line(folder: RunFolder, name: str, content: str) -> None:
    """Nothing is unpickled, and no size is trusted, although the checksum is right."""
    path = newest(folder)
    (path / name).write_bytes(HOSTILE[content])
    sums = json.loads((path / "state.json").read_text())["sha256"]
    edit_state(path, sha256=sums | {name: sha256(path / name)})
    tracemalloc.start()
    with pytest.raises(CheckpointError, match=rf"{name} has unexpected content"):
        read_checkpoint(path)
    assert tracemalloc.get_traced_memory()[1] < 10 * MAX_HEADER_BYTES
    tracemalloc.stop()


def test_arrays_of_every_kind_come_back() -> None:
    arrays: dict[str, NDArray[Any]] = {
        "floats": np.linspace(0, 1, 7, dtype=np.float32),
        "none": np.empty((0, 3), np.int32),
        "bytes": np.arange(24, dtype=np.uint8).reshape(2, 3, 4),
        "by columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "every other": np.arange(6, dtype=np.int64)[::2],
        "flags": np.array([True, False]),
        "small": np.array([-1, 1], np.int8),
        "number": np.array(3, np.int64),
    }
    file = io.BytesIO()
    write_arrays(file, arrays)
    file.seek(0)
    for read in (read_arrays(file), safetensors.numpy.load(file.getvalue())):
        assert read.keys() == arrays.keys()
        for name, array in arrays.items():
            np.testing.assert_array_equal(read[name], array, strict=True)
            assert read[name].flags.writeable


def test_arrays_of_one_type_are_written_as_the_library_of_the_format_writes_them() -> None:
    weights = sample().weights
    file = io.BytesIO()
    write_arrays(file, {name: tensor.numpy() for name, tensor in weights.items()})
    assert file.getvalue() == safetensors.torch.save(dict(weights))


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
    with pytest.raises(CheckpointError, match=r"after 8 games, and its name says 9\n.*000004 is complete"):
        folder.load()
