"""Base class of experience replays: stored games, the memory limit, conversion to arrays, and minibatches."""

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
"""Maximum size of minibatches unpacked together. It is so large that a pack is rarely unpacked for a single row."""


class Batch(NamedTuple):
    """A minibatch of B states."""

    observations: NDArray[np.float32]
    """[B, size]: encoded states."""
    labels: Labels
    """Label of each state."""


def random_minibatches(
    memory: Sequence[Targets], first: int, count: int, batch_size: int, rng: np.random.Generator
) -> Iterator[Batch]:
    """Draws states without replacement, and splits them into minibatches of B; the last may be smaller (Algorithm 7).

    Args:
        memory: targets to draw from, as if concatenated.
        first: index of the first state that may be drawn.
        count: number of states to draw.
    """
    if not count:
        return iter(())
    rows = first + rng.choice(sum(map(len, memory)) - first, count, replace=False)
    return minibatches(memory, rows, np.append(np.arange(batch_size, count, batch_size), count))


def minibatches(memory: Sequence[Targets], rows: NDArray[np.int64], ends: NDArray[np.integer[Any]]) -> Iterator[Batch]:
    """Yields the minibatches rows[0:ends[0]], rows[ends[0]:ends[1]], ... of the concatenated `memory`.

    There must be at least one.
    """
    labels = labels_at([targets.labels for targets in memory], rows)
    return _unpack([pack for targets in memory for pack in targets.rows], rows, labels, ends)


def _unpack(
    packs: list[CompactRows], rows: NDArray[np.int64], labels: Labels, ends: NDArray[np.integer[Any]]
) -> Iterator[Batch]:
    """Yields the minibatches. Unpacks several at once, up to `WINDOW_BYTES`."""
    at_once = max(1, WINDOW_BYTES // (4 * packs[0].size * int(ends[0])))
    start = 0
    for first in range(0, len(ends), at_once):
        window_start = start
        window = unpack_rows(packs, rows[start : ends[min(first + at_once, len(ends)) - 1]])
        for end in ends[first : first + at_once]:
            yield Batch(window[start - window_start : end - window_start], labels.take(slice(start, end)))
            start = end


class Replay(ABC):
    """Memory of targets from which learning phases are drawn: one `add` and one `sample` per game.

    If the stored games need more than `config.megabytes`, the oldest are removed, as few as possible. The newest always
    stays (Remark 5).

    Args:
        config: sizes, rates and the memory limit.
        rng: draws the samples. Its owner saves its state, so `to_arrays` does not contain it.

    Attributes:
        lacked_room: whether the memory limit has removed targets that the other limits would have kept.
        intensity: factor of the number of states that a phase of `stratified` draws (`ReplayConfig.learning_share`).
    """

    def __init__(self, config: ReplayConfig, rng: np.random.Generator) -> None:
        self._config = config
        self._rng = rng
        self._kept: deque[Any] = deque()
        """`Targets`, or objects of a subclass that contain them, with a length and `nbytes`; the oldest first."""
        self.lacked_room = False
        self.intensity = 1.0

    @abstractmethod
    def add(self, targets: Targets) -> None:
        """Adds the targets of a finished game, and removes the oldest ones beyond the limits, but none of this game."""

    @abstractmethod
    def sample(self, batch_size: int) -> Iterator[Batch]:
        """Draws one learning phase and returns an iterator over its minibatches; none if the memory is empty.

        The phase is drawn before this returns. Minibatches are unpacked during the iteration.
        """

    @abstractmethod
    def _restore(self, memory: Sequence[Targets], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restores the content from the result of `to_arrays`.

        Args:
            memory: targets in `arrays`.
            arrays: result of `to_arrays`.

        Raises:
            CheckpointError: an array is missing, or two contradict each other.
        """

    @property
    def max_intensity(self) -> float:
        """Maximum of `intensity`; it is 1 if phases cannot be longer."""
        return 1.0

    def __len__(self) -> int:
        return len(self._kept)

    def states(self) -> int:
        """Returns the number of states in memory."""
        return sum(map(len, self._kept))

    def row_sizes(self) -> set[int]:
        """Returns all lengths of observations in memory: one, unless a checkpoint is invalid."""
        return {pack.size for targets in self._targets() for pack in targets.rows}

    def value_shapes(self) -> set[tuple[int, ...]]:
        """Returns all shapes of a state's value in memory, () or (players,): one, unless a checkpoint is invalid."""
        return {targets.labels.values.shape[1:] for targets in self._targets()}

    @property
    def nbytes(self) -> int:
        """Size of all arrays in memory, in bytes."""
        return sum(kept.nbytes for kept in self._kept)

    def copy(self) -> Self:
        """Returns a copy that shares the arrays and the random generator."""
        twin = copy.copy(self)
        twin._kept = deque(map(copy.copy, self._kept))
        return twin

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Returns the content as a few flat arrays, without the state of the random generator."""
        memory = self._targets()
        return (
            packs_to_arrays([pack for targets in memory for pack in targets.rows])
            | {"packs": np.array([len(targets.rows) for targets in memory], np.int64)}
            | labels_to_arrays([targets.labels for targets in memory])
        )

    @classmethod
    def from_arrays(cls, config: ReplayConfig, rng: np.random.Generator, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Returns the replay whose `to_arrays` returned `arrays`.

        With `rng` in the same state, it draws the same phases.

        Raises:
            CheckpointError: an array is missing, or two contradict each other.
        """
        replay = cls(config, rng)
        replay._restore(_targets_from_arrays(arrays), arrays)
        replay._drop_oldest()  # the limits may be lower than those of the saved replay
        return replay

    def _targets(self) -> list[Targets]:
        return list(self._kept)

    def _drop_oldest(self) -> None:
        """Removes the oldest games, as few as possible."""
        most, most_bytes = self._config.matches, self._config.megabytes * 1e6
        nbytes = self.nbytes
        while len(self) > most or (len(self) > 1 and nbytes > most_bytes):
            self.lacked_room = self.lacked_room or len(self) <= most
            nbytes -= self._kept.popleft().nbytes


def _targets_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> list[Targets]:
    """Returns the targets that `Replay.to_arrays` concatenated; they share no memory with `arrays`.

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
