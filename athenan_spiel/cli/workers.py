"""How many processes play for a training, and on which cluster things are done, as the command line says it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import tyro

from athenan_spiel.errors import ConfigError, shown

Workers = Annotated[str | None, tyro.conf.arg(metavar="N")]
"""The option --workers."""
Cluster = Annotated[str | None, tyro.conf.arg(metavar="[ADDRESS]")]
"""The option --cluster; `with_address` comes before it is parsed."""


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
