"""Preflight checks: whether the settings of a run suit this machine and the game. Also chooses the number of workers.

Settings from another machine may require more than this machine has. They can be read, and an agent plays with them if
its network fits the memory. Training raises an error that names the setting.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import pyspiel
import torch

from athenan_spiel.config import EngineConfig, ProverConfig, TrainingConfig
from athenan_spiel.engines import make_engine, require_threads
from athenan_spiel.errors import AthenanError, ConfigError
from athenan_spiel.learning.learner import uses_bfloat16
from athenan_spiel.networks import PolicyShape, learning_bytes, require_memory
from athenan_spiel.outcomes import Outcome
from athenan_spiel.search.algorithms import parse_search
from athenan_spiel.system.machine import cores, free_memory, gigabytes, megabytes, memory

WORKER_BYTES = 700_000_000
"""Memory of a worker with torch and a small network, in bytes."""
JAVA_BYTES = 2_000_000_000
"""Default maximum of the Java heap in a worker that plays a Ludii game, in bytes."""
WORTHWHILE_SECONDS = 60.0
"""Minimum duration of a run that has workers by default, in seconds. In a shorter run starting them takes too long."""
SLOTS = 2
"""Inference slots of a worker, which is its maximum number of pending requests: one for each group of its games."""
ROWS = 1024
"""Maximum number of states in a request; longer requests are split."""


def worker_count(
    workers: int | Literal["auto"], game: str, memory: int | None = None, *, on_cluster: bool = False
) -> int:
    """Returns the number of workers; 0 for "auto" on a cluster, which determines it itself.

    "auto" is one worker for each core, as far as memory allows. No core is reserved for the trainer, as it needs less
    time than a worker.

    Args:
        memory: memory limit of the run, in bytes. The memory of one worker is reserved for the trainer, and that of
            another for trees and replay; 0 workers if nothing is left.
    """
    if workers == "auto" and on_cluster:
        return 0
    if workers != "auto":
        return workers
    each = WORKER_BYTES + (JAVA_BYTES if game.strip().startswith("ludii") else 0)
    free = free_memory()
    count = max(1, cores() if free is None else min(cores(), free // each))
    return count if memory is None else min(count, max(0, memory // each - 2))


def usual_workers(config: TrainingConfig, game: pyspiel.Game) -> Literal["auto"] | None:
    """Returns "auto" for a run on several cores that is limited only by time, to a minute or more; else None.

    Such a run is not reproducible anyway, and measurements show that workers make its agent stronger. None also for
    custom games and outcomes, as other processes may not be able to load them, and if the learner uses a GPU.
    """
    is_timed = config.matches is None and config.seconds is not None and config.seconds >= WORTHWHILE_SECONDS
    is_known = type(game).__module__.split(".")[0] in ("pyspiel", "athenan_spiel", "ludii_bridge")
    if not is_timed or not is_known or ":" in config.outcome:
        return None
    return "auto" if cores() > 1 and learning_device(config.engine) == "cpu" else None


def with_workers(
    config: TrainingConfig, workers: int | Literal["auto"], game: str, *, on_cluster: bool
) -> TrainingConfig:
    """Returns `config` with the number of workers that `worker_count` gives."""
    count = worker_count(workers, game, config.memory.bytes, on_cluster=on_cluster)
    return replace(config, workers=replace(config.workers, count=count))


def with_limits(config: TrainingConfig, seconds: float | None, matches: int | None) -> TrainingConfig:
    """Returns `config` with these limits in place of both of its own, if one is given."""
    return config if seconds is None and matches is None else replace(config, seconds=seconds, matches=matches)


def is_shared(config: TrainingConfig) -> bool:
    """Whether an inference server evaluates the states of all workers."""
    mode = config.workers.inference
    return mode == "shared" or (mode == "auto" and learning_device(config.engine) == "cuda")


def is_shared_on_nodes(config: TrainingConfig) -> bool:
    """Whether each node of a cluster has an inference server; with "auto" only for the engine `cuda`."""
    mode = config.workers.inference
    return mode == "shared" or (mode == "auto" and config.engine.name == "cuda")


def slot_bytes(workers: int, shape: Sequence[int], width: int) -> int:
    """Returns the shared memory for the requests of all workers, in bytes.

    Args:
        shape: shape of an encoded state.
        width: numbers in the reply for one state.
    """
    return workers * SLOTS * (4 * ROWS * (math.prod(shape) + width) + 16)


def learning_device(config: EngineConfig) -> str:
    """Returns the device of the learner: "cuda" if the engine uses it, else "cpu"."""
    uses_cuda = config.name == "cuda" or (config.name == "auto" and torch.cuda.is_available())
    return "cuda" if uses_cuda else "cpu"


def network_bytes(config: TrainingConfig, shape: Sequence[int], policy: PolicyShape | None = None) -> int:
    """Returns the bytes that the network needs to learn, on the device of the learner.

    Args:
        shape: shape of an encoded state.
        policy: shape of the network's policy; None without a policy.
    """
    device = learning_device(config.engine)
    bfloat16 = uses_bfloat16(config.learner.precision, torch.device(device))
    batch_size = config.learner.batch_size
    return learning_bytes(shape, config.network, batch_size, policy, device=device, bfloat16=bfloat16)


def require_resources(config: TrainingConfig, shape: Sequence[int], policy: PolicyShape | None = None) -> None:
    """Raise `ConfigError` if a run with these settings needs more than this machine has.

    Args:
        shape: shape of an encoded state.
        policy: shape of the network's policy; None without a policy.
    """
    device = learning_device(config.engine)
    require_threads("learner.threads", config.learner.threads)
    require_threads("engine.threads", config.engine.threads)
    require_memory(network_bytes(config, shape, policy), "to learn", device)
    most = memory()
    if most is not None and config.replay.megabytes > most / 1e6:
        raise ConfigError.at(
            "replay.megabytes",
            f"must be at most {most / 1e6:,.0f}, the memory of this machine, got {config.replay.megabytes!r}",
        )
    if most is not None and config.memory.bytes is not None and config.memory.bytes > most:
        raise ConfigError.at(
            "memory.bytes",
            f"must be at most {most // 1_000_000}m, the memory of this machine, got {megabytes(config.memory.bytes)}",
        )
    make_engine(config.engine, shape)  # raises an error if its device or its package is missing


def require_worker_memory(count: int) -> None:
    """Raise `ConfigError` if this machine lacks the memory for `count` workers."""
    most = memory()
    if most is not None and count * WORKER_BYTES > most:
        raise ConfigError.at(
            "workers.count",
            f"must be at most {most // WORKER_BYTES}, as each takes {gigabytes(WORKER_BYTES)} of this machine's "
            f"{gigabytes(most)}, got {count}: use fewer --workers",
        )


def require_suited(config: TrainingConfig, game: pyspiel.Game, outcome: Outcome) -> None:
    """Raise `ConfigError` for settings that the game or the outcome does not allow."""
    hours = config.search.resolved_hours if isinstance(config.search, ProverConfig) else None
    if hours is not None and outcome.path_dependent:
        raise ConfigError.at(
            "search.resolved_hours",
            f"must be none with outcome {config.outcome!r}, which depends on the path to a state, got {hours!r}",
        )
    require_other_player(config, game)
    try:
        search = parse_search(config.evaluation.search).make(game, outcome)
    except AthenanError as error:
        raise ConfigError(f"evaluation.search must name a search: {error}") from None
    if search.needs_priors and config.network.policy == "none":
        raise ConfigError.at(
            "evaluation.search",
            f"must be a search that needs no policy if network.policy is 'none', got {config.evaluation.search!r}",
        )


def require_other_player(config: TrainingConfig, game: pyspiel.Game) -> None:
    """Raise `ConfigError` for evaluations in a game for one player."""
    if config.evaluation.asked and game.num_players() == 1:
        name = "every_seconds" if config.evaluation.every_matches is None else "every_matches"
        raise ConfigError.at(
            f"evaluation.{name}",
            f"must be none in a game for one player such as {str(game)!r}, got "
            f"{getattr(config.evaluation, name)!r}: the scores of its games are reported instead",
        )
