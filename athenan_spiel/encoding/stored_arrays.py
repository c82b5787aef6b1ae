"""Arrays of a checkpoint in the safetensors format. Files may be invalid or malicious, so they are checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from athenan_spiel.errors import CheckpointError

Arrays = Mapping[str, NDArray[Any]]
Kinds = Mapping[str, tuple[type[np.generic], int]]
"""Type and number of dimensions of each array, by name."""

MAX_HEADER_BYTES = 2**20
"""Maximum size of a file's header, which takes about a hundred bytes per array."""
_LENGTH_BYTES = 8


def write_arrays(file: BinaryIO, arrays: Arrays) -> None:
    """Writes `arrays` to `file` in the safetensors format, without the copy in memory that `safetensors.numpy` makes.

    Arrays with the largest items come first, so that all are aligned; arrays with items of equal size are sorted by
    name.

    Raises:
        OSError: the file can't be written.
    """
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].itemsize, item[0]))
    header, end = {}, 0
    for name, array in ordered:
        dtype = "BOOL" if array.dtype == np.bool_ else f"{array.dtype.kind}{8 * array.itemsize}".upper()
        header[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": (end, end + array.nbytes)}
        end += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _LENGTH_BYTES)
    file.write(len(text).to_bytes(_LENGTH_BYTES, "little") + text)
    for _, array in ordered:
        file.write(np.ascontiguousarray(array).data)


def read_arrays(file: BinaryIO) -> dict[str, NDArray[Any]]:
    """Returns the arrays in a seekable `file`.

    Raises:
        ValueError: the file isn't in the safetensors format, or its header is too long.
        OSError: the file can't be read.
    """
    length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
    if length > MAX_HEADER_BYTES:
        raise ValueError(f"its header has {length:,} bytes, more than {MAX_HEADER_BYTES:,}")
    file.seek(0)
    try:
        return safetensors.numpy.load(file.read())
    except (safetensors.SafetensorError, KeyError, ValueError, TypeError) as error:
        raise ValueError(f"it isn't in the safetensors format ({error})") from error


def require_arrays(what: str, arrays: Arrays, kinds: Kinds) -> None:
    """Checks that `arrays` has each array of `kinds`, with its type and number of dimensions.

    Args:
        what: the content of the arrays, for messages.

    Raises:
        CheckpointError: an array is missing or of another kind.
    """
    if missing := [name for name in kinds if name not in arrays]:
        raise CheckpointError(f"expected all arrays of {what}, got none of {missing!r}")
    for name, (kind, dimensions) in kinds.items():
        array = arrays[name]
        if array.dtype != kind or array.ndim != dimensions:
            raise CheckpointError(
                f"expected {name!r} of {what} to have {dimensions} dimensions of {np.dtype(kind).name}, "
                f"got {array.ndim} of {array.dtype}"
            )


def require_within(what: str, name: str, array: NDArray[Any], low: int, high: int) -> None:
    """Checks that all numbers of `array` are in [low, high).

    Raises:
        CheckpointError: a number is outside.
    """
    if array.size and not (low <= array.min() and array.max() < high):
        raise CheckpointError(f"expected {name!r} of {what} in [{low}, {high}), got {array.min()!s} to {array.max()!s}")
