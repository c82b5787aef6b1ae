"""Experience replay: training samples of past games that are learned again (the article, Sections 3.1, 3.2 and 9.3.1).

A `Replay` stores the targets of games, and samples the minibatches of one learning phase per game. `make_replay` makes
the one of the settings. All store packed observations, unpack them a few minibatches at a time, and bound their memory
(Remark 5). Their owner passes the random generator and saves its state.
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
    """Returns the replay of `config.method`: an empty one, or the one whose `to_arrays` returned `arrays`.

    Args:
        rng: draws the samples; generators with the same state draw the same phases.

    Raises:
        CheckpointError: an array is missing, or two contradict each other.
    """
    kind = REPLAYS[config.method]
    if config.method == "none":  # each phase learns all samples of the last game
        config = dataclasses.replace(config, matches=1, sampling=1.0)
    return kind(config, rng) if arrays is None else kind.from_arrays(config, rng, arrays)
