"""How many processes play for a training, as the command line says it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Literal

import tyro

from athenan_spiel.cli.parsing import option_value
from athenan_spiel.cli.settings import is_quick
from athenan_spiel.config import TrainingConfig
from athenan_spiel.errors import ConfigError, shown

Workers = Annotated[str | None, tyro.conf.arg(metavar="N")]
"""The option --workers."""
WORTHWHILE_SECONDS = 60.0
"""Shorter runs are over before many workers have begun."""


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


def with_workers(config: TrainingConfig, said: str | None, game: str, words: Sequence[str]) -> TrainingConfig:
    """`config` with the workers that `--workers` says.

    Where nothing is said, the preset `quick` has `auto` in a run that time alone limits, which is never the same twice
    anyway, and whose outcome any process knows.

    Raises:
        ConfigError: it says neither a number nor `auto`.
    """
    is_timed = config.matches is None and config.seconds is not None and config.seconds >= WORTHWHILE_SECONDS
    is_usual = is_quick(words) and option_value(words, "--workers.count") is None
    if said is None and is_usual and is_timed and ":" not in config.outcome:
        said = "auto"
    if said is None:
        return config
    from athenan_spiel.training.means import worker_count

    count = worker_count(parse_workers(said), game)
    return dataclasses.replace(config, workers=dataclasses.replace(config.workers, count=count))
