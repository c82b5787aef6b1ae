"""How many processes play for a training, as the command line says it."""

from __future__ import annotations

from typing import Annotated

import tyro

from athenan_spiel.errors import ConfigError, shown

Workers = Annotated[str | None, tyro.conf.arg(metavar="N")]
"""The option --workers."""


def worker_count(text: str) -> int:
    """What `--workers` means: a number, or `auto`, which the machine says.

    Raises:
        ConfigError: it is neither.
    """
    if text == "auto":
        from athenan_spiel.training.means import fitting_workers

        return fitting_workers()
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ConfigError(f"--workers must be a whole number or auto, got {shown(text)}")
    return int(text)
