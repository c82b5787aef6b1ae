"""The minibatches of a learning phase, and how a random sample becomes some (the article, Algorithm 7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.encoding.compact import CompactRows, unpack_rows
from athenan_spiel.learning.labels import Labels, labels_at
from athenan_spiel.learning.targets import Targets

WINDOW_BYTES = 16 * 2**20
"""Minibatches are unpacked together up to this size: enough that a pack is rarely opened for one row."""


class Batch(NamedTuple):
    """A minibatch of B states."""

    observations: NDArray[np.float32]
    """[B, size]"""
    labels: Labels
    """What is to be learned of each."""


def random_minibatches(
    memory: Sequence[Targets], first: int, count: int, batch_size: int, rng: np.random.Generator
) -> Iterator[Batch]:
    """Draw `count` states without replacement and split them into minibatches of B, the last one smaller (Algorithm 7).

    Args:
        memory: what is drawn from, laid end to end.
        first: states before this one are not drawn.
    """
    if not count:
        return iter(())
    rows = first + rng.choice(sum(map(len, memory)) - first, count, replace=False)
    return minibatches(memory, rows, np.append(np.arange(batch_size, count, batch_size), count))


def minibatches(memory: Sequence[Targets], rows: NDArray[np.int64], ends: NDArray[np.integer[Any]]) -> Iterator[Batch]:
    """The minibatches rows[0:ends[0]], rows[ends[0]:ends[1]], ... of `memory` laid end to end; at least one row."""
    labels = labels_at([targets.labels for targets in memory], rows)
    return _unpack([pack for targets in memory for pack in targets.rows], rows, labels, ends)


def _unpack(
    packs: list[CompactRows], rows: NDArray[np.int64], labels: Labels, ends: NDArray[np.integer[Any]]
) -> Iterator[Batch]:
    """Yield the minibatches, unpacking as many at once as WINDOW_BYTES."""
    at_once = max(1, WINDOW_BYTES // (4 * packs[0].size * int(ends[0])))
    start = 0
    for first in range(0, len(ends), at_once):
        window_start = start
        window = unpack_rows(packs, rows[start : ends[min(first + at_once, len(ends)) - 1]])
        for end in ends[first : first + at_once]:
            yield Batch(window[start - window_start : end - window_start], labels.take(slice(start, end)))
            start = end
