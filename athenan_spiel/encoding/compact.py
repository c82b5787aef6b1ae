"""Lossless compression of observations.

A replay buffer holds a million observations; a float32 one of Hex 11 x 11 takes 4,840 bytes. Nearly all planes contain
only zeros and ones, and the others a few different numbers. A pack of rows stores each column in the first of three
formats that can represent all its values in the pack:

1. one bit, if the column contains only 0.0 and 1.0;
2. one byte, an index into the pack's codebook of at most 256 distinct numbers;
3. float32.

`CompactRows.pack(rows).unpack()` equals `rows` bit for bit, for every float32 pattern: -0.0 stays -0.0, and NaN keeps
its payload. Columns are compared by their bits, never as numbers. A pack is immutable, and shares no memory with the
rows it was made from.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.encoding.stored_arrays import require_arrays, require_within
from athenan_spiel.errors import CheckpointError

if TYPE_CHECKING:
    import pyspiel

    from athenan_spiel.encoding.encoder import Encoder

CHUNK = 512
"""Number of rows in a pack."""
CODEBOOK_LIMIT = 256
"""Maximum number of distinct numbers in a codebook, with an index of one byte."""

_ZERO_BITS = np.uint32(0)
_ONE_BITS = np.float32(1.0).view(np.uint32)


@dataclass(frozen=True, slots=True, eq=False)
class CompactRows:
    """Immutable pack of N observations of `size` numbers each, created by `CompactRows.pack`."""

    size: int
    """Length of a row."""
    bits: NDArray[np.uint8]
    """[N, ceil(size / 8)]: all columns, eight per byte; the bits of columns stored elsewhere are unused."""
    codes: NDArray[np.uint8]
    """[N, c]: indices into `codebook`."""
    code_columns: NDArray[np.int32]
    """[c], ascending: columns stored in `codes`."""
    codebook: NDArray[np.float32]
    """[at most 256]: distinct numbers of these columns."""
    floats: NDArray[np.float32]
    """[N, f]: columns stored as float32."""
    float_columns: NDArray[np.int32]
    """[f], ascending: columns stored in `floats`."""

    @classmethod
    def pack(cls, rows: NDArray[np.float32]) -> CompactRows:
        """Packs `rows`, float32 [N, size]. Numbers of another type are rounded to float32."""
        patterns = np.ascontiguousarray(rows, dtype=np.float32).view(np.uint32)
        ones = patterns == _ONE_BITS
        others = np.flatnonzero(~np.logical_or(ones, patterns == _ZERO_BITS).all(axis=0)).astype(np.int32)
        code_columns, float_columns, codebook = _divide_columns(patterns, others)
        return cls(
            size=patterns.shape[1],
            bits=np.packbits(ones, axis=1),
            codes=np.searchsorted(codebook, patterns.take(code_columns, axis=1)).astype(np.uint8),
            code_columns=code_columns,
            codebook=codebook.view(np.float32),
            floats=patterns.take(float_columns, axis=1).view(np.float32),
            float_columns=float_columns,
        )

    def __len__(self) -> int:
        return len(self.bits)

    @property
    def nbytes(self) -> int:
        """Size of all arrays of the pack, in bytes."""
        return sum(int(getattr(self, name).nbytes) for name in _FIELDS)

    def unpack(self, indices: NDArray[np.integer[Any]] | None = None) -> NDArray[np.float32]:
        """Returns the rows at `indices` (any order, repeats allowed), or all rows, as a new float32 [k, size]."""
        bits, codes, floats = self.bits, self.codes, self.floats
        if indices is not None:
            bits, codes, floats = bits[indices], codes[indices], floats[indices]
        rows = np.unpackbits(bits, axis=1, count=self.size).astype(np.float32)
        if self.code_columns.size:
            rows[:, self.code_columns] = self.codebook[codes]
        if self.float_columns.size:
            rows[:, self.float_columns] = floats
        return rows


def unpack_rows(packs: Sequence[CompactRows], indices: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
    """Returns the rows at `indices` of the concatenation of at least one pack, as a new float32 [k, size]."""
    firsts = np.cumsum([0, *map(len, packs)])
    by_pack = np.argsort(indices, kind="stable")
    ascending = indices[by_pack]
    edges = np.searchsorted(ascending, firsts)
    rows = np.empty((len(indices), packs[0].size), np.float32)
    for i in np.flatnonzero(np.diff(edges)).tolist():
        wanted = slice(edges[i], edges[i + 1])
        rows[by_pack[wanted]] = packs[i].unpack(ascending[wanted] - firsts[i])
    return rows


_OBSERVATIONS = "the observations"
MAX_NUMBERS = 2**31
"""Maximum number of rows of a pack, and maximum length of a row."""
_FIELDS: dict[str, type[np.generic]] = {
    "bits": np.uint8,
    "codes": np.uint8,
    "code_columns": np.int32,
    "codebook": np.float32,
    "floats": np.float32,
    "float_columns": np.int32,
}


def packs_to_arrays(packs: Sequence[CompactRows]) -> dict[str, NDArray[Any]]:
    """Returns the arrays of all packs concatenated, as seven flat arrays."""
    shapes = [(len(p), p.size, len(p.code_columns), len(p.codebook), len(p.float_columns)) for p in packs]
    arrays: dict[str, NDArray[Any]] = {"shapes": np.array(shapes, np.int64).reshape(-1, 5)}
    for name, dtype in _FIELDS.items():
        arrays[name] = np.concatenate([np.empty(0, dtype), *(getattr(pack, name).ravel() for pack in packs)])
    return arrays


def packs_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> list[CompactRows]:
    """Returns the packs that `packs_to_arrays` concatenated; they share no memory with `arrays`.

    Raises:
        CheckpointError: an array is missing, has another type or a length that contradicts `shapes`, or contains an
            index out of range.
    """
    require_arrays(_OBSERVATIONS, arrays, {"shapes": (np.int64, 2), **{name: (t, 1) for name, t in _FIELDS.items()}})
    if arrays["shapes"].shape[1] != 5:
        raise CheckpointError(
            f"expected five numbers a row in the observations' 'shapes', got {arrays['shapes'].shape}"
        )
    require_within(_OBSERVATIONS, "shapes", arrays["shapes"], 0, MAX_NUMBERS)
    rows, size, coded, codebook, floats = arrays["shapes"].T
    shapes = {
        "bits": (rows, (size + 7) // 8),
        "codes": (rows, coded),
        "code_columns": (coded,),
        "codebook": (codebook,),
        "floats": (rows, floats),
        "float_columns": (floats,),
    }
    fields = {name: _cut_up(name, arrays[name], np.stack(shape, axis=1)) for name, shape in shapes.items()}
    packs = [
        CompactRows(size=int(size[i]), **{name: parts[i] for name, parts in fields.items()}) for i in range(len(rows))
    ]
    for pack in packs:
        for name in ("code_columns", "float_columns"):
            require_within(_OBSERVATIONS, name, getattr(pack, name), 0, pack.size)
        require_within(_OBSERVATIONS, "codes", pack.codes, 0, len(pack.codebook))
    return packs


def _cut_up(name: str, flat: NDArray[Any], shapes: NDArray[np.int64]) -> list[NDArray[Any]]:
    total = sum(map(math.prod, shapes.tolist()))  # may exceed int64
    if len(flat) != total:
        raise CheckpointError(f"expected {total!r} numbers in the observations' {name!r}, got {len(flat)!r}")
    ends = np.cumsum(shapes.prod(axis=1))
    return [part.reshape(shape).copy() for part, shape in zip(np.split(flat, ends[:-1]), shapes, strict=False)]


def _divide_columns(
    patterns: NDArray[np.uint32], columns: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint32]]:
    """Divides `columns` between the codebook and float32; returns (coded columns, float columns, sorted codebook).

    If the codebook is too small for all, columns with the fewest distinct numbers come first, so one column of distinct
    numbers doesn't use it up.
    """
    codebook = np.unique(patterns[:, columns])
    if len(codebook) <= CODEBOOK_LIMIT:
        return columns, np.empty(0, np.int32), codebook
    distinct = {int(column): np.unique(patterns[:, column]) for column in columns}
    codebook = np.empty(0, np.uint32)
    coded = []
    for column in sorted(distinct, key=lambda column: len(distinct[column])):
        larger = np.union1d(codebook, distinct[column])
        if len(larger) > CODEBOOK_LIMIT:
            break
        codebook = larger
        coded.append(column)
    code_columns = np.array(sorted(coded), np.int32)
    return code_columns, np.setdiff1d(columns, code_columns), codebook


class ObservationStore:
    """Observations of one game, encoded on arrival and packed in chunks.

    The search calls `append` for each state it expands, so an append only encodes into a preallocated row.
    """

    def __init__(self, encoder: Encoder, chunk: int = CHUNK, *, leaves: bool = False) -> None:
        """Creates an empty store.

        Args:
            encoder: encodes the states.
            chunk: number of observations in a pack.
            leaves: also store the non-terminal leaves of trees.
        """
        self.leaves = leaves
        self._encode_into = encoder.encode_into
        self._staging = np.empty((chunk, encoder.size), np.float32)
        self._staging_rows = list(self._staging)
        self._staged = 0
        self._packed = 0
        self._chunks: list[CompactRows] = []

    def append(self, state: pyspiel.State) -> int:
        """Encodes `state` in its current form and returns its index, 0 for the first."""
        staged = self._staged
        self._encode_into(state, self._staging_rows[staged])
        self._staged = staged + 1
        if self._staged == len(self._staging_rows):
            self._flush()
            return self._packed - 1
        return self._packed + staged

    def __len__(self) -> int:
        return self._packed + self._staged

    def kept(self, indices: Sequence[int]) -> Self:
        """Returns a store of the observations with these ascending indices, renumbered from 0."""
        twin, wanted = copy.copy(self), np.asarray(indices, np.int64)
        twin._staging = np.empty_like(self._staging)
        twin._staging_rows = list(twin._staging)
        twin._staged = twin._packed = 0
        twin._chunks = []
        first = 0
        for pack in self.chunks():
            here = wanted[np.searchsorted(wanted, first) : np.searchsorted(wanted, first + len(pack))] - first
            for row in pack.unpack(here) if len(here) else ():
                twin._staging[twin._staged] = row
                twin._staged += 1
                if twin._staged == len(twin._staging):
                    twin._flush()
            first += len(pack)
        return twin

    def chunks(self) -> list[CompactRows]:
        """Returns all observations so far as packs, in order of index."""
        if self._staged:
            self._flush()
        return list(self._chunks)

    def _flush(self) -> None:
        self._chunks.append(CompactRows.pack(self._staging[: self._staged]))
        self._packed += self._staged
        self._staged = 0
