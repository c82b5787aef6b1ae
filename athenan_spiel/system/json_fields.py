"""Checked access to the values of an untrusted JSON object."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from athenan_spiel.errors import shown

MOST_NUMBER = 2**63 - 1
"""Maximum of an integer."""
LONGEST_TEXT = 2_000
"""Maximum length of a text, in characters."""
LARGEST = 1e300
"""Maximum absolute value of a number."""


class Fields:
    """Values of a JSON object, read by type. A value of another type raises `ValueError`.

    Args:
        table: the object.
        keys: the keys that it must have, and no others.

    Raises:
        ValueError: `table` is not an object, or has other keys.
    """

    def __init__(self, table: Any, keys: Sequence[str]) -> None:
        if not isinstance(table, Mapping) or set(table) != set(keys):
            got = sorted(table) if isinstance(table, Mapping) else table
            raise ValueError(f"expected an object of {', '.join(keys)}; got {shown(got)}")
        self.table = table

    def whole(self, key: str, *, least: int = 0, most: int = MOST_NUMBER) -> int:
        """Return an integer from `least` to `most`."""
        return _whole(key, self.table[key], least, most)

    def wholes(self, key: str, count: int | None = None, *, least: int = 0) -> tuple[int, ...]:
        """Return a list of integers that are at least `least`, of length `count` if given."""
        return tuple(_whole(key, value, least, MOST_NUMBER) for value in self._list(key, count))

    def numbers(self, key: str, count: int, least: float = -math.inf) -> tuple[float, ...]:
        """Return a list of `count` finite numbers."""
        return tuple(_number(key, value, least) for value in self._list(key, count))

    def truth(self, key: str) -> bool:
        """Return a boolean."""
        value = self.table[key]
        if type(value) is not bool:
            raise ValueError(f"{key} must be true or false, got {shown(value)}")
        return value

    def text(self, key: str, *, empty: bool = False) -> str:
        """Return a text."""
        return _text(key, self.table[key], empty)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts."""
        return tuple(_text(key, value, False) for value in self._list(key, None))

    def _list(self, key: str, count: int | None) -> list[Any]:
        values = self.table[key]
        if type(values) is not list or count not in (None, len(values)):
            raise ValueError(f"{key} must be a list{'' if count is None else f' of {count}'}, got {shown(values)}")
        return values


def _whole(key: str, value: Any, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{key} must be a whole number from {least} to {most}, got {shown(value)}")
    return value


def _number(key: str, value: Any, least: float) -> float:
    if type(value) not in (int, float) or not abs(value) < LARGEST or value < least:
        raise ValueError(
            f"{key} must be a finite number{' and not negative' if least == 0 else ''}, got {shown(value)}"
        )
    return float(value)


def _text(key: str, value: Any, empty: bool) -> str:
    if type(value) is not str or len(value) > LONGEST_TEXT or not (value or empty):
        raise ValueError(f"{key} must be a text of at most {LONGEST_TEXT} characters, got {shown(value)}")
    return value
