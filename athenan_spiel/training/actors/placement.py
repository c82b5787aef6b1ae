"""Joins the Ray cluster of a run, and chooses the number of actors."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from athenan_spiel.config import TrainingConfig
from athenan_spiel.config.machine import MOST_WORKERS
from athenan_spiel.errors import AthenanError, ConfigError
from athenan_spiel.games import load_game
from athenan_spiel.system.cluster import Cluster, join_cluster
from athenan_spiel.training.preflight import require_worker_memory, worker_count


@contextlib.contextmanager
def join_for_run(
    config: TrainingConfig, address: str | None, game: str
) -> Iterator[tuple[TrainingConfig, Cluster | None]]:
    """Context in which a run has joined its cluster. Yields the settings with the number of actors, and the cluster.

    Args:
        address: as for `join_cluster`; None: no cluster is joined.
        game: OpenSpiel string of the game.

    Raises:
        ConfigError: as `join_cluster`; or the cluster has no GPU for the engine; or this machine lacks the memory for
            the workers.
    """
    with join_for_games(address, (game,)) as cluster:
        if cluster is None:
            require_worker_memory(config.workers.count)
        elif config.engine.name == "cuda" and not cluster.resource("GPU"):
            raise ConfigError.at("engine.name", "must be another engine on a cluster without GPUs, got 'cuda'")
        elif not config.workers.count:
            config = replace(config, workers=replace(config.workers, count=_fitting_actors(config, cluster, game)))
        yield config, cluster


@contextlib.contextmanager
def join_for_games(address: str | None, games: Sequence[str]) -> Iterator[Cluster | None]:
    """Context in which this process has joined a cluster whose machines can load `games`.

    Yields the cluster; None if `address` is None.

    Raises:
        ConfigError: as `join_cluster`.
    """
    if address is None:
        yield None
        return
    with join_cluster(address, functools.partial(loading_problem, tuple(games))) as cluster:
        yield cluster


def loading_problem(games: Sequence[str]) -> str | None:
    """Returns the reason why one of these games cannot be loaded on this machine; None if all can be loaded."""
    try:
        for game in games:
            load_game(game)
    except (AthenanError, RuntimeError) as error:  # Ludii raises RuntimeError
        return " ".join(str(error).split())
    return None


def _fitting_actors(config: TrainingConfig, cluster: Cluster, game: str) -> int:
    """Returns the number of actors that fit the cores of the cluster.

    On a cluster that was already running, one core is reserved for this process, and one for evaluations if there are
    any.
    """
    if cluster.is_own:
        return worker_count("auto", game)
    available = cluster.processors - 1 - config.evaluation.asked
    return min(MOST_WORKERS, max(1, available // (config.engine.threads or 1)))
