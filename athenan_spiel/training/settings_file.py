"""Reads and writes `config.toml`, the game string and all settings of a run.

The file contains every setting, so a run does not change when defaults change in a later version. A setting without a
value is the string "none", as TOML has no null. Reading is strict: an unknown key, a wrong type or a value out of range
raises a `ConfigError` with the file, the line and, for a misspelt name, the nearest valid one. Missing settings have
their defaults.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import tomli_w

from athenan_spiel.arguments import require_kind
from athenan_spiel.config import NONE, TrainingConfig
from athenan_spiel.config.converter import KeyPath, SettingError, read_settings, to_plain
from athenan_spiel.errors import ConfigError, printable, shown
from athenan_spiel.outcomes import is_code, not_allowed
from athenan_spiel.system.files import parse_toml, read_toml

_STRING = r'"(?:\\.|[^"\\])*"|' + r"'[^']*'"
_KEY = rf"(?:{_STRING}|[A-Za-z0-9_-]+)"
_DOTTED = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_HEADER = re.compile(rf"\s*\[\[?\s*({_DOTTED})\s*\]")
_SETTING = re.compile(rf"\s*({_DOTTED})\s*=")
_BRACKET_OR_OTHER = re.compile(r""""(?:\\.|[^"\\])*+"?|'[^']*+'?|#.*|[\[\]{}]""")
"""Brackets outside strings and comments. An unclosed string extends to the end of the line: a search for the end from
each of its quotes took a minute for a line with 30,000 escaped quotes."""

_LONG_STRING = r'"""(?>(?:\\.|"{1,2}(?!")|[^"\\])*)(?:"{3,5})?' + r"|'''(?>(?:'{1,2}(?!')|[^'])*)(?:'{3,5})?"
"""Atomic groups, as Python before 3.11.5 matches too much with possessive quantifiers (`*+`) of such groups."""
_LONG_STRING_OR_OTHER = re.compile(rf"(?P<long>{_LONG_STRING})|{_STRING}|#[^\n]*", re.DOTALL)


def key_lines(text: str) -> Iterator[tuple[int, KeyPath]]:
    """Yield each line that sets a key or opens a table: its number, from 1, and the full path.

    `tomllib` doesn't provide line numbers. `text` is valid TOML with line feeds. A key inside an inline table has the
    line of the table.
    """
    table: KeyPath = ()
    depth = 0  # number of brackets open since earlier lines
    stripped = _LONG_STRING_OR_OTHER.sub(_line_feeds, text)
    for number, line in enumerate(stripped.split("\n"), 1):
        if not depth:
            if header := _HEADER.match(line):
                table = _split(header[1])
                yield number, table
                continue
            if setting := _SETTING.match(line):
                yield number, table + _split(setting[1])
        for token in _BRACKET_OR_OTHER.findall(line):
            depth += (token in "[{") - (token in "]}")


def line_of(text: str, path: KeyPath) -> int | None:
    """Return the number of the line that sets `path`, or else of the first line that sets a key below it."""
    lines = list(key_lines(text))
    exact = (number for number, found in lines if found == path)
    below = (number for number, found in lines if found[: len(path)] == path)
    return next(exact, None) or next(below, None)


def _split(dotted: str) -> KeyPath:
    return tuple(_name(key) for key in re.findall(_KEY, dotted))


def _name(key: str) -> str:
    """Return the name of a bare or quoted key."""
    return next(iter(tomllib.loads(f"{key} = 0"))) if key[0] in "\"'" else key


def _line_feeds(found: re.Match[str]) -> str:
    """Replace a multi-line string by its line feeds; leave any other text unchanged."""
    return "\n" * found[0].count("\n") if found["long"] else found[0]


def read_users_toml(path: str | os.PathLike[str]) -> str:
    """Return the text of a TOML file that the user has named, which may be a link, without parsing it.

    Raises:
        ConfigError: the file cannot be read, or is not UTF-8.
    """
    try:
        return read_toml(path, follow=True)
    except OSError as error:
        raise ConfigError(f"{printable(str(path))} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{printable(str(path))} is not valid TOML: {error}") from None


def toml_table(text: str, source: str) -> dict[str, Any]:
    """Parse a TOML text.

    Args:
        source: name of the file, for messages.

    Raises:
        ConfigError: the text is not valid TOML.
    """
    try:
        return parse_toml(text)
    except ValueError as error:
        raise ConfigError(f"{source} is not valid TOML: {error}", source=source) from None


def settings_to_toml(game: str, config: TrainingConfig) -> str:
    """Return the text of `config.toml` for a run of `game`; `settings_from_toml` is its exact inverse.

    Raises:
        ConfigError: an argument has a wrong type.
    """
    require_kind("game", game, str, ConfigError)
    require_kind("config", config, TrainingConfig, ConfigError)
    return tomli_w.dumps({"game": game, **_without_null(config_to_dict(config))})


def settings_from_toml(
    text: str, source: str = "config.toml", *, allow_code: Collection[str] = ()
) -> tuple[str, TrainingConfig]:
    """Return the game string and the settings in `text`.

    Args:
        source: name of the file, for messages.
        allow_code: custom outcomes "module:name" that the text may contain. Training imports them, this function does
            not.

    Commands of engines in `evaluation.opponents` are not checked here: `train(..., allow_programs=())` does not start
    them.

    Raises:
        ConfigError: `text` is not valid TOML or lacks the game; a setting is unknown, of a wrong type or out of range;
            the outcome is custom code that is not allowed.
    """
    require_kind("text", text, str, ConfigError)
    game, config = read_text(text, source)
    if is_code(config.outcome) and config.outcome not in allow_code:
        raise not_allowed(config.outcome)
    return require_game(game, source), config


def require_game(game: str | None, source: str) -> str:
    """Return `game`.

    Raises:
        ConfigError: `game` is None.
    """
    if game is None:
        problem = "must be an OpenSpiel game string such as 'connect_four', got None"
        raise ConfigError(f"{source}: game {problem}", path="game", problem=problem, source=source)
    return game


def read_text(text: str, source: str) -> tuple[str | None, TrainingConfig]:
    """Return the game string, None if it is missing, and the settings. Custom outcomes are not checked.

    Raises:
        ConfigError: the text is not valid TOML, or a setting is unknown, of a wrong type or out of range.
    """
    table = toml_table(text, source)
    with errors_with_lines(text, source):
        game = table.pop("game", None)
        if game is not None and (not isinstance(game, str) or not game):
            raise SettingError(("game",), f"must be an OpenSpiel game string such as 'connect_four', got {shown(game)}")
        return game, read_settings(TrainingConfig, table, (), others=("game",))


@contextmanager
def errors_with_lines(text: str, source: str) -> Iterator[None]:
    """Context that adds the file and the line to a `ConfigError` about a setting in `text`."""
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
    """Return the settings as nested dicts of JSON values, including None."""
    table: dict[str, Any] = to_plain(config)
    return table


def config_from_dict(table: Mapping[str, Any]) -> TrainingConfig:
    """Return the settings of a `config_to_dict`, with the checks of `settings_from_toml`.

    Raises:
        ConfigError: a setting is unknown, of a wrong type or out of range.
    """
    try:
        config: TrainingConfig = read_settings(TrainingConfig, table)
    except SettingError as error:
        raise ConfigError.at(".".join(error.path), error.problem) from None
    return config


def _without_null(value: Any) -> Any:
    """Return `value` with "none" for None, as TOML has no null."""
    if isinstance(value, dict):
        return {name: _without_null(item) for name, item in value.items()}
    return NONE if value is None else value


def _at_line(text: str, path: KeyPath) -> str:
    """Return ", line N" for the line of `text` that sets `path`, or an empty string."""
    number = next((number for number, found in key_lines(text) if found == path), None)
    return f", line {number}" if number is not None else ""
