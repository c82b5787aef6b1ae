"""Experience replay (the article, Section 3.1, Algorithm 6).

The memory M is a queue of the last μ states of all games; within a game, the first states are the oldest. A learning
phase draws ⌈σ · μ⌉ of them at random without replacement, or all if there are fewer.

Implementation: M is a queue of blocks, and the oldest rows of the first block may be dropped. Small games are packed
together into blocks of at least `BLOCK` states. So with μ = 10⁶ a sample from many short games unpacks about a thousand
packs, and not one pack for every state. Blocks do not affect what is learned, except that the memory limit removes
whole blocks.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.config import ReplayConfig
from athenan_spiel.encoding.compact import CompactRows
from athenan_spiel.encoding.stored_arrays import require_arrays
from athenan_spiel.errors import CheckpointError
from athenan_spiel.learning.labels import REPLAY, Labels, cut
from athenan_spiel.learning.replay.base import Batch, Replay, random_minibatches
from athenan_spiel.learning.targets import Targets

BLOCK = 1024
"""Blocks with fewer states are packed together as soon as their sum reaches this number."""


class PlainReplay(Replay):
    """Memory of the last μ states (`config.states`), with random samples of ⌈σ · μ⌉ of them."""

    def __init__(self, config: ReplayConfig, rng: np.random.Generator) -> None:
        super().__init__(config, rng)
        self._dropped = 0

    def states(self) -> int:
        """Returns the number of states in memory, |M|."""
        return super().states() - self._dropped

    def add(self, targets: Targets) -> None:
        """Appends D to M, and removes the oldest states beyond the limits."""
        self._kept.append(targets)
        self._merge_small_blocks()
        self._drop_oldest(min(len(targets), self._config.states))

    def sample(self, batch_size: int) -> Iterator[Batch]:
        """As `Replay.sample`."""
        phase = math.ceil(Fraction(str(self._config.sampling)) * self._config.states)
        return random_minibatches(self._targets(), self._dropped, min(self.states(), phase), batch_size, self._rng)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """As `Replay.to_arrays`."""
        return super().to_arrays() | {"dropped": np.array([self._dropped], np.int64)}

    def _restore(self, memory: Sequence[Targets], arrays: Mapping[str, NDArray[Any]]) -> None:
        require_arrays(REPLAY, arrays, {"dropped": (np.int64, 1)})
        (dropped,) = cut("dropped", arrays["dropped"], [1])[0].tolist()
        first = len(memory[0]) if memory else 1
        if not 0 <= dropped < first:
            raise CheckpointError(
                f"expected the number of dropped states of the replay's first block in [0, {first}), got {dropped!r}"
            )
        self._kept.extend(memory)
        self._dropped = dropped

    def _merge_small_blocks(self) -> None:
        """Merges the small blocks at the end once they have enough states."""
        small: deque[Targets] = deque()
        while self._kept and len(self._kept[-1]) < BLOCK:
            small.appendleft(self._kept.pop())
        if sum(map(len, small)) >= BLOCK:
            self._kept.append(_merged(small))
        else:
            self._kept.extend(small)

    def _drop_oldest(self, newest: int = 1) -> None:
        """Removes the oldest states until |M| ≤ μ and the memory limit holds, but keeps the `newest` last ones.

        The first block is removed as a whole. If only a part of it exceeds μ, only that part is dropped.
        """
        most, most_bytes = self._config.states, self._config.megabytes * 1e6
        states, nbytes = self.states(), self.nbytes
        while states > most or (nbytes > most_bytes and states - len(self._kept[0]) + self._dropped >= newest):
            self.lacked_room = self.lacked_room or states <= most
            rest, excess = len(self._kept[0]) - self._dropped, states - most
            if 0 < excess < rest:
                self._dropped += excess
                states = most
            else:
                states -= rest
                nbytes -= self._kept.popleft().nbytes
                self._dropped = 0


def _merged(blocks: deque[Targets]) -> Targets:
    rows = np.concatenate([pack.unpack() for block in blocks for pack in block.rows])
    return Targets([CompactRows.pack(rows)], Labels.joined([block.labels for block in blocks]))


class PerMatchReplay(Replay):
    """Experience replay over games (the article, Section 9.3.1, footnote 8).

    "A variant of replay experience was applied, it memorizes the pairs of the last 100 games and not the last 100
    pairs": μ (`config.matches`) counts games. The footnote doesn't define the base of the sampling rate σ
    (`config.sampling`). Here a learning phase draws ⌈σ · n⌉ of the n pairs in memory at random, without replacement,
    however few games there are yet. So a state is learned about σ · μ times while its game is kept, as often as from a
    full memory of Algorithm 6.

    With μ = 1 and σ = 1 there is no replay: each phase learns the whole last game.
    """

    def add(self, targets: Targets) -> None:
        """As `Replay.add`."""
        self._kept.append(targets)
        self._drop_oldest()

    def sample(self, batch_size: int) -> Iterator[Batch]:
        """As `Replay.sample`."""
        rate = Fraction(str(self._config.sampling))  # exact, or rounding up could add a state
        return random_minibatches(self._targets(), 0, math.ceil(rate * self.states()), batch_size, self._rng)

    def _restore(self, memory: Sequence[Targets], arrays: Mapping[str, NDArray[Any]]) -> None:
        self._kept.extend(memory)
