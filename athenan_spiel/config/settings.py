"""What all dataclasses of settings share: their values are checked when they are made."""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, ClassVar, Literal

from athenan_spiel.errors import ConfigError, nearest, shown

NONE = "none"
"""What is written for a setting without a value, in `config.toml` and on the command line."""

MOST = 1_000_000_000
"""Of anything counted, where nothing less is said: no run plays as many matches, no move takes as many iterations."""
MOST_OPENING_PLIES = 1_000
"""Random actions at the beginning of a match."""
LONGEST = 100 * 365 * 24 * 3600
"""A hundred years, in seconds: of any time, so that times can be added and written whatever was asked for."""


class Settings:
    """What the dataclasses below share: a value of a wrong type, or a number that is not finite, is refused."""

    table: ClassVar[str] = ""
    """Where these settings stand in `config.toml`, with a dot behind it; empty for the outermost."""
    renamed: ClassVar[Mapping[str, Callable[[Any], dict[str, Any]]]] = {}
    """Names that settings had in older files, each with what its value means in settings of now."""

    def __post_init__(self) -> None:
        hints = type_hints(type(self))
        for field_ in fields(self):  # type: ignore[arg-type]
            _check_type(self.table + field_.name, hints[field_.name], getattr(self, field_.name))
        self.check()

    def check(self) -> None:
        """Raise `ConfigError` if a value is out of range, or contradicts another; each class says what it checks."""

    def require(self, condition: bool, name: str, expected: str) -> None:
        """Raise `ConfigError` naming the setting, what it must be and what it is, unless `condition` holds."""
        if not condition:
            raise ConfigError.at(self.table + name, f"must be {expected}, got {shown(getattr(self, name))}")

    def require_some(self, least: int, *names: str, most: int = MOST) -> None:
        """`require` that each of these numbers, where it is given, is at least `least` and at most `most`."""
        for name in names:
            value = getattr(self, name)
            self.require(value is None or value >= least, name, f"at least {least}")
            self.require_at_most(most, name)

    def require_positive(self, *names: str) -> None:
        """`require` that each of these numbers, where it is given, is more than zero."""
        for name in names:
            value = getattr(self, name)
            self.require(value is None or value > 0, name, "more than zero")

    def require_time(self, *names: str) -> None:
        """`require` that each of these times, where it is given, is more than zero and at most `LONGEST`."""
        self.require_positive(*names)
        self.require_at_most(LONGEST, *names)

    def require_at_most(self, most: int, *names: str) -> None:
        """`require` that each of these numbers, where it is given, is at most `most`."""
        for name in names:
            value = getattr(self, name)
            self.require(value is None or value <= most, name, f"at most {most:,}")


def type_hints(cls: type[Any]) -> Mapping[str, Any]:
    """The types of a dataclass's fields, by their names. They are evaluated once, which takes a millisecond."""
    if cls not in _TYPE_HINTS:
        _TYPE_HINTS[cls] = typing.get_type_hints(cls)
    return _TYPE_HINTS[cls]


_TYPE_HINTS: dict[type[Any], Mapping[str, Any]] = {}


def _check_type(name: str, hint: Any, value: object) -> None:
    """Raise `ConfigError` unless `value` is what the field's annotation says; a whole number is a number, too."""
    or_none = ""
    if isinstance(hint, types.UnionType):  # X | None
        if value is None:
            return
        (hint,) = (part for part in typing.get_args(hint) if part is not types.NoneType)
        or_none = " or none"
    if typing.get_origin(hint) is tuple:  # tuple[str, ...], the one kind of tuple here
        if type(value) is not tuple or not all(type(part) is str for part in value):
            raise ConfigError.at(name, f"must be texts{or_none}, as a tuple, in a file as a list, got {shown(value)}")
        return
    if typing.get_origin(hint) is Literal:
        choices = typing.get_args(hint)
        if type(value) is not str or value not in choices:
            listed = ", ".join(map(repr, choices))
            problem = f"must be one of {listed}{or_none}, got {shown(value)}{nearest(value, choices)}"
            raise ConfigError.at(name, problem)
        return
    kinds = {bool: "true or false", int: "a whole number", float: "a finite number"}
    expected = kinds.get(hint, f"of {hint.__name__}")
    of_kind = type(value) is hint or (hint is float and type(value) is int)
    if not of_kind or (hint is float and not _is_finite(typing.cast(float, value))):
        raise ConfigError.at(name, f"must be {expected}{or_none}, got {shown(value)}")


def _is_finite(number: float) -> bool:
    """Whether a float holds `number`: whole numbers may be too large for it."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False
