"""Stratified experience replay (the article, Section 3.2, Algorithm 8).

The memory M contains the last μ games as pairs (D, D'): the states of a game not learned yet in the current pass over
it, and those already learned. A learning phase draws ⌈δ/μ · (|D| + |D'|)⌉ states of every game without replacement,
and distributes them over minibatches, so that each minibatch has about the same fraction of every game. When D is
empty, D ← D', D' ← ∅ and the next pass starts, even during a phase.

Implementation: D' and D are the two parts of one permutation of a game's rows, before and from index `drawn`. Reading a
uniform permutation in order has the same distribution as the algorithm's repeated choice(D) without replacement, and
needs no loop over states.
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

MAX_INTENSITY = 3
"""Maximum number of times that each state is learned with `learning_share`, divided by δ."""


@dataclass(slots=True, eq=False)
class _Game:
    """(D, D') of one game: D' is `order[:drawn]`, and D is `order[drawn:]`, which is never empty between two phases.

    `order` is replaced and never changed in place, so copies may share it.
    """

    targets: Targets
    order: NDArray[np.int32]
    drawn: int = 0

    def __len__(self) -> int:
        return len(self.order)

    @property
    def nbytes(self) -> int:
        """Size of the arrays, in bytes."""
        return self.order.nbytes + self.targets.nbytes

    def draw(self, count: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """Draws `count` rows by choice(D) and moves them to D'; whenever D is empty, D ← D', D' ← ∅."""
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
    """Memory M of Algorithm 8 with the last μ games (`config.matches`).

    As in the algorithm, a phase draws the fraction δ/μ of each game even while there are fewer than μ games, so the
    first phases are short. A game stays for μ phases, so each of its states is learned about δ times
    (`config.duplication`), independent of the number of games in memory; slightly more often, as ⌈·⌉ rounds up once
    per game and phase. With `intensity` > 1 it is learned more often, at most `MAX_INTENSITY` times δ.
    """

    def add(self, targets: Targets) -> None:
        """Appends (D, ∅) to M, and removes the oldest games beyond the limits."""
        order = self._rng.permutation(np.arange(len(targets), dtype=np.int32))
        self._kept.append(_Game(targets, order))
        self._drop_oldest()

    def sample_size(self, states: int) -> int:
        """Returns ⌈δ/μ · states⌉, the number of states that a phase draws from a game with `states` states."""
        rate = Fraction(str(self._config.duplication)) / self._config.matches  # exact, or rounding up could add a state
        return math.ceil(rate * Fraction(min(self.intensity, self.max_intensity)) * states)

    @property
    def max_intensity(self) -> float:
        """As `Replay.max_intensity`: with it, a phase draws `MAX_INTENSITY` times δ average games."""
        return MAX_INTENSITY * self._config.matches / max(1, len(self))

    def sample(self, batch_size: int) -> Iterator[Batch]:
        """As `Replay.sample`; minibatches have about `batch_size` states each."""
        drawn = [game.draw(self.sample_size(len(game)), self._rng) for game in self._kept]
        count = sum(map(len, drawn))
        if not count:
            return iter(())
        firsts = np.cumsum([0, *map(len, self._kept)])
        rows = np.concatenate([part + first for part, first in zip(drawn, firsts, strict=False)])
        minibatch_of = deal(count, minibatch_count(count, batch_size), self._rng)
        by_minibatch = np.argsort(minibatch_of, kind="stable")
        return minibatches(self._targets(), rows[by_minibatch], np.cumsum(np.bincount(minibatch_of)))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """As `Replay.to_arrays`, with D and D' of each game."""
        return super().to_arrays() | {
            "drawn": np.array([game.drawn for game in self._kept], np.int64),
            "order": np.concatenate([np.empty(0, np.int32), *(game.order for game in self._kept)]),
        }

    def _restore(self, memory: Sequence[Targets], arrays: Mapping[str, NDArray[Any]]) -> None:
        require_arrays(REPLAY, arrays, {"drawn": (np.int64, 1), "order": (np.int32, 1)})
        orders = cut("order", arrays["order"], list(map(len, memory)))
        drawn = cut("drawn", arrays["drawn"], [1] * len(memory))
        for targets, order, count in zip(memory, orders, drawn, strict=True):
            _require_order(order, count)
            self._kept.append(_Game(targets, order, int(count[0])))

    def _targets(self) -> list[Targets]:
        return [game.targets for game in self._kept]


def _require_order(order: NDArray[np.int32], drawn: NDArray[np.int64]) -> None:
    """Raises `CheckpointError` unless `order` is a permutation of a game's rows, and some rows are not drawn yet."""
    if not np.array_equal(np.sort(order), np.arange(len(order))):
        raise CheckpointError(f"expected 'order' of the replay to contain each of a game's {len(order)} rows once")
    require_within(REPLAY, "drawn", drawn, 0, max(1, len(order)))


def minibatch_count(states: int, batch_size: int) -> int:
    """Returns g of Algorithm 8: the number of minibatches whose size ⌊n/g⌋ is closest to B; the smaller g on a tie."""
    g = max(1, states // batch_size)
    if abs(states // g - batch_size) > abs(states // (g + 1) - batch_size):
        g += 1
    return g


def deal(states: int, minibatches: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Distributes n states over minibatches 0 to g - 1 in rounds; returns the minibatch of each, int64 [n].

    Each round gives every minibatch one state, in random order; the last round may end early. In Algorithm 8 this is
    j ← choice(G), G ← G \\ {j}, where G becomes the set of all minibatches again once it is empty.
    """
    rounds = np.tile(np.arange(minibatches), (-(-states // minibatches), 1))
    return rng.permuted(rounds, axis=1).ravel()[:states]
