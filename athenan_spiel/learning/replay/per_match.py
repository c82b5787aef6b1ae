"""Experience replay over matches (the article, Section 9.3.1, footnote 8).

"A variant of replay experience was applied, it memorizes the pairs of the last 100 games and not the last 100 pairs":
μ counts matches. The footnote leaves open what the sampling rate σ is a share of; here a learning phase takes ⌈σ · n⌉
of the n pairs in memory at random, without replacement, however few matches there are yet. So a state is learned about
σ · μ times while its match is kept, as many times as a full memory of Algorithm 6 would have it.

With μ = 1 and σ = 1 it is no replay at all: each phase learns the match just played, all of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from athenan_spiel.learning.replay.base import Replay
from athenan_spiel.learning.replay.minibatches import Batch, random_minibatches
from athenan_spiel.learning.targets import Targets


class PerMatchReplay(Replay):
    """The targets of the last μ matches (`config.matches`), and random shares σ (`config.sampling`) of them."""

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
