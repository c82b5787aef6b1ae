"""Experience replay (the article, Section 3.1, Algorithm 6).

The memory M is a queue of the last μ states, whatever match they are of; the first states of a match are the oldest of
it. A learning phase takes ⌈σ · μ⌉ of them at random, without replacement, or all where there are no more.

How it is held. M is a queue of blocks, of which the first may have lost its oldest rows. Small matches are packed
together into blocks of some thousand states, so that a sample of a memory of short matches opens a thousand packs and
not one for every state. What a state is learned as does not depend on its block.
"""

from __future__ import annotations

import copy
import math
from collections import deque
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.config import ReplayConfig
from athenan_spiel.encoding.compact import CompactRows
from athenan_spiel.encoding.stored_arrays import require_arrays
from athenan_spiel.errors import CheckpointError
from athenan_spiel.learning.labels import REPLAY, Labels, cut
from athenan_spiel.learning.replay.memory import row_sizes, targets_from_arrays, targets_to_arrays
from athenan_spiel.learning.replay.minibatches import Batch, random_minibatches
from athenan_spiel.learning.targets import Targets

BLOCK = 1024
"""Blocks of fewer states are packed together as soon as they have as many."""


class PlainReplay:
    """The last μ states, and random samples of σ · μ of them. A `Replay`.

    Remark 5: the oldest blocks leave, as few as possible, while all take more than `config.megabytes`; the newest match
    stays always.

    Args:
        config: μ (`states`), σ and the bound on memory.
        rng: the source of everything random here. Its state belongs to its owner and is not in `to_arrays`.
    """

    def __init__(self, config: ReplayConfig, rng: np.random.Generator) -> None:
        self._most = config.states
        self._most_bytes = config.megabytes * 1e6
        self._phase = math.ceil(Fraction(str(config.sampling)) * config.states)
        self._rng = rng
        self._blocks: deque[Targets] = deque()
        self._dropped = 0
        self._states = 0
        self._nbytes = 0
        self.lacked_room = False

    def states(self) -> int:
        """|M|: the states kept."""
        return self._states

    def row_sizes(self) -> set[int]:
        """How many numbers an observation has."""
        return row_sizes(self._blocks)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays kept."""
        return self._nbytes

    def add(self, targets: Targets) -> None:
        """Append D to M, and remove the oldest states that are too many."""
        self._append(targets)
        self._merge_small_blocks()
        self._drop_oldest(min(len(targets), self._most))

    def sample(self, batch_size: int) -> Iterator[Batch]:
        """Draw one learning phase and return its minibatches."""
        count = min(self._states, self._phase)
        return random_minibatches(list(self._blocks), self._dropped, count, batch_size, self._rng)

    def copy(self) -> PlainReplay:
        """Another memory of the same content, which shares the arrays and the generator."""
        twin = copy.copy(self)
        twin._blocks = self._blocks.copy()
        return twin

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The whole memory as a few flat arrays."""
        return targets_to_arrays(self._blocks) | {"dropped": np.array([self._dropped], np.int64)}

    @classmethod
    def from_arrays(
        cls, config: ReplayConfig, rng: np.random.Generator, arrays: Mapping[str, NDArray[Any]]
    ) -> PlainReplay:
        """Rebuild the memory that `to_arrays` returned; with `rng` in the same state, the same phases follow.

        Raises:
            CheckpointError: an array is missing, or two contradict each other.
        """
        require_arrays(REPLAY, arrays, {"dropped": (np.int64, 1)})
        replay = cls(config, rng)
        for block in targets_from_arrays(arrays):
            replay._append(block)
        (dropped,) = cut("dropped", arrays["dropped"], [1])[0].tolist()
        first = len(replay._blocks[0]) if replay._blocks else 1
        if not 0 <= dropped < first:
            raise CheckpointError(
                f"expected a number in [0, {first}) states dropped of the replay's first block, got {dropped!r}"
            )
        replay._dropped = dropped
        replay._states -= dropped
        replay._drop_oldest(newest=1)  # those that a larger memory has left
        return replay

    def _append(self, block: Targets) -> None:
        self._blocks.append(block)
        self._states += len(block)
        self._nbytes += block.nbytes

    def _merge_small_blocks(self) -> None:
        """Make one block of the small ones at the end, once they have enough states together."""
        small: deque[Targets] = deque()
        while self._blocks and len(self._blocks[-1]) < BLOCK:
            small.appendleft(self._blocks.pop())
        if sum(map(len, small)) >= BLOCK:
            merged = _merged(small)
            self._nbytes += merged.nbytes - sum(block.nbytes for block in small)
            self._blocks.append(merged)
        else:
            self._blocks.extend(small)

    def _drop_oldest(self, newest: int) -> None:
        """Remove the oldest states, as few as possible, until they are not too many and have room; `newest` stay."""
        while self._states > self._most or self._has_no_room(newest):
            self.lacked_room = self.lacked_room or self._states <= self._most
            self._drop_from_the_first_block()

    def _has_no_room(self, newest: int) -> bool:
        """The memory takes too much, and without its first block it would still hold the `newest` states."""
        return self._nbytes > self._most_bytes and self._states - len(self._blocks[0]) + self._dropped >= newest

    def _drop_from_the_first_block(self) -> None:
        """Remove the first block, or as much of it as is too old where that is less and leads to |M| = μ."""
        rest = len(self._blocks[0]) - self._dropped
        excess = self._states - self._most
        if 0 < excess < rest:
            self._dropped += excess
            self._states -= excess
        else:
            self._states -= rest
            self._nbytes -= self._blocks.popleft().nbytes
            self._dropped = 0


def _merged(blocks: deque[Targets]) -> Targets:
    rows = np.concatenate([pack.unpack() for block in blocks for pack in block.rows])
    return Targets([CompactRows.pack(rows)], Labels.joined([block.labels for block in blocks]))
