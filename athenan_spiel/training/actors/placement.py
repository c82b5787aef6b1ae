"""Choice of the cluster and the number of actors of a run."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from athenan_spiel.config import TrainingConfig
from athenan_spiel.config.machine import MOST_WORKERS
from athenan_spiel.errors import AthenanError, ConfigError
from athenan_spiel.games import load_game
from athenan_spiel.system.cluster import Site, joined
from athenan_spiel.training.means import require_room_for_workers, worker_count


@contextlib.contextmanager
def placed(config: TrainingConfig, address: str | None, game: str) -> Iterator[tuple[TrainingConfig, Site | None]]:
    """Joins the cluster of a run; yields its settings with the number of actors, and the cluster.

    Args:
        address: of the cluster, as for `joined`; None: none is joined.
        game: its string.

    Raises:
        ConfigError: as `joined`; or a setting does not suit a cluster, or there are more workers than this machine has
            memory for.
    """
    if address is None:
        require_room_for_workers(config.workers.count)
        yield config, None
        return
    with joined(address, functools.partial(loading_problem, (game,))) as site:
        if config.engine.name == "cuda" and not site.resource("GPU"):
            raise ConfigError.at("engine.name", "must be another one on a cluster without GPUs, got 'cuda'")
        if not config.workers.count:
            config = replace(config, workers=replace(config.workers, count=_fitting(config, site, game)))
        yield config, site


@contextlib.contextmanager
def on_cluster(address: str | None, games: Sequence[str]) -> Iterator[Site | None]:
    """Join the cluster at an address, whose machines can load these games; yields None without an address.

    Raises:
        ConfigError: as `system.cluster.joined`.
    """
    if address is None:
        yield None
        return
    with joined(address, functools.partial(loading_problem, tuple(games))) as site:
        yield site


def loading_problem(games: Sequence[str]) -> str | None:
    """Why one of these game strings cannot be loaded on this machine; None if all can."""
    try:
        for game in games:
            load_game(game)
    except (AthenanError, RuntimeError) as error:  # the latter is Ludii's
        return " ".join(str(error).split())
    return None


def _fitting(config: TrainingConfig, site: Site, game: str) -> int:
    """Number of actors that fit the cores of the cluster.

    On a cluster that was running already, one core is left to this process, and one to evaluations, if there are any.
    """
    if site.is_own:
        return worker_count("auto", game)
    left = site.processors - 1 - config.evaluation.asked
    return min(MOST_WORKERS, max(1, left // (config.engine.threads or 1)))
