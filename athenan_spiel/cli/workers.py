"""How many processes play for a training, and on which cluster things are done, as the command line says it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Literal

import tyro

from athenan_spiel.cli.parsing import option_value
from athenan_spiel.cli.settings import is_fitted
from athenan_spiel.config import TrainingConfig
from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.system.machine import cores

Workers = Annotated[str | None, tyro.conf.arg(metavar="N")]
"""The option --workers."""
Cluster = Annotated[str | None, tyro.conf.arg(metavar="[ADDRESS]")]
"""The option --cluster; `with_address` comes before it is parsed."""
WORTHWHILE_SECONDS = 60.0
"""Shorter runs are over before many workers have begun."""


def usual_workers(config: TrainingConfig, words: Sequence[str]) -> str | None:
    """What `--workers` is where it is not said: `auto` with a preset for any game in a run that time alone limits.

    Such a run is never the same twice anyway, its outcome is one that any process knows, and workers were measured to
    make it stronger where several cores value states.
    """
    is_timed = config.matches is None and config.seconds is not None and config.seconds >= WORTHWHILE_SECONDS
    is_usual = is_fitted(words) and option_value(words, "--workers.count") is None
    if not (is_timed and is_usual) or ":" in config.outcome:
        return None
    from athenan_spiel.training.means import learning_device

    return "auto" if cores() > 1 and learning_device(config.engine) == "cpu" else None


def with_address(words: Sequence[str]) -> list[str]:
    """`words`, in which --cluster without an address means a cluster of this machine."""
    found: list[str] = []
    for i, word in enumerate(words):
        found.append(word)
        if word == "--cluster" and (i + 1 == len(words) or words[i + 1].startswith("-")):
            found.append("local")
    return found


def parse_workers(text: str, cluster: str | None = None) -> int | Literal["auto"]:
    """What `--workers` says: a number, or `auto`, of which the machine, or the cluster, knows what it means.

    Raises:
        ConfigError: it is neither; or 0, where a cluster is to play.
    """
    if text == "auto":
        return "auto"
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ConfigError(f"--workers must be a whole number or auto, got {shown(text)}")
    if cluster is not None and int(text) == 0:
        raise ConfigError("--workers must be at least 1 or auto with --cluster, got 0")
    return int(text)


def with_workers(config: TrainingConfig, said: str | None, cluster: str | None, game: str) -> TrainingConfig:
    """`config` with the workers that `--workers` says, on the cluster of `--cluster` if there is one.

    Raises:
        ConfigError: as `parse_workers`.
    """
    if said is None:
        return config
    from athenan_spiel.training.means import worker_count

    count = worker_count(parse_workers(said, cluster), game, config.memory.bytes, on_cluster=cluster is not None)
    return dataclasses.replace(config, workers=dataclasses.replace(config.workers, count=count))
