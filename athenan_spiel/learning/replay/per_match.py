"""Experience replay over matches (the article, Section 9.3.1, footnote 8).

"A variant of replay experience was applied, it memorizes the pairs of the last 100 games and not the last 100 pairs":
μ counts matches. The footnote leaves open what the sampling rate σ is a share of; here a learning phase takes ⌈σ · n⌉
of the n pairs in memory at random, without replacement, however few matches there are yet. So a state is learned about
σ · μ times while its match is kept, as many times as a full memory of Algorithm 6 would have it.

With μ = 1 and σ = 1 it is no replay at all: each phase learns the match just played, all of it.
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
from athenan_spiel.learning.replay.memory import drop_oldest, row_sizes, targets_from_arrays, targets_to_arrays
from athenan_spiel.learning.replay.minibatches import Batch, random_minibatches
from athenan_spiel.learning.targets import Targets


class PerMatchReplay:
    """The targets of the last μ matches, and random shares σ of them. A `Replay`.

    Args:
        config: μ (`matches`), σ and the bound on memory.
        rng: the source of everything random here. Its state belongs to its owner and is not in `to_arrays`.
    """

    def __init__(self, config: ReplayConfig, rng: np.random.Generator) -> None:
        self._config = config
        self._rng = rng
        self._rate = Fraction(str(config.sampling))  # exact, or rounding up could add a state
        self._matches: deque[Targets] = deque()
        self.lacked_room = False

    def __len__(self) -> int:
        """The matches kept."""
        return len(self._matches)

    def states(self) -> int:
        """The states kept."""
        return sum(map(len, self._matches))

    def row_sizes(self) -> set[int]:
        """How many numbers an observation has."""
        return row_sizes(self._matches)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays kept."""
        return sum(targets.nbytes for targets in self._matches)

    def add(self, targets: Targets) -> None:
        """Keep a match; the oldest ones leave, those beyond μ and, as few as possible, those without room."""
        self._matches.append(targets)
        self._drop_oldest()

    def sample(self, batch_size: int) -> Iterator[Batch]:
        """Draw one learning phase and return its minibatches."""
        count = math.ceil(self._rate * self.states())
        return random_minibatches(list(self._matches), 0, count, batch_size, self._rng)

    def copy(self) -> PerMatchReplay:
        """Another memory of the same content, which shares the arrays and the generator."""
        twin = copy.copy(self)
        twin._matches = self._matches.copy()
        return twin

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The whole memory as a few flat arrays."""
        return targets_to_arrays(self._matches)

    @classmethod
    def from_arrays(
        cls, config: ReplayConfig, rng: np.random.Generator, arrays: Mapping[str, NDArray[Any]]
    ) -> PerMatchReplay:
        """Rebuild the memory that `to_arrays` returned; with `rng` in the same state, the same phases follow.

        Raises:
            CheckpointError: an array is missing, or two contradict each other.
        """
        replay = cls(config, rng)
        replay._matches.extend(targets_from_arrays(arrays))
        replay._drop_oldest()  # those that a larger memory has left
        return replay

    def _drop_oldest(self) -> None:
        lacked = drop_oldest(self._matches, self._config.matches, self._config.megabytes * 1e6)
        self.lacked_room = self.lacked_room or lacked
