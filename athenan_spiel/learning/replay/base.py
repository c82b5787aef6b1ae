"""The interface of every experience replay, and the replay that a configuration names."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.config import ReplayConfig
from athenan_spiel.learning.replay.minibatches import Batch
from athenan_spiel.learning.replay.per_match import PerMatchReplay
from athenan_spiel.learning.replay.plain import PlainReplay
from athenan_spiel.learning.replay.stratified import StratifiedReplay
from athenan_spiel.learning.targets import Targets


class Replay(Protocol):
    """A memory of targets, and the learning phases drawn from it: one `add` and one `sample` a match.

    Attributes:
        lacked_room: what it would have kept has left it, as all would have taken too many bytes.
    """

    lacked_room: bool

    def add(self, targets: Targets) -> None:
        """Take in the targets of a match just played; what is too old or too much leaves, never what came now."""

    def sample(self, batch_size: int) -> Iterator[Batch]:
        """Draw one learning phase and return its minibatches; of an empty memory there are none.

        The phase is drawn before this returns; the minibatches are unpacked as they are asked for.
        """

    def states(self) -> int:
        """The states kept."""

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays kept."""

    def row_sizes(self) -> set[int]:
        """How many numbers an observation has: one size, unless the replay is not what it should be."""

    def copy(self) -> Self:
        """Another memory of the same content, which shares the arrays and the generator."""

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The whole memory as a few flat arrays, the generator's state apart."""


def make_replay(
    config: ReplayConfig, rng: np.random.Generator, arrays: Mapping[str, NDArray[Any]] | None = None
) -> Replay:
    """The replay of `config.method`: an empty one, or what `to_arrays` of such a one returned.

    Args:
        rng: the source of everything random; with the same state, the same phases follow.

    Raises:
        CheckpointError: an array is missing, or two contradict each other.
    """
    kind: type[StratifiedReplay | PlainReplay | PerMatchReplay]
    match config.method:
        case "stratified":
            kind = StratifiedReplay
        case "plain":
            kind = PlainReplay
        case "per_match":
            kind = PerMatchReplay
        case "none":  # D as it is: all of one match
            kind = PerMatchReplay
            config = dataclasses.replace(config, matches=1, sampling=1.0)
    return kind(config, rng) if arrays is None else kind.from_arrays(config, rng, arrays)
