"""How wide a network a run has the time for: measured once, before it begins.

A wide network learns more of each state, and takes longer for it. In a short run a narrow one, which has seen far more
states, is no weaker, and it is faster in play (`docs/strength.md` has the figures). So what a step of the gradient
takes is measured on this machine, for the game's boards, and the widest network is chosen that can take `STEPS` of them
in the time of the run.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from athenan_spiel.config import TrainingConfig
from athenan_spiel.encoding import Encoder
from athenan_spiel.learning.labels import Labels
from athenan_spiel.learning.learner import Learner
from athenan_spiel.learning.replay.minibatches import Batch
from athenan_spiel.networks import make_network
from athenan_spiel.training.means import learning_device, require_means
from athenan_spiel.training.time_budget import MEASURED_SHARE

WIDTHS = (64, 32, 16)
"""Filters that are chosen among."""
STEPS = 7_000
"""Steps of the gradient, of a minibatch each, that a run has at least the time for if it did nothing else."""
ROWS = 64
"""Of the minibatch that is measured; it counts as a whole one by their shares."""
REPEATED = 5
"""Steps that are measured after one that is not; the fastest counts, as others may be at work. One is measured if they
take more than `MEASURED_SHARE` of the training time."""


def widest(config: TrainingConfig, encoder: Encoder, clock: Callable[[], float] = time.perf_counter) -> int:
    """The filters that a run with these settings has the time for.

    Where it has no limit in time, or the network no convolutions, those of `config`.

    Raises:
        ConfigError: the settings ask for more than this machine has.
    """
    if config.seconds is None or len(encoder.shape) != 3 or config.network.architecture == "mlp":
        return config.network.filters
    require_means(config, encoder.shape)
    for filters in WIDTHS[:-1]:
        if STEPS * step_seconds(config, encoder, filters, clock) <= config.seconds:
            return filters
    return WIDTHS[-1]


def step_seconds(
    config: TrainingConfig, encoder: Encoder, filters: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Seconds of a step of the gradient with `config.learner.batch_size` states, by a network of so many filters."""
    settings = replace(config.network, filters=filters, policy="none", policy_filters=None)
    network = make_network(encoder.shape, settings, bounded=False, seed=0)
    learner = Learner(network, config.learner, learning_device(config.engine))
    rows = min(ROWS, config.learner.batch_size)
    batch = Batch(np.zeros((rows, math.prod(encoder.shape)), np.float32), Labels(np.zeros(rows, np.float32)))
    taken = [_seconds(learner, batch, clock) for _ in range(2)]
    most = MEASURED_SHARE * (config.seconds or math.inf)
    while len(taken) < 1 + REPEATED and sum(taken) < most:
        taken.append(_seconds(learner, batch, clock))
    return min(taken[1:]) * config.learner.batch_size / rows


def _seconds(learner: Learner, batch: Batch, clock: Callable[[], float]) -> float:
    start = clock()
    learner.learn([batch])
    return clock() - start
