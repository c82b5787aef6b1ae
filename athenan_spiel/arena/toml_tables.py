"""Tables of the TOML files of tournaments and experiments, parsed strictly: every error has its line."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from athenan_spiel.config import NONE
from athenan_spiel.config.converter import KeyPath, SettingError, names_of, read_settings
from athenan_spiel.config.search import LIMITS as SEARCH_LIMITS
from athenan_spiel.errors import AthenanError, ConfigError, nearest, shown
from athenan_spiel.training.settings_file import line_of, toml_table

LIMITS: Mapping[KeyPath, tuple[str, ...]] = {(): ("seconds", "matches"), ("search",): SEARCH_LIMITS}
"""Mutually exclusive settings of a training, by the table that holds them."""
PLAY_LIMITS: Mapping[KeyPath, tuple[str, ...]] = {(): SEARCH_LIMITS}
MOST_GAMES = 100
LONGEST_NAME = 60
"""Maximum length of a name, in characters. Names become folders; with four bytes per character they still fit."""


class TomlTables:
    """Parsed TOML text, with access to tables and values by key. Callers may have replaced some values.

    Args:
        text: TOML.
        source: the file's name, for messages.
        replaced: keys whose values don't come from the text.

    Attributes:
        source: the file's name, for messages.
        table: content of the text; a subclass may replace it.

    Raises:
        ConfigError: it is not valid TOML.
    """

    def __init__(self, text: str, source: str, replaced: Collection[KeyPath] = ()) -> None:
        self.text = text
        self.source = source
        self.table = toml_table(text, source)
        self._replaced = replaced

    def error(self, path: KeyPath, problem: str) -> ConfigError:
        """Returns the error of the key `path`, with the file, and the line of the key or of its table."""
        place = self.source
        if path not in self._replaced:
            known = (path[:length] for length in range(len(path), 0, -1))
            line = next((number for part in known if (number := line_of(self.text, part)) is not None), None)
            place += f", line {line}" if line is not None else ""
        return ConfigError(f"{place}: {problem}", path=".".join(path), problem=problem, source=self.source)

    @contextlib.contextmanager
    def errors_at(self, path: KeyPath, before: str = "", after: str = "") -> Iterator[None]:
        """Context that raises errors as errors of the key `path`, with text before and after the message."""
        try:
            yield
        except AthenanError as error:
            raise self.error(path, f"{before}{error}{after}") from None

    def settings_at(self, kind: type[Any], path: KeyPath, base: Mapping[str, Any]) -> Any:
        """Parse the table at `path` on top of the settings `base`."""
        table = self.table_at(path)
        self.known_keys(path, table, names_of(kind))
        return self.settings_of(kind, path, table, base)

    def settings_of(
        self, kind: type[Any], path: KeyPath, table: Mapping[str, Any], base: Mapping[str, Any] = MappingProxyType({})
    ) -> Any:
        """Parses `table`, the one at `path`, on top of the settings `base`.

        Raises:
            ConfigError: a setting is of a wrong type, out of range, or contradicts another one.
        """
        try:
            return read_settings(kind, with_differences(base, table, PLAY_LIMITS), path)
        except SettingError as error:
            raise self.error(error.path, str(error)) from None
        except ConfigError as error:
            key = error.path.removeprefix(kind.table)
            raise self.error(
                (*path, *key.split(".")), f"{dotted(path[:-1])}{'.' if path[:-1] else ''}{error}"
            ) from None

    def known_keys(self, path: KeyPath, table: Mapping[str, Any], known: Sequence[str]) -> None:
        """Raise `ConfigError` for an unknown key of the table at `path`."""
        for key in table:
            if key not in known:
                hint = nearest(key, known) or f": expected one of {', '.join(known)}"
                raise self.error((*path, key), f"{dotted((*path, key))} is not a setting{hint}")

    def table_at(self, path: KeyPath) -> dict[str, Any]:
        """Returns the table at `path`, empty if there is none.

        Raises:
            ConfigError: the value is not a table.
        """
        table: Any = self.table
        for key in path:
            table = table.get(key, {})
            if not isinstance(table, dict):
                raise self.error(path, f"{dotted(path)} must be a table, [{dotted(path)}], got {shown(table)}")
        found: dict[str, Any] = table
        return found

    def required(self, path: KeyPath, kind: type[Any], expected: str) -> Any:
        """Returns the value at `path`.

        Args:
            expected: description of the value, for the message.

        Raises:
            ConfigError: it is missing, empty or not a `kind`.
        """
        value = self.table_at(path[:-1]).get(path[-1])
        if type(value) is not kind or value in ("", [], {}):
            raise self.error(path, f"{dotted(path)} must be {expected}, got {shown(value)}")
        return value

    def text_at(self, path: KeyPath) -> str:
        """Returns the text at `path`; raises as `required`."""
        text: str = self.required(path, str, "a text")
        return text

    def folder_name_at(self, path: KeyPath) -> str:
        """Returns the text at `path` if it can name a folder; else raises as `required`."""
        name = self.text_at(path)
        if problem := folder_name_problem(name):
            raise self.error(path, f"{dotted(path)} {problem}")
        return name

    def require_name(self, path: KeyPath, what: str, name: str) -> None:
        """Raise `ConfigError` unless `name` is short and printable.

        Args:
            what: the named object, for the message.
        """
        if problem := name_problem(name):
            raise self.error(path, f"{what} {problem}")

    def texts_at(self, path: KeyPath, what: str = "game string", most: int = MOST_GAMES) -> tuple[str, ...]:
        """Returns the different texts in the list at `path`; raises as `required`.

        Args:
            what: description of a text, for the message.
            most: maximum number of texts.
        """
        texts = self.required(path, list, f"a list of {what}s")
        if len(texts) > most:
            raise self.error(path, f"{dotted(path)} must be at most {most:,} {what}s, got {len(texts):,}")
        for i, text in enumerate(texts):
            if type(text) is not str or not text.isprintable() or not text or text in texts[:i]:
                raise self.error(path, f"{dotted(path)} must be a list of different {what}s, got {shown(text)} in it")
        return tuple(texts)

    def count_at(self, path: KeyPath, least: int, most: int) -> int:
        """Returns the whole number at `path`; raises as `required`, and if it is out of range."""
        count: int = self.required(path, int, f"a whole number, at least {least}")
        if count < least:
            raise self.error(path, f"{dotted(path)} must be a whole number, at least {least}, got {shown(count)}")
        if count > most:
            raise self.error(path, f"{dotted(path)} must be at most {most:,}, got {shown(count)}")
        return count


def name_problem(name: str) -> str | None:
    """Returns the problem with the name of an agent, a variant, a tournament or an experiment, if there is one."""
    if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        return f"must be 1 to {LONGEST_NAME} printable characters, got {shown(name)}"
    return None


def folder_name_problem(name: str) -> str | None:
    """Returns the problem with a name that becomes a folder, if there is one."""
    if name[:1] in ("-", ".") or any(sign in name for sign in "/\\"):
        rule = "must not contain a slash or backslash, nor start with a dash or a dot, as it names a folder"
        return f"{rule}, got {shown(name)}"
    return name_problem(name)


def dotted(path: KeyPath) -> str:
    """Returns the key for a message; a long or unprintable name in it is quoted."""
    return ".".join(key if key.isprintable() and len(key) <= LONGEST_NAME else shown(key) for key in path)


def with_differences(
    base: Mapping[str, Any],
    differences: Mapping[str, Any],
    limits: Mapping[KeyPath, tuple[str, ...]] = LIMITS,
    path: KeyPath = (),
) -> dict[str, Any]:
    """Merges nested settings: `differences` override `base`. A limit removes the other limits of its table."""
    merged = dict(base)
    names = limits.get(path, ())
    if any(name in differences for name in names):
        merged |= {name: NONE for name in names if name in merged}
    for key, value in differences.items():
        current = merged.get(key)
        if isinstance(current, Mapping) and isinstance(value, Mapping):
            merged[key] = with_differences(current, value, limits, (*path, key))
        else:
            merged[key] = value
    return merged
