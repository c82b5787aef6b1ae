"""Durations such as `90s`, `3m`, `1h30m` and `45`."""

from __future__ import annotations

import math
import re

from athenan_spiel.errors import ConfigError, shown

_DURATION = re.compile(r"(?:(?P<d>\d+)d)?(?:(?P<h>\d+)h)?(?:(?P<m>\d+)m)?(?:(?P<s>\d+(?:\.\d+)?|\.\d+)s?)?", re.ASCII)
_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def parse_duration(text: str) -> float:
    """Return the seconds of a duration: days, hours, minutes and seconds in this order, or a number of seconds.

    Raises:
        ConfigError: `text` is no duration, or not positive.
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
    left, parts = max(1, math.ceil(seconds)), []
    for unit, length in _SECONDS.items():
        count, left = divmod(left, length)
        parts += [f"{count}{unit}"] if count else []
    return "".join(parts)
