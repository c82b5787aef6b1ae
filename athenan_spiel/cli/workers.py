"""How many processes play for a training, as the command line says it."""

from __future__ import annotations

from typing import Annotated, Literal

import tyro

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


def usual_workers(config: TrainingConfig) -> str | None:
    """What the preset `quick` has where nothing is said of workers: `auto` in a run that time alone limits, which is
    never the same twice anyway, and whose outcome any process knows."""
    is_timed = config.matches is None and config.seconds is not None and config.seconds >= WORTHWHILE_SECONDS
    return "auto" if is_timed and ":" not in config.outcome else None
