"""Stratified experience replay (the article, Section 3.2, Algorithm 8).

The memory M holds the last μ matches as pairs (D, D'): what of a match is still to be learned in this turn, and
what was learned already. A learning phase takes ⌈δ/μ · (|D| + |D'|)⌉ states of every match without replacement
and deals them into minibatches, so that each minibatch holds about the same share of every match. When D is
empty, D ← D', D' ← ∅ and the next turn begins, in mid-phase if need be.

How it is held. D and D' are one permutation of the match's rows: drawn from its front one after another, the rows
before `drawn` are D' and the others D. A uniform permutation read in order is the algorithm's repeated choice(D)
without replacement, so the two have the same distribution; nothing loops over states.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.encoding.stored_arrays import require_arrays, require_within
from athenan_spiel.errors import CheckpointError
from athenan_spiel.learning.labels import REPLAY, cut
from athenan_spiel.learning.replay.base import Batch, Replay, minibatches
from athenan_spiel.learning.targets import Targets


@dataclass(slots=True, eq=False)
class _Match:
    """(D, D') of one match: D' is `order[:drawn]`, D is `order[drawn:]`, never empty between two phases.

    An order is replaced, never changed, so copies may share it.
    """

    targets: Targets
    order: NDArray[np.int32]
    drawn: int = 0

    def __len__(self) -> int:
        return len(self.order)

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return self.order.nbytes + self.targets.nbytes

    def draw(self, count: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """Return `count` rows: each is a choice(D), moved to D'; whenever D is empty, D ← D', D' ← ∅."""
        parts = [np.empty(0, np.int32)]
        while count:
            parts.append(self.order[self.drawn : self.drawn + count])
            count -= len(parts[-1])
            self.drawn += len(parts[-1])
            if self.drawn == len(self.order):
                self.order = rng.permutation(self.order)
                self.drawn = 0
        return np.concatenate(parts)


class StratifiedReplay(Replay):
    """The memory M of Algorithm 8, of μ matches (`config.matches`), and the learning phases drawn from it.

    While fewer than μ matches are kept, the share of each match in a phase is still δ/μ, as the algorithm has it:
    the first phases are short. So every state is learned δ times (`config.duplication`) in the μ phases that its match
    is kept, however full the memory was meanwhile, and at least that: ⌈·⌉ rounds up once per match and phase.
    """

    def add(self, targets: Targets) -> None:
        """Appends (D, ∅) to M, and removes the oldest matches that are too many."""
        order = self._rng.permutation(np.arange(len(targets), dtype=np.int32))
        self._kept.append(_Match(targets, order))
        self._drop_oldest()

    def sample_size(self, states: int) -> int:
        """⌈δ/μ · states⌉: how many states of a match with `states` of them a phase learns."""
        rate = Fraction(str(self._config.duplication)) / self._config.matches  # exact, or rounding up could add a state
        return math.ceil(rate * states)

    def sample(self, batch_size: int) -> Iterator[Batch]:
        """As `Replay.sample`; minibatches have about `batch_size` states each."""
        drawn = [match.draw(self.sample_size(len(match)), self._rng) for match in self._kept]
        count = sum(map(len, drawn))
        if not count:
            return iter(())
        firsts = np.cumsum([0, *map(len, self._kept)])
        rows = np.concatenate([part + first for part, first in zip(drawn, firsts, strict=False)])
        dealt = deal(count, minibatch_count(count, batch_size), self._rng)
        by_minibatch = np.argsort(dealt, kind="stable")
        return minibatches(self._targets(), rows[by_minibatch], np.cumsum(np.bincount(dealt)))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """As `Replay.to_arrays`, with D and D' of each match."""
        return super().to_arrays() | {
            "drawn": np.array([match.drawn for match in self._kept], np.int64),
            "order": np.concatenate([np.empty(0, np.int32), *(match.order for match in self._kept)]),
        }

    def _restore(self, memory: Sequence[Targets], arrays: Mapping[str, NDArray[Any]]) -> None:
        require_arrays(REPLAY, arrays, {"drawn": (np.int64, 1), "order": (np.int32, 1)})
        orders = cut("order", arrays["order"], list(map(len, memory)))
        drawn = cut("drawn", arrays["drawn"], [1] * len(memory))
        for targets, order, count in zip(memory, orders, drawn, strict=True):
            _require_turn(order, count)
            self._kept.append(_Match(targets, order, int(count[0])))

    def _targets(self) -> list[Targets]:
        return [match.targets for match in self._kept]


def _require_turn(order: NDArray[np.int32], drawn: NDArray[np.int64]) -> None:
    """Raise `CheckpointError` unless `order` is a permutation of a match's rows, of which some are not drawn yet."""
    if not np.array_equal(np.sort(order), np.arange(len(order))):
        raise CheckpointError(f"expected 'order' of the replay to hold each of a match's {len(order)} rows once")
    require_within(REPLAY, "drawn", drawn, 0, max(1, len(order)))


def minibatch_count(states: int, batch_size: int) -> int:
    """g of Algorithm 8: the number of minibatches whose ⌊n/g⌋ is nearest to B, the smaller of two as near."""
    g = max(1, states // batch_size)
    if abs(states // g - batch_size) > abs(states // (g + 1) - batch_size):
        g += 1
    return g


def deal(states: int, minibatches: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Deal n states to minibatches 0 to g - 1 in rounds; return the minibatch of each, int64 [n].

    In each round every minibatch gets one state, in random order; the last round may end early. This is
    j ← choice(G), G ← G \\ {j}, and all of G again once it is empty, in Algorithm 8.
    """
    rounds = np.tile(np.arange(minibatches), (-(-states // minibatches), 1))
    return rng.permuted(rounds, axis=1).ravel()[:states]
