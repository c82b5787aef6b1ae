"""Fits the settings of a run to its training time: the first games end within a tenth of it.

`fit_to_time` applies the rule before the run, with a speed measured on this machine and the length of random games.
`adaptation` applies it during the run, with the measured progress. Both change settings by `reduced` alone.

`widest` chooses the width of the network. A wide network learns more from each state and is slower. In a short run a
narrow one, which has seen far more states, is no weaker, and plays faster (`docs/strength.md`). So the duration of a
gradient step is measured on this machine, and the widest network is chosen that can take `STEPS` steps in time.
"""

from __future__ import annotations

import dataclasses
import math
import operator
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Self, TypeGuard

import numpy as np
import pyspiel

from athenan_spiel.config import SearchConfig, TrainingConfig
from athenan_spiel.config.search import POLICY_TELLERS
from athenan_spiel.config.settings import MOST
from athenan_spiel.encoding import Encoder
from athenan_spiel.errors import CheckpointError
from athenan_spiel.learning.labels import Labels
from athenan_spiel.learning.learner import Learner
from athenan_spiel.learning.replay.base import Batch
from athenan_spiel.networks import make_network
from athenan_spiel.outcomes import Gain
from athenan_spiel.system.machine import cores
from athenan_spiel.training.actor import Actor, PublishedWeights
from athenan_spiel.training.means import learning_device, require_means
from athenan_spiel.training.presets import BY_TIME

FIRST_GAMES_SHARE = 0.1
"""Share of the training time within which the first games end."""
MEASURED_SHARE = 0.005
"""Share of the training time that one measurement of the speed takes."""
MOST_MEASURED_SECONDS = 1.0
"""Maximum duration of one measurement, in seconds."""
WORKER_START_SECONDS = 5.0
"""Time until workers have started, in seconds."""
REUSE_FACTOR = 0.75
"""Evaluations of a game, divided by those of as many separate searches: a search continues the tree of the move before.
Measured from 0.45 (Connect Four) to 0.9 (Hex 11)."""
LEAST_AT_ONCE = 4
"""Games at once, below which evaluations per move are reduced first."""
LEAST_EVALUATIONS = 200
"""Evaluations per move, some plies ahead at least, below which games at once are reduced first."""
LONG_DESCENT = 4.0
"""A bounded descent takes this factor times the length of random games, in states."""


@dataclasses.dataclass(frozen=True)
class Lengths:
    """What random games show of a game.

    Attributes:
        length: mean length of a game, in moves.
        branching: mean number of legal actions.
    """

    length: float
    branching: float


@dataclasses.dataclass(frozen=True)
class Fit:
    """What a run's settings were fitted to. Each checkpoint contains it.

    Attributes:
        lengths: of random games.
        names: settings that may be reduced during the run.
    """

    lengths: Lengths
    names: Collection[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """The content as JSON values."""
        return {"length": self.lengths.length, "branching": self.lengths.branching, "names": list(self.names)}

    @classmethod
    def restored(cls, content: Mapping[str, Any] | None, config: TrainingConfig, before: TrainingConfig) -> Self | None:
        """What a checkpoint contains, without the names of settings that the user has edited since.

        Args:
            content: as `to_dict` returns it; None if the settings were not fitted.
            config: settings in `config.toml`.
            before: settings in the checkpoint.

        Raises:
            CheckpointError: the content is something else.
        """
        if content is None:
            return None
        length, branching, names = (content.get(name) for name in ("length", "branching", "names"))
        if not (_is_mean(length) and _is_mean(branching) and isinstance(names, list)):
            raise CheckpointError("the checkpoint does not fit this run: expected fit to hold length, branching, names")
        values = zip(BY_TIME, *(operator.attrgetter(*BY_TIME)(settings) for settings in (config, before)), strict=True)
        same = [name for name, new, old in values if new == old]
        return cls(Lengths(length, branching), [name for name in same if name in names])


def _is_mean(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and 0 < value <= MOST


def evaluations_per_move(search: SearchConfig, lengths: Lengths) -> float:
    """Evaluations that `search` takes for a move in a new tree.

    An iteration of MCTS asks for one state, one of Descent on average for all beside the rest of a game.
    """
    whole = 1.0
    if search.algorithm not in POLICY_TELLERS:
        states = min(lengths.length / 2, search.longest_descent or math.inf)
        whole = max(states * lengths.branching, whole)
    return max(whole, min(search.evaluations or math.inf, whole * (search.iterations or math.inf)))


def evaluations_per_second(game: pyspiel.Game, config: TrainingConfig, encoder: Encoder | None = None) -> float:
    """Measure the speed of self-play with these settings, by an untrained network, in one of the run's processes.

    Raises:
        ConfigError: the settings require more than this machine has.
    """
    workers = max(1, config.workers.count)
    if config.workers.count:
        threads = config.engine.threads or max(1, cores() // workers)
        config = dataclasses.replace(config, engine=dataclasses.replace(config.engine, threads=threads))
    actor = Actor(game, config, Gain(), encoder=encoder)
    playing = actor.play(PublishedWeights(0, actor.weights), None, range(config.matches_at_once), 0.0)
    playing.advance()  # the first call of an engine takes longer
    seconds = min(MOST_MEASURED_SECONDS, MEASURED_SHARE * (config.seconds or math.inf))
    before, start = playing.evaluations, time.perf_counter()
    while (taken := time.perf_counter() - start) < seconds and playing.advance():
        pass
    return max(1.0, playing.evaluations - before) / max(taken, 1e-6) * min(1.0, cores() / workers)


def fit_to_time(
    config: TrainingConfig,
    lengths: Lengths,
    longest: int,
    names: Collection[str],
    speed: Callable[[TrainingConfig], float],
    elapsed: Callable[[], float] = lambda: 0.0,
) -> TrainingConfig:
    """Reduce those settings of `names` that keep the first games from ending within `FIRST_GAMES_SHARE` of the time.

    Args:
        config: without a limit in time, or with a search that has one, it stays as it is.
        longest: maximum length of a game, in moves.
        speed: measures the evaluations per second of one of the run's processes.
        elapsed: returns the training time until now, in seconds. A measurement of the speed takes part of it.
    """
    search = config.search
    if config.seconds is None or search.seconds is not None or search.network_seconds is not None:
        return config
    first = FIRST_GAMES_SHARE * config.seconds
    start = WORKER_START_SECONDS if config.workers.count else 0.0
    searched = 1.0 if config.self_play.method == "apprentice" else lengths.length
    at_once = None
    while at_once != config.matches_at_once:  # fewer games at once are played at another speed
        at_once = config.matches_at_once
        per_second = speed(config)
        room = per_second * max(first / 2, first - elapsed() - start)
        if at_once * min(longest, 1e6) * lengths.branching > room:
            config = _bounded(config, LONG_DESCENT * lengths.length, longest, names)
        evaluations = at_once * searched * evaluations_per_move(config.search, lengths) * REUSE_FACTOR
        config = reduced(config, evaluations / room, lengths, names)
    return config


def reduced(config: TrainingConfig, factor: float, lengths: Lengths, names: Collection[str]) -> TrainingConfig:
    """Settings with which the games in play end `factor` times sooner, as far as `names` allow.

    Games at once are reduced to `LEAST_AT_ONCE`, then evaluations per move to `LEAST_EVALUATIONS`, then either to 1.
    A descent that would take more evaluations than a move is bounded.
    """
    for least_at_once, least_evaluations in ((LEAST_AT_ONCE, LEAST_EVALUATIONS), (1, 1)):
        while factor > 1 and config.matches_at_once > least_at_once and "matches_at_once" in names:
            at_once = max(least_at_once, config.matches_at_once // 2)
            factor *= at_once / config.matches_at_once
            config = dataclasses.replace(config, matches_at_once=at_once)
        search = config.search
        before = evaluations_per_move(search, lengths)
        if factor > 1 and before > least_evaluations and "search.evaluations" in names:
            evaluations = max(least_evaluations, rounded(before / factor))
            evaluations = min(search.evaluations or evaluations, evaluations)
            config = dataclasses.replace(config, search=dataclasses.replace(search, evaluations=evaluations))
            config = _bounded(config, evaluations / lengths.branching, lengths.length, names)
            factor *= evaluations_per_move(config.search, lengths) / before
    return config


def _bounded(config: TrainingConfig, states: float, longest: float, names: Collection[str]) -> TrainingConfig:
    """Settings with descents of at most `states` states, if these are fewer than `longest`."""
    search, bound = config.search, max(1, round(states))
    if "search.longest_descent" not in names or search.algorithm != "descent" or bound >= longest:
        return config
    bound = min(search.longest_descent or bound, bound)
    return dataclasses.replace(config, search=dataclasses.replace(search, longest_descent=bound))


def rounded(number: float) -> int:
    """The largest of 1, 2, 5, 10, 20, 50, ... that is at most `number`, so that chance changes it rarely."""
    power = int(10 ** int(math.log10(max(1.0, number))))
    return max(step * power for step in (1, 2, 5) if step * power <= max(1.0, number))


WIDTHS = (64, 32, 16)
"""Numbers of filters to choose from."""
STEPS = 7_000
"""Minimum number of gradient steps, of a minibatch each, in the training time without anything else."""
ROWS = 64
"""Rows of the measured minibatch; its time is scaled to `batch_size`."""
REPEATED = 5
"""Measured steps after a first unmeasured one; the fastest counts. Fewer if they take more than `MEASURED_SHARE`."""


def widest(config: TrainingConfig, encoder: Encoder, clock: Callable[[], float] = time.perf_counter) -> int:
    """Returns the largest number of filters that the training time allows.

    Without a time limit or convolutions it is that of `config`.

    Raises:
        ConfigError: the settings require more than this machine has.
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
    """Returns the duration of a gradient step of `config.learner.batch_size` states with this number of filters."""
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
