"""Options that several commands share, and the parsers of their values.

An outcome "module:name" is imported only if `--outcome` or `--allow-code` names it, never because a run folder or a
settings file does. With such an option the current folder is searched too, after all installed packages. A program
(`gtp:`, `uci:`, `aei:`, `gnubg`) named in a file is started only if `--allow-program` gives its command.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Sequence
from typing import Annotated, Literal

import tyro

from athenan_spiel.errors import ConfigError, shown

_DURATION = re.compile(r"(?:(?P<d>\d+)d)?(?:(?P<h>\d+)h)?(?:(?P<m>\d+)m)?(?:(?P<s>\d+(?:\.\d+)?|\.\d+)s?)?", re.ASCII)
_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def parse_duration(text: str) -> float:
    """Return the seconds of a duration: days, hours, minutes and seconds in this order, or a number of seconds.

    Raises:
        ConfigError: `text` is not a duration, or not positive.
    """
    match = _DURATION.fullmatch(text.strip())
    seconds = sum(_SECONDS[unit] * float(n) for unit, n in match.groupdict().items() if n) if match else 0.0
    if not 0 < seconds < float("inf"):
        raise ConfigError(
            f"expected a length of time above zero, like 90s, 3m, 1h30m or 45 (seconds), got {shown(text)}"
        )
    return seconds


def duration_text(seconds: float) -> str:
    """Return `seconds`, rounded up, as a duration such as 1h30m."""
    rest, parts = max(1, math.ceil(seconds)), []
    for unit, length in _SECONDS.items():
        count, rest = divmod(rest, length)
        parts += [f"{count}{unit}"] if count else []
    return "".join(parts)


Memory = Annotated[str | None, tyro.conf.arg(metavar="SIZE")]
"""Type of the option --memory."""
_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)([mgt])", re.ASCII | re.IGNORECASE)
_BYTES = {"m": 10**6, "g": 10**9, "t": 10**12}


def parse_memory(text: str) -> int:
    """Return the value of `--memory` in bytes.

    Raises:
        ConfigError: `text` is not a size.
    """
    match = _SIZE.fullmatch(text.strip())
    size = int(float(match[1]) * _BYTES[match[2].lower()]) if match else 0
    if not size:
        raise ConfigError(f"--memory must be a size such as 800m, 8g or 1.5g, got {shown(text)}")
    return size


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


LudiiMemory = Annotated[
    str | None,
    tyro.conf.arg(
        metavar="SIZE",
        help="Memory limit of Java for games of Ludii, such as 4g; default: LUDII_MEMORY, else 2g.",
    ),
]
"""Type of the option --ludii-memory, with its help."""


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


AllowCode = Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="MODULE:NAME")]
"""Type of the repeatable option --allow-code."""
AllowProgram = Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="COMMAND")]
"""Type of the repeatable option --allow-program."""
_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


def allowed(names: Sequence[str]) -> tuple[str, ...]:
    """Check the names of code that the user allows, and allow imports from the current folder if there are any.

    Raises:
        ConfigError: a name does not have the form "module:name".
    """
    for name in names:
        if not _PATH.fullmatch(name):
            raise ConfigError(f"expected code as module:name, such as my_module:material, got {shown(name)}")
    if names and "" not in sys.path:
        sys.path.append("")
    return tuple(names)
