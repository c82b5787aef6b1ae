"""What a command's options say of Java, which runs the games of Ludii."""

from __future__ import annotations

import os
from typing import Annotated

import tyro

from athenan_spiel.errors import ConfigError

LudiiMemory = Annotated[
    str | None,
    tyro.conf.arg(
        metavar="SIZE",
        help="The most that Java takes for a game of Ludii's, such as 4g; by default as LUDII_MEMORY says, else 2g.",
    ),
]
"""The type of an option `--ludii-memory`, with its help."""


def use_memory(size: str) -> None:
    """Let Java have that much in this process and in those that it starts, whatever `LUDII_MEMORY` said.

    Raises:
        ConfigError: it is no size, too little, or more than the machine has.
    """
    from ludii_bridge.errors import LudiiError
    from ludii_bridge.installation import java_memory

    try:
        os.environ["LUDII_MEMORY"] = java_memory(size)
    except LudiiError as error:
        raise ConfigError(f"--ludii-memory: {error}") from error
