"""Items that are told apart wherever they turn up in a replay: a number is its own observation, value and weight."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from athenan_spiel.encoding.compact import CompactRows
from athenan_spiel.learning.labels import Labels
from athenan_spiel.learning.replay import Batch
from athenan_spiel.learning.targets import Targets

ITEM_BITS = 24
Phase = list[list[int]]
"""The minibatches of one learning phase, each a list of items."""


def row_of(item: int) -> list[int]:
    return [item >> bit & 1 for bit in range(ITEM_BITS)]


def weight_of(item: int) -> int:
    return 1 + item % 7


def items_of(batch: Batch) -> list[int]:
    """The items of a minibatch, read from their observations; their values must be theirs."""
    items: list[int] = (batch.observations @ (2.0 ** np.arange(ITEM_BITS))).astype(np.int64).tolist()
    assert batch.labels.values.dtype == batch.observations.dtype == np.float32
    assert batch.labels.values.tolist() == [item / 2 for item in items]
    return items


def match_of(items: list[int], chunk: int = 3, *, weighted: bool = False) -> Targets:
    rows = np.array([row_of(item) for item in items], np.float32).reshape(-1, ITEM_BITS)
    packs = [CompactRows.pack(rows[first : first + chunk]) for first in range(0, len(items), chunk)]
    weights = np.array([weight_of(item) for item in items], np.float32) if weighted else None
    return Targets(packs, Labels(np.array([item / 2 for item in items], np.float32), weights))


def matches_of(lengths: list[int]) -> Iterator[list[int]]:
    """Matches of new items, of the given lengths."""
    first = 0
    for length in lengths:
        yield list(range(first, first + length))
        first += length
