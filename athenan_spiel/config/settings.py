"""Base class of all settings. Creating an instance checks the type and the range of every value."""

from __future__ import annotations

import math
import operator
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from athenan_spiel.arguments import require_number, require_whole
from athenan_spiel.errors import AthenanError, ConfigError, nearest, shown

NONE = "none"
"""Text of a missing value (None) in `config.toml` and on the command line."""

MOST = 1_000_000_000
"""Default maximum of a count."""
MOST_OPENING_PLIES = 1_000
"""Maximum number of random actions at the beginning of a game."""
LONGEST = 100 * 365 * 24 * 3600
"""Maximum of a time, in seconds: a hundred years."""
LARGEST_FACTOR = 1_000_000
"""Maximum of weights and temperatures; far smaller ones already make one term dominate."""


class Range(NamedTuple):
    """Range of a number, from `least` to `most`; `above` excludes `least` itself."""

    least: float
    most: float = math.inf
    above: bool = False

    def problem(self, value: float) -> str | None:
        """Return what `value` must be, such as "at least 1"; None inside the range."""
        if value > self.most:
            return f"at most {self.most:,}"
        if value > self.least or (value == self.least and not self.above):
            return None
        return f"more than {self.least or 'zero'}" if self.above else f"at least {self.least:,}"


Count = Annotated[int, Range(1, MOST)]
Seconds = Annotated[float, Range(0, LONGEST, above=True)]
Share = Annotated[float, Range(0, 1)]
Factor = Annotated[float, Range(0, LARGEST_FACTOR)]
PositiveFactor = Annotated[float, Range(0, LARGEST_FACTOR, above=True)]
OpeningPlies = Annotated[int, Range(0, MOST_OPENING_PLIES)]


class Hint(NamedTuple):
    """Annotation of a field: its type, whether None is allowed, and the range of a number."""

    kind: Any
    or_none: bool
    range: Range | None


class Settings:
    """Base class of all settings: frozen dataclasses that raise `ConfigError` for values of a wrong type or range."""

    table: ClassVar[str] = ""
    """Table of these settings in `config.toml`, followed by a dot; empty for the outermost one."""
    renamed: ClassVar[Mapping[str, Callable[[Any], dict[str, Any]]]] = {}
    """Former names of settings, each with a function from its value to current settings."""
    inline: ClassVar[str] = ""
    """Field whose settings are stored in the same table as the others; empty if there is none."""

    def __post_init__(self) -> None:
        hints = hints_of(type(self))
        for field in fields(self):  # type: ignore[arg-type]
            if problem := problem_of(hints[field.name], getattr(self, field.name)):
                raise ConfigError.at(self.table + field.name, problem)
        self.check()

    def check(self) -> None:
        """Raise `ConfigError` if two values contradict each other."""

    def require(self, condition: bool, path: str, expected: str, advice: str = "") -> None:
        """Raise `ConfigError` unless `condition` holds.

        The message contains the setting, the expected value, the current value and `advice`.
        """
        if not condition:
            value = operator.attrgetter(path)(self)
            raise ConfigError.at(self.table + path, f"must be {expected}, got {shown(value)}{advice}")

    def require_unset(self, names: typing.Iterable[str], reason: str) -> None:
        """Raise `ConfigError` unless each of these optional settings is none or false."""
        for name in names:
            value = getattr(self, name)
            default = "none" if hints_of(type(self))[name].or_none else "false"
            self.require(value is None or value is False, name, f"{default}, {reason}")


def require_argument(
    name: str, value: object, annotation: Any, error: type[AthenanError], *, or_none: bool = False
) -> None:
    """Raise `error` unless the argument `name` is a number that its annotation, such as `Count`, allows.

    Unlike a setting, it may be a numpy scalar.
    """
    if value is None and or_none:
        return
    hint = read_hint(annotation)
    (require_whole if hint.kind is int else require_number)(name, value, error)
    if hint.range is not None and (problem := hint.range.problem(typing.cast(float, value))):
        raise error(f"{name} must be {problem}, got {shown(value)}")


def hints_of(cls: type[Any]) -> Mapping[str, Hint]:
    """Return the annotations of a dataclass by field name. They are cached, as evaluation takes a millisecond."""
    if cls not in _HINTS:
        annotations = typing.get_type_hints(cls, include_extras=True)
        _HINTS[cls] = {name: read_hint(annotation) for name, annotation in annotations.items()}
    return _HINTS[cls]


_HINTS: dict[type[Any], Mapping[str, Hint]] = {}


def read_hint(annotation: Any) -> Hint:
    """Return the parts of an annotation such as `Annotated[int, Range(1, 9)] | None`."""
    is_union = typing.get_origin(annotation) in (types.UnionType, typing.Union)
    parts = typing.get_args(annotation) if is_union else (annotation,)
    kinds = [part for part in parts if part is not types.NoneType]
    kind, range_ = kinds[0] if len(kinds) == 1 else annotation, None
    if typing.get_origin(kind) is Annotated:
        kind, *metadata = typing.get_args(kind)
        range_ = next((part for part in metadata if isinstance(part, Range)), None)
    return Hint(kind, len(kinds) < len(parts), range_)


def members_of(annotation: Any) -> tuple[type[Any], ...]:
    """Return the dataclasses of a union, a dataclass itself, or nothing for another type."""
    kinds = typing.get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
    return kinds if all(is_dataclass(kind) for kind in kinds) else ()


def problem_of(hint: Hint, value: Any) -> str | None:
    """Return the problem of `value`, such as "must be at least 1, got 0"; None if it is valid.

    An int is allowed for a float.
    """
    kind, or_none = hint.kind, " or none" if hint.or_none else ""
    if value is None and hint.or_none:
        return None
    hint_text = ""
    if typing.get_origin(kind) is tuple:  # tuple[str, ...] is the only tuple
        fits = type(value) is tuple and all(type(part) is str for part in value)
        expected = f"texts{or_none}, as a tuple, in a file as a list"
    elif typing.get_origin(kind) is dict:  # dict[str, str] or dict[str, float]
        has_numbers = typing.get_args(kind)[1] is float
        fits = type(value) is dict and all(
            type(key) is str and (_is_number(item) if has_numbers else type(item) is str) for key, item in value.items()
        )
        expected = f"a table of {'numbers' if has_numbers else 'texts'}{or_none}"
    elif typing.get_origin(kind) is Literal:
        choices = typing.get_args(kind)
        fits = type(value) is str and value in choices
        expected = f"one of {', '.join(map(repr, choices))}{or_none}"
        hint_text = nearest(value, choices)
    else:
        names = {bool: "true or false", int: "a whole number", float: "a finite number", str: "a text"}
        fits = type(value) in (members_of(kind) or (kind,)) or (kind is float and type(value) is int)
        fits = fits and (kind is not float or _is_finite(value))
        members = " or ".join(member.__name__ for member in members_of(kind))
        expected = f"{names.get(kind, f'of {members}')}{or_none}"
    if fits and hint.range is not None and (out := hint.range.problem(value)):
        fits, expected = False, out
    return None if fits else f"must be {expected}, got {shown(value)}{hint_text}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and type(value) is not bool and _is_finite(value)


def _is_finite(number: float) -> bool:
    """Return whether `number` is finite as a float; a large int may exceed the range of floats."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False
