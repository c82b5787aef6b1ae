"""Compact rows are lossless, and have the documented size."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from athenan_spiel.encoding.compact import (
    CODEBOOK_LIMIT,
    CompactRows,
    ObservationStore,
    packs_from_arrays,
    packs_to_arrays,
    unpack_rows,
)
from athenan_spiel.errors import CheckpointError

ANY_PATTERN = st.integers(0, 2**32 - 1)
COLUMN_KINDS = [
    st.sampled_from([0x00000000, 0x3F800000]),  # 0.0 and 1.0
    st.sampled_from([0x00000000, 0x80000000, 0x3F800000, 0xBF800000]),  # -0.0 and -1.0 as well
    st.sampled_from([int(np.float32(count / 48).view(np.uint32)) for count in range(49)]),
    ANY_PATTERN,
]


@st.composite
def some_rows(draw: st.DrawFn) -> NDArray[np.float32]:
    """Rows whose columns are each of one kind: bits, signed zeros, counts, or any float32 at all."""
    count = draw(st.integers(0, 20))
    kinds = draw(st.lists(st.sampled_from(COLUMN_KINDS), min_size=1, max_size=20))
    columns = [draw(hnp.arrays(np.uint32, count, elements=kind)) for kind in kinds]
    return np.ascontiguousarray(np.stack(columns, axis=1)).view(np.float32)


def assert_same_bits(got: NDArray[np.float32], expected: NDArray[np.float32]) -> None:
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got.view(np.uint32), np.ascontiguousarray(expected).view(np.uint32))


@settings(deadline=None)
@given(some_rows())
def test_unpacking_is_lossless(rows: NDArray[np.float32]) -> None:
    pack = CompactRows.pack(rows)
    assert len(pack) == len(rows)
    assert_same_bits(pack.unpack(), rows)


@settings(deadline=None)
@given(some_rows(), st.data())
def test_rows_are_read_in_any_order_with_repeats(rows: NDArray[np.float32], data: st.DataObject) -> None:
    positions = st.lists(st.integers(0, len(rows) - 1), max_size=30) if len(rows) else st.just([])
    indices = np.array(data.draw(positions), np.int64)
    assert_same_bits(CompactRows.pack(rows).unpack(indices), rows[indices])


def packed_in_parts(rows: NDArray[np.float32], cuts: list[int]) -> list[CompactRows]:
    return [CompactRows.pack(part) for part in np.split(rows, sorted(cuts))]


@settings(deadline=None)
@given(some_rows(), st.lists(st.integers(0, 20), max_size=4), st.data())
def test_packs_are_read_as_one_concatenation(rows: NDArray[np.float32], cuts: list[int], data: st.DataObject) -> None:
    packs = packed_in_parts(rows, cuts)
    positions = st.lists(st.integers(0, len(rows) - 1), max_size=30) if len(rows) else st.just([])
    indices = np.array(data.draw(positions), np.int64)
    assert_same_bits(unpack_rows(packs, indices), rows[indices])


@settings(deadline=None)
@given(some_rows(), st.lists(st.integers(0, 20), max_size=4))
def test_packs_survive_a_file(rows: NDArray[np.float32], cuts: list[int]) -> None:
    packs, file = packed_in_parts(rows, cuts), io.BytesIO()
    np.savez(file, **packs_to_arrays(packs))  # type: ignore[arg-type]
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        again = packs_from_arrays(arrays)
    assert [len(pack) for pack in again] == [len(pack) for pack in packs]
    for pack, expected in zip(again, packs, strict=True):
        assert_same_bits(pack.unpack(), expected.unpack())
        assert pack.nbytes == expected.nbytes


def test_an_empty_list_of_packs_survives_its_arrays() -> None:
    assert packs_from_arrays(packs_to_arrays([])) == []


@pytest.mark.parametrize("name", ["shapes", "bits", "codebook"])
def test_missing_arrays_are_refused_by_name(name: str) -> None:
    arrays = packs_to_arrays([CompactRows.pack(np.eye(3, dtype=np.float32))])
    del arrays[name]
    with pytest.raises(CheckpointError, match=rf"got none of \['{name}'\]"):
        packs_from_arrays(arrays)


def test_arrays_that_contradict_each_other_are_refused() -> None:
    arrays = packs_to_arrays([CompactRows.pack(np.eye(3, dtype=np.float32))])
    arrays["bits"] = arrays["bits"][:2]
    with pytest.raises(CheckpointError, match="expected 3 numbers in the observations' 'bits', got 2"):
        packs_from_arrays(arrays)


def test_minus_zero_stays_minus_zero() -> None:
    rows = np.array([[0.0, -0.0], [1.0, 1.0]], np.float32)
    assert np.signbit(CompactRows.pack(rows).unpack()[0]).tolist() == [False, True]


def test_a_pack_shares_no_memory_with_its_rows() -> None:
    rows = np.linspace(0, 1, 3000, dtype=np.float32).reshape(1000, 3)
    pack, before = CompactRows.pack(rows), rows.copy()
    rows[:] = 7
    assert_same_bits(pack.unpack(), before)


def test_zeros_and_ones_take_one_bit_each() -> None:
    rows = np.random.default_rng(0).integers(0, 2, (512, 1210)).astype(np.float32)
    assert CompactRows.pack(rows).nbytes <= 512 * 152 + 64


def test_few_distinct_numbers_take_one_byte_each() -> None:
    rows = (np.random.default_rng(0).integers(0, CODEBOOK_LIMIT, (4096, 8)) / 3).astype(np.float32)
    pack = CompactRows.pack(rows)
    assert len(pack.codebook) == CODEBOOK_LIMIT
    assert pack.codes.shape == (4096, 8)
    assert not pack.floats.size


def test_a_column_of_distinct_numbers_leaves_the_codebook_to_others() -> None:
    rng = np.random.default_rng(0)
    rows = (rng.integers(0, 40, (1000, 6)) / 40).astype(np.float32)
    rows[:, 2] = rng.random(1000, np.float32)
    pack = CompactRows.pack(rows)
    assert pack.float_columns.tolist() == [2]
    assert pack.code_columns.tolist() == [0, 1, 3, 4, 5]
    assert_same_bits(pack.unpack(), rows)


class CountingEncoder:
    """Replacement for an `Encoder`: a state is a number, and its row repeats it three times."""

    size = 3

    def encode_into(self, state: Any, row: NDArray[np.float32]) -> None:
        row[:] = (state, state % 2, -state)


@pytest.mark.parametrize("chunk", [1, 4, 512])
def test_a_store_numbers_its_observations_and_keeps_their_order(chunk: int) -> None:
    store = ObservationStore(CountingEncoder(), chunk)  # type: ignore[arg-type]
    expected = []
    for number in range(11):
        assert len(store) == number
        assert store.append(number) == number
        expected.append((number, number % 2, -number))
        if number == 5:  # reading the chunks in mid-match changes nothing
            assert sum(map(len, store.chunks())) == 6
    rows = np.concatenate([pack.unpack() for pack in store.chunks()])
    assert rows.tolist() == [list(map(float, row)) for row in expected]
    assert len(store) == sum(map(len, store.chunks())) == 11


@pytest.mark.parametrize("chunk", [1, 4, 512])
@pytest.mark.parametrize("kept", [[], [0], [2, 3, 9, 10], list(range(11))])
def test_a_store_of_selected_observations_can_grow(chunk: int, kept: list[int]) -> None:
    store = ObservationStore(CountingEncoder(), chunk, leaves=True)  # type: ignore[arg-type]
    for number in range(11):
        store.append(number)
    less = store.kept(kept)
    assert (len(store), len(less), less.leaves) == (11, len(kept), True)
    assert less.append(50) == len(kept)
    rows = [row.tolist() for pack in less.chunks() for row in pack.unpack()]
    assert rows == [[float(n), n % 2, -n] for n in [*kept, 50]]
    assert sum(map(len, store.chunks())) == 11, "the other one is as it was"
    assert all(len(pack) <= chunk for pack in less.chunks())


def test_an_empty_store_has_no_chunks() -> None:
    assert ObservationStore(CountingEncoder()).chunks() == []  # type: ignore[arg-type]
