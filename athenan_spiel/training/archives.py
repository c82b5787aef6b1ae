"""Zip archives as `np.savez` and `torch.save` write them, read without believing what they say of their size.

Both store their parts as they are. An archive whose parts are compressed could hold a thousand times its size (a zip
bomb), one whose parts overlap as well, and one may list millions of parts: each is refused before a part is read.
"""

from __future__ import annotations

import contextlib
import math
import struct
import zipfile
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

MOST_CONTENTS = 2**20
"""Bytes of an archive's table of contents at most; a part takes some hundred."""
MOST_PICKLE = 2**20
"""Bytes of the structure in an archive of torch's at most, which lists its tensors; a tensor takes some hundred."""
_CHUNK = 2**24
_END = struct.Struct("<4s4H2LH")
_LOCATOR = struct.Struct("<4sLQL")
_END_64 = struct.Struct("<4sQ2H2L4Q")


def require_plain(file: BinaryIO) -> None:
    """Check that `file`, a seekable one, is a zip archive of stored parts that are together no larger than it is.

    Raises:
        ValueError: it is none.
        OSError: it cannot be read.
    """
    size = file.seek(0, 2)
    contents = _size_of_contents(file, size)
    if contents > MOST_CONTENTS:
        raise ValueError(f"its table of contents has {contents:,} bytes, more than {MOST_CONTENTS:,}")
    with _read_as_zip(file) as archive:
        parts = archive.infolist()
    if any(part.compress_type != zipfile.ZIP_STORED or part.flag_bits & 1 for part in parts):
        raise ValueError("its parts are compressed or encrypted")
    if sum(part.file_size for part in parts) > size or any(part.file_size != part.compress_size for part in parts):
        raise ValueError("its parts are larger than the file")
    if len({part.filename for part in parts}) != len(parts):
        raise ValueError("two of its parts have the same name")
    if any(part.filename.endswith(".pkl") and part.file_size > MOST_PICKLE for part in parts):
        raise ValueError(f"its structure has more than {MOST_PICKLE:,} bytes")
    file.seek(0)


def read_arrays(file: BinaryIO) -> dict[str, NDArray[Any]]:
    """The arrays that `np.savez` wrote into `file`, of numbers or booleans alone.

    Raises:
        ValueError: it is no such archive, or an array is of another kind or size than its part says.
        OSError: it cannot be read.
    """
    require_plain(file)
    with _read_as_zip(file) as archive:
        found = {}
        for part in archive.infolist():
            with archive.open(part) as content:
                found[part.filename.removesuffix(".npy")] = _read_array(content, part.file_size)
    return found


@contextlib.contextmanager
def _read_as_zip(file: BinaryIO) -> Iterator[zipfile.ZipFile]:
    """The archive in `file`; what zipfile says of a broken one, now or later, is a `ValueError`."""
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except (zipfile.BadZipFile, NotImplementedError, EOFError) as error:
        raise ValueError(f"it is no whole zip archive ({error or type(error).__name__})") from None


def _size_of_contents(file: BinaryIO, size: int) -> int:
    """Of the archive's central directory, by the record at its very end, where neither writer leaves a comment."""
    if size < _END.size:
        raise ValueError("it is no zip archive")
    file.seek(size - _END.size)
    signature, _, _, _, _, contents, _, comment = _END.unpack(file.read(_END.size))
    if signature != b"PK\5\6" or comment:
        raise ValueError("it is no zip archive, or has something behind its end")
    if size >= _END.size + _LOCATOR.size + _END_64.size:
        file.seek(size - _END.size - _LOCATOR.size - _END_64.size)
        record, locator = _END_64.unpack(file.read(_END_64.size)), _LOCATOR.unpack(file.read(_LOCATOR.size))
        if locator[0] == b"PK\6\7":
            if record[0] != b"PK\6\6":
                raise ValueError("it is no zip archive, or has something before its end")
            contents = record[8]
    return int(contents)


def _read_array(content: Any, size: int) -> NDArray[Any]:
    """The array in a part of `size` bytes."""
    readers: dict[tuple[int, int], Any] = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    try:
        shape, by_columns, dtype = readers[np.lib.format.read_magic(content)](content)
    except Exception as error:  # whatever reading it as Python's literals raises
        raise ValueError("an array has no header that is understood") from error
    if dtype.kind not in "biuf" or dtype.itemsize > 8 or not dtype.isnative:
        raise ValueError(f"an array is of type {dtype!r}, and not of numbers")
    left = size - content.tell()
    if any(type(n) is not int or n < 0 for n in shape) or math.prod(shape) * dtype.itemsize != left:
        raise ValueError(f"an array of shape {shape!r} is said to have {left:,} bytes")
    flat = np.empty(math.prod(shape), dtype)
    place = flat.view(np.uint8)
    for start in range(0, left, _CHUNK):
        data = content.read(min(_CHUNK, left - start))
        place[start : start + len(data)] = np.frombuffer(data, np.uint8)
        if len(data) < min(_CHUNK, left - start):
            raise ValueError("an array ends before its end")
    return flat.reshape(shape, order="F" if by_columns else "C")
