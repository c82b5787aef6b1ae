"""How many processes play for a training, as the command line says it."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

import tyro

from athenan_spiel.config import TrainingConfig
from athenan_spiel.errors import ConfigError, shown

Workers = Annotated[str | None, tyro.conf.arg(metavar="N")]
"""The option --workers."""


def parse_workers(text: str) -> int | Literal["auto"]:
    """What `--workers` says: a number, or `auto`, of which the machine knows what it means.

    Raises:
        ConfigError: it is neither.
    """
    if text == "auto":
        return "auto"
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ConfigError(f"--workers must be a whole number or auto, got {shown(text)}")
    return int(text)


def with_workers(config: TrainingConfig, said: str | None, game: str) -> TrainingConfig:
    """`config` with the workers that `--workers` says, if it does.

    Raises:
        ConfigError: it says neither a number nor `auto`.
    """
    if said is None:
        return config
    from athenan_spiel.training.means import worker_count

    count = worker_count(parse_workers(said), game)
    return dataclasses.replace(config, workers=dataclasses.replace(config.workers, count=count))
