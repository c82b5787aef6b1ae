"""The option `--memory`."""

from __future__ import annotations

import re
from typing import Annotated

import tyro

from athenan_spiel.errors import ConfigError, shown

Memory = Annotated[str | None, tyro.conf.arg(metavar="SIZE")]
"""Type of the option."""
_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)([mgt])", re.ASCII | re.IGNORECASE)
_BYTES = {"m": 10**6, "g": 10**9, "t": 10**12}


def parse_memory(text: str) -> int:
    """Return the value of `--memory` in bytes.

    Raises:
        ConfigError: `text` is no size.
    """
    match = _SIZE.fullmatch(text.strip())
    size = int(float(match[1]) * _BYTES[match[2].lower()]) if match else 0
    if not size:
        raise ConfigError(f"--memory must be a size such as 800m, 8g or 1.5g, got {shown(text)}")
    return size
