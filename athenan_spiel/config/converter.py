"""Converts settings to plain values and back, by cattrs, for TOML and JSON files and the command line.

Reading is strict: an unknown key or a wrong type raises an error with the path of the setting and, for a misspelt name,
the nearest valid one. Missing settings have their defaults. `algorithm` selects one dataclass of a union. The table may
contain unset options of the others, as files of older versions do.
"""

from __future__ import annotations

import dataclasses
import sys
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from cattrs import ClassValidationError, Converter, ForbiddenExtraKeysError
from cattrs.gen import make_dict_structure_fn

from athenan_spiel.config.settings import NONE, Hint, hints_of, members_of, problem_of, read_hint
from athenan_spiel.errors import ConfigError, nearest, shown

KeyPath = tuple[str, ...]

TAG = "algorithm"
"""Setting that selects the dataclass of a union."""


class SettingError(Exception):
    """Invalid setting at `path`, which may be a path in a larger file."""

    def __init__(self, path: KeyPath, problem: str) -> None:
        super().__init__(f"{'.'.join(path)} {problem}")
        self.path = path
        self.problem = problem


class _NoTableError(Exception):
    """The value of a dataclass is not a table."""


def to_plain(settings: Any) -> Any:
    """Return a dataclass as nested dicts of JSON values, including None."""
    return _CONVERTER.unstructure(settings)


def read_settings(kind: Any, table: Mapping[str, Any], path: KeyPath = (), others: tuple[str, ...] = ()) -> Any:
    """Return the settings in `table`.

    Args:
        kind: their dataclass, or a union of dataclasses.
        path: path of the table, for messages.
        others: other valid keys, for suggestions in messages.

    Raises:
        SettingError: a key is unknown or given twice, or a value that must be a table is not one.
        ConfigError: a value has a wrong type, is out of range, or contradicts another one.
    """
    error: Exception
    try:
        return _CONVERTER.structure(renewed(kind, table, path), kind)
    except (ClassValidationError, ConfigError, ForbiddenExtraKeysError) as raised:
        error = raised
    inline = ""
    while isinstance(error, ClassValidationError):
        noted, bare = error.group_exceptions()
        if bare:
            error = bare[0]
        elif noted[0][1].name == getattr(error.cl, "inline", ""):
            error, inline = noted[0][0], noted[0][1].name
        else:
            path, error = (*path, noted[0][1].name), noted[0][0]
    if isinstance(error, ForbiddenExtraKeysError):
        names = [*(others if error.cl is kind else ()), *names_of(error.cl)]
        key = min(error.extra_fields)
        hint = nearest(key, names) or f": expected one of {', '.join(names)}"
        raise SettingError((*path, key), f"is not a setting{hint}")
    if isinstance(error, _NoTableError):
        raise SettingError(path, f"must be a table, [{'.'.join(path)}], got {error}")
    if isinstance(error, ConfigError) and inline:
        error = ConfigError.at(kind.table.removesuffix(".") + error.path.removeprefix(inline), error.problem)
    raise error from None


def renewed(kind: Any, table: Mapping[str, Any], path: KeyPath = ()) -> dict[str, Any]:
    """Return `table` with the current names of renamed settings, also in nested tables.

    Raises:
        SettingError: a setting is given by its former and its current name.
    """
    if members_of(kind) != (kind,):
        return dict(table)
    hints = hints_of(kind)
    found = {
        key: renewed(hints[key].kind, value, (*path, key)) if key in hints and isinstance(value, Mapping) else value
        for key, value in table.items()
    }
    for name in kind.renamed.keys() & table.keys():
        current = kind.renamed[name](found.pop(name))
        if twice := current.keys() & table.keys():
            raise SettingError((*path, name), f"is the older name of {min(twice)}: give one of them, got both")
        found |= current
    return found


def names_of(kind: Any) -> tuple[str, ...]:
    """Return the names that settings have in a file: those of a dataclass, or of all dataclasses of a union."""
    names: dict[str, None] = {}
    for member in members_of(kind):
        for field in dataclasses.fields(member):
            is_inline = field.name == getattr(member, "inline", "")
            names |= dict.fromkeys(names_of(hints_of(member)[field.name].kind) if is_inline else (field.name,))
    return tuple(names)


def enumeration(names: Iterable[str]) -> str:
    """Return the names with commas and "and" between them."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _read_value(value: Any, annotation: Any) -> Any:
    """Return `value` in the form that a dataclass expects; the dataclass checks its type."""
    hint = read_hint(annotation)
    if hint.or_none and (value is None or value == NONE):
        return None
    if members_of(hint.kind):
        return _CONVERTER.structure(value, hint.kind)
    if typing.get_origin(hint.kind) is tuple:
        return tuple(value) if isinstance(value, list) else value  # the dataclass checks the items
    fits = type(value) is int and value.bit_length() < sys.float_info.max_exp  # else the dataclass raises an error
    return float(value) if hint.kind is float and fits else value


def _dataclass_reader(kind: type[Any]) -> Callable[[Any, Any], Any]:
    read = make_dict_structure_fn(kind, _CONVERTER)
    inline = getattr(kind, "inline", "")
    others = {field.name for field in dataclasses.fields(kind)} - {inline}

    def structure(table: Any, _: Any) -> Any:
        if not isinstance(table, Mapping):
            raise _NoTableError(shown(table))
        if inline:
            table = {name: table[name] for name in others & table.keys()} | {
                inline: {name: value for name, value in table.items() if name not in others}
            }
        return read(table, kind)

    return structure


def _union_reader(union: Any) -> Callable[[Any, Any], Any]:
    members = {member.algorithm: member for member in members_of(union)}
    names = {tag: names_of(member) for tag, member in members.items()}
    prefix, default = next((member.table, tag) for tag, member in members.items())

    def structure(table: Any, _: Any) -> Any:
        if not isinstance(table, Mapping):
            raise _NoTableError(shown(table))
        tag = table.get(TAG, default)
        if problem := problem_of(Hint(Literal[tuple(members)], False, None), tag):
            raise ConfigError.at(f"{prefix}{TAG}", problem)
        own = {}
        for name, value in table.items():
            owners = [other for other in members if name in names[other]]
            if not owners:
                raise ForbiddenExtraKeysError(None, union, {name})
            if tag in owners:
                own[name] = value
            elif problem := _problem_of_others(members[owners[0]], name, value, owners):
                raise ConfigError.at(f"{prefix}{name}", problem)
        return _CONVERTER.structure(own, members[tag])

    return structure


def _problem_of_others(kind: type[Any], name: str, value: Any, owners: list[str]) -> str | None:
    """Return the problem of an option of other searches; None without a value, or with a default of true or false."""
    or_none = hints_of(kind)[name].or_none
    if value in (None, NONE) if or_none else value is False or value is getattr(kind, name):
        return None
    listed, verb = enumeration(map(repr, owners)), "have" if owners[1:] else "has"
    return f"must be {'none' if or_none else 'false'}, as only {listed} {verb} it, got {shown(value)}"


def _inline_writer(kind: Any) -> Callable[[Any], dict[str, Any]]:
    def unstructure(settings: Any) -> dict[str, Any]:
        table = {field.name: to_plain(getattr(settings, field.name)) for field in dataclasses.fields(kind)}
        return {**table.pop(kind.inline), **table}

    return unstructure


_CONVERTER = Converter(forbid_extra_keys=True, unstruct_collection_overrides={tuple: list})
for _kind in (bool, int, float, str):
    _CONVERTER.register_structure_hook(_kind, _read_value)
_CONVERTER.register_structure_hook_func(lambda kind: True, _read_value)
_CONVERTER.register_structure_hook_factory(dataclasses.is_dataclass, _dataclass_reader)
_CONVERTER.register_structure_hook_factory(lambda kind: len(members_of(kind)) > 1, _union_reader)
_CONVERTER.register_unstructure_hook_factory(lambda kind: bool(getattr(kind, "inline", "")), _inline_writer)
