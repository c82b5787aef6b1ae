"""The options `--workers` and `--cluster`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import tyro

from athenan_spiel.errors import ConfigError, shown

Workers = Annotated[str | None, tyro.conf.arg(metavar="N")]
"""Type of the option --workers."""
Cluster = Annotated[str | None, tyro.conf.arg(metavar="[ADDRESS]")]
"""Type of the option --cluster, whose arguments `with_address` prepares."""


def with_address(words: Sequence[str]) -> list[str]:
    """Return `words` with the address `local` after a --cluster without an address."""
    found: list[str] = []
    for i, word in enumerate(words):
        found.append(word)
        if word == "--cluster" and (i + 1 == len(words) or words[i + 1].startswith("-")):
            found.append("local")
    return found


def parse_workers(text: str, cluster: str | None = None) -> int | Literal["auto"]:
    """Return the value of `--workers`: a number, or `auto`, which depends on the machine or cluster.

    Raises:
        ConfigError: `text` is neither, or 0 with a cluster.
    """
    if text == "auto":
        return "auto"
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ConfigError(f"--workers must be a whole number or auto, got {shown(text)}")
    if cluster is not None and int(text) == 0:
        raise ConfigError("--workers must be at least 1 or auto with --cluster, got 0")
    return int(text)
