"""The text of a run's `config.toml`: the game's string and every setting, as TOML.

Written so that nothing depends on later defaults: each setting stands there, and one without a value is the string
"none" (TOML has no null). Read strictly: an unknown key, a wrong type or a value out of range is a `ConfigError` that
says the file, the line and, for a misspelt name, the nearest valid one. What is left out has its default.
"""

from __future__ import annotations

import dataclasses
import os
import sys
import typing
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import tomli_w

from athenan_spiel.arguments import require_kind
from athenan_spiel.config import NONE, TrainingConfig
from athenan_spiel.config.settings import Hint, hints_of
from athenan_spiel.errors import ConfigError, nearest, printable, shown
from athenan_spiel.outcomes import is_code, not_allowed
from athenan_spiel.system.files import parse_toml, read_toml
from athenan_spiel.training.toml_lines import KeyPath, key_lines


class SettingError(Exception):
    """What is wrong with the setting at `path`; the reader of the text adds where that is."""

    def __init__(self, path: KeyPath, problem: str) -> None:
        super().__init__(f"{'.'.join(path)} {problem}")
        self.path = path
        self.problem = problem


def read_users_toml(path: str | os.PathLike[str]) -> str:
    """The text of a TOML file that the user names, which may be a link; it is not parsed yet.

    Raises:
        ConfigError: it cannot be read, or is not UTF-8.
    """
    try:
        return read_toml(path, follow=True)
    except OSError as error:
        raise ConfigError(f"{printable(str(path))} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{printable(str(path))} is not valid TOML: {error}") from None


def toml_table(text: str, source: str) -> dict[str, Any]:
    """The table of a TOML text.

    Args:
        source: the name of the file, for messages.

    Raises:
        ConfigError: it is no TOML.
    """
    try:
        return parse_toml(text)
    except ValueError as error:
        raise ConfigError(f"{source} is not valid TOML: {error}", source=source) from None


def settings_to_toml(game: str, config: TrainingConfig) -> str:
    """The text of `config.toml` for a run of `game`; `settings_from_toml` gives back exactly what came in.

    Raises:
        ConfigError: one is of another kind.
    """
    require_kind("game", game, str, ConfigError)
    require_kind("config", config, TrainingConfig, ConfigError)
    return tomli_w.dumps({"game": game, **dataclasses.asdict(config, dict_factory=_toml_table)})


def settings_from_toml(
    text: str, source: str = "config.toml", *, allow_code: Collection[str] = ()
) -> tuple[str, TrainingConfig]:
    """The game's string and the settings that `text` holds.

    Args:
        source: the name of the file, for messages.
        allow_code: outcomes "module:name" that the text may name. Whoever trains with the settings imports them.

    Engines among `evaluation.opponents` are not looked at here: `train(..., allow_programs=())` refuses to begin them.

    Raises:
        ConfigError: it is no text or no TOML, lacks the game, or a setting is unknown, of a wrong type or out of range;
            the outcome has to be imported and is not allowed.
    """
    require_kind("text", text, str, ConfigError)
    game, config = read_text(text, source)
    if is_code(config.outcome) and config.outcome not in allow_code:
        raise not_allowed(config.outcome)
    return require_game(game, source), config


def require_game(game: str | None, source: str) -> str:
    """`game`, if there is one.

    Raises:
        ConfigError: there is none.
    """
    if game is None:
        problem = "must be an OpenSpiel game string such as 'connect_four', got None"
        raise ConfigError(f"{source}: game {problem}", path="game", problem=problem, source=source)
    return game


def read_text(text: str, source: str) -> tuple[str | None, TrainingConfig]:
    """The game's string, None if there is none, and the settings; nothing in them is allowed yet to be imported.

    Raises:
        ConfigError: the text is no TOML, or a setting is unknown, of a wrong type or out of range.
    """
    table = toml_table(text, source)
    with errors_with_lines(text, source):
        game = table.pop("game", None)
        if game is not None and (not isinstance(game, str) or not game):
            raise SettingError(("game",), f"must be an OpenSpiel game string such as 'connect_four', got {shown(game)}")
        return game, read_settings(TrainingConfig, table, (), others=("game",))


@contextmanager
def errors_with_lines(text: str, source: str) -> Iterator[None]:
    """What is wrong with a setting of `text` is raised as a `ConfigError` that begins with the file and the line."""
    try:
        yield
    except SettingError as error:
        place = f"{source}{_at_line(text, error.path)}"
        dotted = ".".join(error.path)
        raise ConfigError(f"{place}: {error}", path=dotted, problem=error.problem, source=source) from None
    except ConfigError as error:
        place = f"{source}{_at_line(text, tuple(error.path.split('.')))}"
        raise ConfigError(f"{place}: {error}", path=error.path, problem=error.problem, source=source) from None


def config_to_dict(config: TrainingConfig) -> dict[str, Any]:
    """The settings as nested dicts of JSON values, None included."""
    return dataclasses.asdict(config, dict_factory=_json_table)


def _toml_table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: NONE if value is None else value for name, value in pairs}


def _json_table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: [*value] if isinstance(value, tuple) else value for name, value in pairs}


def config_from_dict(table: Mapping[str, Any]) -> TrainingConfig:
    """The inverse of `config_to_dict`, as strict as `settings_from_toml`.

    Raises:
        ConfigError: a setting is unknown, of a wrong type or out of range.
    """
    try:
        config: TrainingConfig = read_settings(TrainingConfig, table, ())
    except SettingError as error:
        raise ConfigError.at(".".join(error.path), error.problem) from None
    return config


def read_settings(cls: type[Any], table: Mapping[str, Any], path: KeyPath, others: tuple[str, ...] = ()) -> Any:
    """The dataclass of settings `cls` that `table` describes, as strict as `settings_from_toml`.

    Args:
        path: where the table stands, for messages.
        others: keys beside it that are not its own, for hints.

    Raises:
        SettingError: a key is unknown, or no table where there must be one.
        ConfigError: a value is of a wrong type, out of range, or contradicts another one.
    """
    hints = hints_of(cls)
    names = [field.name for field in dataclasses.fields(cls)]
    table = renewed(cls, table, path)
    for key in table:
        if key not in names:
            hint = nearest(key, [*others, *names]) or f": expected one of {', '.join([*others, *names])}"
            raise SettingError((*path, key), f"is not a setting{hint}")
    return cls(**{key: _read_value(hints[key], value, (*path, key)) for key, value in table.items()})


def renewed(cls: type[Any], table: Mapping[str, Any], path: KeyPath = ()) -> dict[str, Any]:
    """`table` with the settings of now in place of such as were renamed, in the tables within it as well.

    Raises:
        SettingError: a setting is given by its older name and by the one of now.
    """
    hints = hints_of(cls)
    found = {
        key: renewed(hints[key].kind, value, (*path, key))
        if key in hints and dataclasses.is_dataclass(hints[key].kind) and isinstance(value, Mapping)
        else value
        for key, value in table.items()
    }
    for name in cls.renamed.keys() & table.keys():
        means = cls.renamed[name](found.pop(name))
        if twice := means.keys() & table.keys():
            raise SettingError((*path, name), f"is the older name of {min(twice)}: give one of them, got both")
        found |= means
    return found


def _read_value(hint: Hint, value: object, path: KeyPath) -> Any:
    """Return `value` as the dataclass expects it, which checks its type itself."""
    if hint.or_none and value == NONE:
        return None
    if isinstance(hint.kind, type) and dataclasses.is_dataclass(hint.kind):
        if not isinstance(value, Mapping):
            raise SettingError(path, f"must be a table, [{'.'.join(path)}], got {shown(value)}")
        return read_settings(hint.kind, value, path)
    if typing.get_origin(hint.kind) is tuple:
        return tuple(value) if isinstance(value, list) else value  # the dataclass looks at what is in it
    fits = type(value) is int and value.bit_length() < sys.float_info.max_exp  # else the dataclass refuses it
    return float(typing.cast(int, value)) if hint.kind is float and fits else value


def _at_line(text: str, path: KeyPath) -> str:
    """The words ", line N" where `text` sets `path`, nothing if it does not."""
    number = next((number for number, found in key_lines(text) if found == path), None)
    return f", line {number}" if number is not None else ""
