"""Archives of arrays: what numpy and torch write is read, and what claims to be such is refused before it costs."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from athenan_spiel.training.archives import MOST_CONTENTS, MOST_PICKLE, read_arrays, require_plain

ARRAYS = {
    "floats": np.linspace(0, 1, 7, dtype=np.float32),
    "none": np.empty((0, 3), np.int32),
    "bits": np.arange(24, dtype=np.uint8).reshape(2, 3, 4),
    "by_columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "flags": np.array([True, False]),
    "number": np.array(3, np.int64),
}


def archive(**parts: bytes) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as written:
        for name, content in parts.items():
            written.writestr(f"{name}.npy", content)
    return file


def header(text: str, version: tuple[int, int] = (1, 0)) -> bytes:
    data = text.encode() + b"\n"
    size = struct.pack("<H" if version == (1, 0) else "<I", len(data))
    return b"\x93NUMPY" + bytes(version) + size + data


def test_what_savez_writes_is_read() -> None:
    file = io.BytesIO()
    np.savez(file, **ARRAYS)
    read = read_arrays(file)
    assert read.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(read[name], array, strict=True)
        assert read[name].flags.writeable


def test_what_torch_saves_is_plain() -> None:
    file = io.BytesIO()
    torch.save({"state": {i: {"exp_avg": torch.zeros(5)} for i in range(200)}}, file)
    require_plain(file)
    assert torch.load(file, weights_only=True)["state"][7]["exp_avg"].tolist() == [0.0] * 5


def test_an_archive_of_more_than_four_gigabytes_is_read_by_its_larger_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
    with (tmp_path / "a.npz").open("w+b") as file:
        np.savez(file, **ARRAYS)
        assert b"PK\6\6" in (tmp_path / "a.npz").read_bytes()
        assert read_arrays(file).keys() == ARRAYS.keys()


def test_a_bomb_is_refused_unread() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as written:
        written.writestr("bits.npy", bytes(10**7))
    with pytest.raises(ValueError, match="compressed"):
        read_arrays(file)


def test_parts_that_lie_in_each_other_are_refused() -> None:
    """Each entry of the table of contents points to the same part."""
    data = bytes(10_000)
    whole = archive(a=data, b=data).getvalue()
    first = whole.index(b"PK\1\2")
    second = whole.index(b"PK\1\2", first + 1)
    one, end = whole[first:second], whole.index(b"PK\5\6")
    many = b"".join(one.replace(b"a.npy", f"{i:05}".encode()) for i in range(100))
    start = second_part = whole.index(b"PK\3\4", 1)
    assert second_part
    directory = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 100, 100, len(many), start, 0)
    with pytest.raises(ValueError, match="larger than the file"):
        read_arrays(io.BytesIO(whole[:start] + many + directory))
    assert end


def test_a_long_table_of_contents_is_refused_unread() -> None:
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 65535, 65535, MOST_CONTENTS + 1, 0, 0)
    with pytest.raises(ValueError, match="table of contents"):
        read_arrays(io.BytesIO(bytes(MOST_CONTENTS + 100) + end))


def test_a_structure_of_many_operations_is_refused_unread() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as written:
        written.writestr("archive/data.pkl", bytes(MOST_PICKLE + 1))
    with pytest.raises(ValueError, match="structure"):
        require_plain(file)


@pytest.mark.parametrize("content", [b"", b"PK", bytes(100), b"PK\5\6" + bytes(17) + b"\1", b"\x93NUMPY" * 30])
def test_what_is_no_archive_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="no zip archive"):
        read_arrays(io.BytesIO(content))


def test_two_parts_of_one_name_are_refused() -> None:
    file = archive(a=b"x")
    with zipfile.ZipFile(file, "a") as written, pytest.warns(UserWarning, match="Duplicate name"):
        written.writestr("a.npy", b"y")
    with pytest.raises(ValueError, match="same name"):
        read_arrays(file)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"nonsense",
        header("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }") + bytes(8),
        header("{'descr': '<U9', 'fortran_order': False, 'shape': (1,), }") + bytes(36),
        header("{'descr': '>f8', 'fortran_order': False, 'shape': (1,), }") + bytes(8),
        header("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }") + bytes(8),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776, 1099511627776), }") + bytes(8),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -1), }") + bytes(8),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }") + bytes(8),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (True,), }") + bytes(8),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': 3, }") + bytes(24),
        header("{'descr': '<f8'"),
        header("(" * 5000),
        header("[" * 9000 + "]" * 9000, (2, 0)),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", (3, 0)) + bytes(8),
        header("__import__('os').getcwd()"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="an array"):
        read_arrays(archive(a=content))
