"""Which data of past matches is learned again after a match (Sections 3.1, 3.2 and 9.3.1), one file a method.

A `Replay` keeps targets and deals out, once a match, the minibatches of a learning phase. `make_replay` makes the one
that the settings name. All keep observations packed, unpack them a few minibatches at a time, and bound their memory
(Remark 5). The source of randomness is their owner's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.config import ReplayConfig
from athenan_spiel.learning.replay.base import Batch, Replay
from athenan_spiel.learning.replay.plain import PerMatchReplay, PlainReplay
from athenan_spiel.learning.replay.stratified import StratifiedReplay

__all__ = ["Batch", "PerMatchReplay", "PlainReplay", "Replay", "StratifiedReplay", "make_replay"]

REPLAYS: dict[str, type[Replay]] = {
    "stratified": StratifiedReplay,
    "plain": PlainReplay,
    "per_match": PerMatchReplay,
    "none": PerMatchReplay,
}


def make_replay(
    config: ReplayConfig, rng: np.random.Generator, arrays: Mapping[str, NDArray[Any]] | None = None
) -> Replay:
    """Makes the replay of `config.method`: an empty one, or the one whose `to_arrays` returned `arrays`.

    Args:
        rng: the source of everything random; with the same state, the same phases follow.

    Raises:
        CheckpointError: an array is missing, or two contradict each other.
    """
    kind = REPLAYS[config.method]
    if config.method == "none":  # each phase learns the match just played, all of it
        config = dataclasses.replace(config, matches=1, sampling=1.0)
    return kind(config, rng) if arrays is None else kind.from_arrays(config, rng, arrays)
