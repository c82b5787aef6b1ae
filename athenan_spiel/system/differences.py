"""Differences between the settings of a folder and the requested ones, as text for a message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from athenan_spiel.errors import shown

MAX_QUOTED_CHARACTERS = 400
"""Maximum length of a text quoted unchanged."""


def differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """Yield each difference of two JSON values as "PATH is OLD, and here NEW"."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            below = f"{path}.{key}" if path else key
            if key not in old or key not in new:
                yield f"{below} is {_value(old, key)}, and here {_value(new, key)}"
            else:
                yield from differences(old[key], new[key], below)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for before, after in zip(old, new, strict=True):
            name = before.get("name", "") if isinstance(before, dict) else ""
            yield from differences(before, after, f"{path}.{name}" if name else path)
    elif old != new:
        yield f"{path} is {_short(old)}, and here {_short(new)}"


def plain(text: Any) -> str:
    """Return `text` unchanged if it fits into a line of a message, else quoted and shortened."""
    return text if isinstance(text, str) and text.isprintable() and len(text) <= MAX_QUOTED_CHARACTERS else shown(text)


def _value(table: Mapping[str, Any], key: str) -> str:
    return _short(table[key]) if key in table else "not there"


def _short(value: Any) -> str:
    text = shown(value)
    return text if len(text) <= 80 else text[:77] + "..."
