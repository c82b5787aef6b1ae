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
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.config import ReplayConfig
from athenan_spiel.encoding.compact import CompactRows, packs_from_arrays, packs_to_arrays, unpack_rows
from athenan_spiel.errors import CheckpointError
from athenan_spiel.learning.targets import Targets

WINDOW_BYTES = 16 * 2**20
"""Minibatches are unpacked together up to this size: enough that a pack is rarely opened for one row."""


class Batch(NamedTuple):
    """A minibatch of B states."""

    observations: NDArray[np.float32]
    """[B, size]"""
    values: NDArray[np.float32]
    """[B], the first player's view."""


@dataclass(slots=True, eq=False)
class _Match:
    """(D, D') of one match: D' is `order[:drawn]`, D is `order[drawn:]`, never empty between two phases."""

    targets: Targets
    order: NDArray[np.int32]
    drawn: int = 0

    def __len__(self) -> int:
        return len(self.order)

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return self.order.nbytes + self.targets.values.nbytes + sum(pack.nbytes for pack in self.targets.rows)

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


class StratifiedReplay:
    """The memory M of Algorithm 8, and the learning phases drawn from it.

    While fewer than μ matches are kept, the share of each match in a phase is still δ/μ, as the algorithm has it:
    the first phases are short. So every state is learned δ times in the μ phases that its match is kept, however
    full the memory was meanwhile, and at least that: ⌈·⌉ rounds up once per match and phase.

    Remark 5: the oldest matches leave, as few as possible, while they all take more than `config.megabytes`; the
    newest stays always.

    Args:
        config: μ, δ and the bound on memory.
        rng: the source of everything random here. Its state belongs to its owner and is not in `to_arrays`.
    """

    def __init__(self, config: ReplayConfig, rng: np.random.Generator) -> None:
        self._config = config
        self._rng = rng
        self._rate = Fraction(str(config.duplication)) / config.matches  # exact, lest rounding up adds a state
        self._most_bytes = config.megabytes * 1e6
        self._matches: deque[_Match] = deque()

    def __len__(self) -> int:
        """|M|: the matches kept."""
        return len(self._matches)

    def states(self) -> int:
        """Σ |D| + |D'|: the states kept."""
        return sum(len(match) for match in self._matches)

    def row_sizes(self) -> set[int]:
        """How many numbers an observation has: one size, unless the replay is not what it should be."""
        return {pack.size for match in self._matches for pack in match.targets.rows}

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays kept."""
        return sum(match.nbytes for match in self._matches)

    def add(self, targets: Targets) -> None:
        """Append (D, ∅) to M, and remove the oldest matches that are too many."""
        order = self._rng.permutation(np.arange(len(targets), dtype=np.int32))
        self._matches.append(_Match(targets, order))
        nbytes = self.nbytes
        while len(self._matches) > self._config.matches or (len(self._matches) > 1 and nbytes > self._most_bytes):
            nbytes -= self._matches.popleft().nbytes

    def sample_size(self, states: int) -> int:
        """⌈δ/μ · states⌉: how many states of a match with `states` of them a phase learns."""
        return math.ceil(self._rate * states)

    def sample(self, batch_size: int) -> Iterator[Batch]:
        """Draw one learning phase and return its minibatches, of about `batch_size` states each.

        The phase is drawn before this returns; the minibatches are unpacked as they are asked for, a few at a time.
        Of an empty memory there are none.
        """
        matches = list(self._matches)
        drawn = [match.draw(self.sample_size(len(match)), self._rng) for match in matches]
        count = sum(map(len, drawn))
        if not count:
            return iter(())
        firsts = np.cumsum([0, *map(len, matches)])
        rows = np.concatenate([part + first for part, first in zip(drawn, firsts, strict=False)])
        values = np.concatenate([match.targets.values[part] for match, part in zip(matches, drawn, strict=True)])
        dealt = deal(count, minibatch_count(count, batch_size), self._rng)
        by_minibatch = np.argsort(dealt, kind="stable")
        ends = np.cumsum(np.bincount(dealt))
        packs = [pack for match in matches for pack in match.targets.rows]
        return _unpack(packs, rows[by_minibatch], values[by_minibatch], ends)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the whole memory, D and D' of each match included, as a few flat arrays for `np.savez`."""
        matches = list(self._matches)
        return packs_to_arrays([pack for match in matches for pack in match.targets.rows]) | {
            "packs": np.array([len(match.targets.rows) for match in matches], np.int64),
            "drawn": np.array([match.drawn for match in matches], np.int64),
            "order": np.concatenate([np.empty(0, np.int32), *(match.order for match in matches)]),
            "values": np.concatenate([np.empty(0, np.float32), *(match.targets.values for match in matches)]),
        }

    @classmethod
    def from_arrays(
        cls, config: ReplayConfig, rng: np.random.Generator, arrays: Mapping[str, NDArray[Any]]
    ) -> StratifiedReplay:
        """Rebuild the memory that `to_arrays` returned; with `rng` in the same state, the same phases follow.

        Raises:
            CheckpointError: an array is missing, or two contradict each other.
        """
        missing = [name for name in ("packs", "drawn", "order", "values") if name not in arrays]
        if missing:
            raise CheckpointError(f"expected a replay as StratifiedReplay.to_arrays gives it, got none of {missing!r}")
        packs = iter(packs_from_arrays(arrays))
        rows = [list(islice(packs, count)) for count in arrays["packs"]]
        ends = np.cumsum([sum(map(len, match_rows)) for match_rows in rows], dtype=np.int64)
        total = int(ends[-1]) if len(ends) else 0
        lengths = (len(arrays["order"]), len(arrays["values"]), len(arrays["drawn"]))
        if lengths != (total, total, len(rows)):
            raise CheckpointError(f"expected {total!r} states of {len(rows)!r} matches in the replay, got {lengths!r}")
        replay = cls(config, rng)
        orders = np.split(arrays["order"], ends[:-1])
        values = np.split(arrays["values"], ends[:-1])
        for match_rows, order, v, drawn in zip(rows, orders, values, arrays["drawn"], strict=False):
            replay._matches.append(_Match(Targets(match_rows, v.copy()), order.copy(), int(drawn)))
        return replay


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


def _unpack(
    packs: list[CompactRows], rows: NDArray[np.int64], values: NDArray[np.float32], ends: NDArray[np.int64]
) -> Iterator[Batch]:
    """Yield the minibatches rows[0:ends[0]], rows[ends[0]:ends[1]], ..., unpacking as many at once as WINDOW_BYTES."""
    at_once = max(1, WINDOW_BYTES // (4 * packs[0].size * int(ends[0])))
    start = 0
    for first in range(0, len(ends), at_once):
        window_start = start
        window = unpack_rows(packs, rows[start : ends[min(first + at_once, len(ends)) - 1]])
        for end in ends[first : first + at_once]:
            yield Batch(window[start - window_start : end - window_start], values[start:end])
            start = end
