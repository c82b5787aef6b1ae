"""Base class of experience replays, with the games that it keeps, their maximum memory and arrays, and minibatches."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.config import ReplayConfig
from athenan_spiel.encoding.compact import CompactRows, packs_from_arrays, packs_to_arrays, unpack_rows
from athenan_spiel.encoding.stored_arrays import require_arrays, require_within
from athenan_spiel.errors import CheckpointError
from athenan_spiel.learning.labels import REPLAY, Labels, labels_at, labels_from_arrays, labels_to_arrays
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


class Replay(ABC):
    """A memory of targets, and the learning phases drawn from it: one `add` and one `sample` per match.

    Remark 5: the oldest matches leave, as few as possible, while all take more than `config.megabytes`; the newest
    always stays.

    Args:
        config: sizes, rates and the bound on memory.
        rng: the source of everything random. Its state belongs to its owner and is not in `to_arrays`.

    Attributes:
        lacked_room: whether something that it would have kept has left it, as all would have taken too many bytes.
    """

    def __init__(self, config: ReplayConfig, rng: np.random.Generator) -> None:
        self._config = config
        self._rng = rng
        self._kept: deque[Any] = deque()
        """`Targets`, or what holds those of a match; all have a length and `nbytes`."""
        self.lacked_room = False

    @abstractmethod
    def add(self, targets: Targets) -> None:
        """Keeps the targets of a match just played; what is too old or too much leaves, never what came now."""

    @abstractmethod
    def sample(self, batch_size: int) -> Iterator[Batch]:
        """Draws one learning phase and returns its minibatches; an empty memory gives none.

        The phase is drawn before this returns; the minibatches are unpacked as they are asked for.
        """

    @abstractmethod
    def _restore(self, memory: Sequence[Targets], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keeps what `to_arrays` returned, of which `memory` are the targets.

        Raises:
            CheckpointError: an array is missing, or two contradict each other.
        """

    def __len__(self) -> int:
        return len(self._kept)

    def states(self) -> int:
        """Number of states kept."""
        return sum(map(len, self._kept))

    def row_sizes(self) -> set[int]:
        """Numbers in an observation: one size, unless the replay is not what it should be."""
        return {pack.size for targets in self._targets() for pack in targets.rows}

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays kept."""
        return sum(kept.nbytes for kept in self._kept)

    def copy(self) -> Self:
        """Returns another memory of the same content, which shares the arrays and the generator."""
        twin = copy.copy(self)
        twin._kept = deque(map(copy.copy, self._kept))
        return twin

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Returns the whole memory as a few flat arrays, without the generator's state."""
        memory = self._targets()
        return (
            packs_to_arrays([pack for targets in memory for pack in targets.rows])
            | {"packs": np.array([len(targets.rows) for targets in memory], np.int64)}
            | labels_to_arrays([targets.labels for targets in memory])
        )

    @classmethod
    def from_arrays(cls, config: ReplayConfig, rng: np.random.Generator, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Rebuilds the memory that `to_arrays` returned; with `rng` in the same state, the same phases follow.

        Raises:
            CheckpointError: an array is missing, or two contradict each other.
        """
        replay = cls(config, rng)
        replay._restore(_targets_from_arrays(arrays), arrays)
        replay._drop_oldest()  # a larger memory leaves more than this one may keep
        return replay

    def _targets(self) -> list[Targets]:
        return list(self._kept)

    def _drop_oldest(self) -> None:
        """Removes the oldest matches, as few as possible."""
        most, most_bytes = self._config.matches, self._config.megabytes * 1e6
        nbytes = self.nbytes
        while len(self) > most or (len(self) > 1 and nbytes > most_bytes):
            self.lacked_room = self.lacked_room or len(self) <= most
            nbytes -= self._kept.popleft().nbytes


def _targets_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> list[Targets]:
    """Rebuilds the targets that `Replay.to_arrays` laid end to end; they share no memory with `arrays`.

    Raises:
        CheckpointError: an array is missing, of another type, or contradicts another one.
    """
    require_arrays(REPLAY, arrays, {"packs": (np.int64, 1)})
    every = packs_from_arrays(arrays)
    require_within(REPLAY, "packs", arrays["packs"], 0, len(every) + 1)
    if arrays["packs"].sum() != len(every):
        raise CheckpointError(f"expected {arrays['packs'].sum()} packs in the replay, got {len(every)!r}")
    packs = iter(every)
    rows = [list(islice(packs, count)) for count in arrays["packs"]]
    labels = labels_from_arrays(arrays, [sum(map(len, part)) for part in rows])
    return [Targets(part, columns) for part, columns in zip(rows, labels, strict=True)]
