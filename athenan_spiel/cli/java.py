"""The option `--ludii-memory`: memory of Java, which runs the games of Ludii."""

from __future__ import annotations

import os
from typing import Annotated

import tyro

from athenan_spiel.errors import ConfigError

LudiiMemory = Annotated[
    str | None,
    tyro.conf.arg(
        metavar="SIZE",
        help="Memory limit of Java for games of Ludii, such as 4g; default: LUDII_MEMORY, else 2g.",
    ),
]
"""The type of an option `--ludii-memory`, with its help."""


def use_memory(size: str) -> None:
    """Set the memory limit of Java for this process and its children, overriding `LUDII_MEMORY`.

    Raises:
        ConfigError: `size` is not a size, too small, or more than the machine has.
    """
    from ludii_bridge.errors import LudiiError
    from ludii_bridge.installation import java_memory

    try:
        os.environ["LUDII_MEMORY"] = java_memory(size)
    except LudiiError as error:
        raise ConfigError(f"--ludii-memory: {error}") from error
