"""A tournament's file: TOML, read strictly, every mistake said with its line before a match is played.

name = "connect_four"
game = "connect_four"            # or games = [...]
agents = ["runs/c4", "mcts:100"] # or [agents] with a name for each word
pool = ["random"]                # if there are any, agents meet these and not each other
matches = 20                     # of a pair, at each game
limit = "0.1s"                   # thinking a move, of all agents
anchor = "random"

[openings]
kind = "balanced"
plies = 4

[sequential]
elo0 = 0
elo1 = 50
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from athenan_spiel.arena.tournament_settings import LONGEST_NAME, OpeningsConfig, SequentialConfig, Tournament
from athenan_spiel.errors import ConfigError, nearest, printable, shown
from athenan_spiel.training.settings_file import SettingError, read_settings, read_users_toml, toml_table
from athenan_spiel.training.toml_lines import KeyPath, line_of

KEYS = ("name", "game", "games", "agents", "pool", "matches", "limit", "anchor", "confidence", "seed")
TABLES = ("openings", "sequential")
MOST_GAMES = 100
MOST_SEED = 2**62


def read_tournament(path: str | Path) -> Tournament:
    """The tournament in the file `path`. A file of openings that it names lies beside it.

    Raises:
        ConfigError: the file cannot be read, or as `tournament_of`.
    """
    tournament = tournament_of(read_users_toml(path), printable(str(path)))
    if (file := tournament.openings.file) is not None:
        beside = str(Path(path).parent / file)
        return dataclasses.replace(tournament, openings=dataclasses.replace(tournament.openings, file=beside))
    return tournament


def tournament_of(text: str, source: str) -> Tournament:
    """The tournament that a TOML text describes.

    Args:
        source: the name of the file, for messages.

    Raises:
        ConfigError: it is no TOML; a key is misspelt, of a wrong type or out of range; or it contradicts another one.
    """
    table = toml_table(text, source)
    try:
        return _tournament(table)
    except SettingError as error:
        raise ConfigError(f"{_place(text, source, error.path)}: {error}") from None
    except ConfigError as error:
        raise ConfigError(f"{_place(text, source, tuple(error.path.split('.')))}: {error}") from None


def named(words: Sequence[str]) -> dict[str, str]:
    """Agents that are called as their words are.

    Raises:
        ConfigError: one is named twice.
    """
    if twice := next((word for word, count in Counter(words).items() if count > 1), None):
        raise ConfigError.at("agents", f"must differ, got {shown(twice)} twice: in a file [agents] can name them apart")
    return {word: word for word in words}


def _place(text: str, source: str, path: KeyPath) -> str:
    number = next((n for length in range(len(path), 0, -1) if (n := line_of(text, path[:length])) is not None), None)
    return f"{source}{f', line {number}' if number is not None else ''}"


def _tournament(table: dict[str, Any]) -> Tournament:
    for key in table:
        if key not in (*KEYS, *TABLES):
            hint = nearest(key, (*KEYS, *TABLES)) or f": expected one of {', '.join((*KEYS, *TABLES))}"
            raise SettingError((key,), f"is not a setting{hint}")
    given: dict[str, Any] = {
        "name": _name(table.get("name")),
        "games": _games(table),
        "agents": _agents(table, "agents"),
    }
    if "pool" in table:
        given["pool"] = _agents(table, "pool")
    for key in ("limit", "anchor"):
        if key in table:
            given[key] = _text((key,), table[key])
    for key, least, most in (("matches", 2, 10**9), ("seed", 0, MOST_SEED)):
        if key in table:
            given[key] = _whole((key,), table[key], least, most)
    if "confidence" in table:
        given["confidence"] = _number(("confidence",), table["confidence"])
    for key, kind in (("openings", OpeningsConfig), ("sequential", SequentialConfig)):
        if key in table:
            given[key] = _settings(kind, key, table[key])
    return Tournament(**given)


def _settings(kind: type[Any], key: str, value: object) -> Any:
    if not isinstance(value, Mapping):
        raise SettingError((key,), f"must be a table, [{key}], got {shown(value)}")
    missing = [name for name in ("elo0", "elo1") if kind is SequentialConfig and name not in value]
    if missing:
        raise SettingError((key,), f"must have {missing[0]}, got {shown(sorted(value))}")
    return read_settings(kind, value, (key,))


def usable_name(name: str) -> str:
    """`name`, if a tournament can be called so, and its folder.

    Raises:
        ConfigError: it cannot.
    """
    try:
        return _name(name)
    except SettingError as error:
        raise ConfigError(str(error)) from None


def _name(name: object) -> str:
    name = _text(("name",), name)
    _require_name(name, ("name",))
    if name[0] in "-." or any(sign in name for sign in "/\\"):
        raise SettingError(("name",), f"must hold no slash and not begin with a dash or a dot, got {shown(name)}")
    return name


def _require_name(name: str, path: KeyPath) -> None:
    """Check what an agent, or a tournament, is called: it is short, and can be printed."""
    if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        raise SettingError(path, f"must be 1 to {LONGEST_NAME} printable characters, got {shown(name)}")


def _games(table: Mapping[str, Any]) -> tuple[str, ...]:
    if ("game" in table) == ("games" in table):
        raise SettingError(("games",), f"or game must be given, got {'both' if 'game' in table else 'neither'}")
    if "game" in table:
        return (_text(("game",), table["game"]),)
    games = _texts(("games",), table["games"])
    if len(games) > MOST_GAMES or len(set(games)) < len(games):
        raise SettingError(("games",), f"must be at most {MOST_GAMES} different game strings, got {shown(games)}")
    return tuple(games)


def _agents(table: Mapping[str, Any], key: str) -> dict[str, str]:
    value = table.get(key)
    if isinstance(value, Mapping):
        for name, word in value.items():
            _require_name(name, (key, name))
            _text((key, name), word)
        return dict(value)
    found = named(_texts((key,), value))
    for name in found:
        if len(name) > 10 * LONGEST_NAME or not name.isprintable():
            raise SettingError((key,), f"holds a word too long for a name, {shown(name)}: name it in [{key}]")
    return found


def _text(path: KeyPath, value: object) -> str:
    if type(value) is not str or not value:
        raise SettingError(path, f"must be a text, got {shown(value)}")
    return value


def _texts(path: KeyPath, value: object) -> list[str]:
    if type(value) is not list or not value:
        raise SettingError(path, f"must be a list of texts, got {shown(value)}")
    return [_text(path, text) for text in value]


def _whole(path: KeyPath, value: object, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise SettingError(path, f"must be a whole number from {least} to {most:,}, got {shown(value)}")
    return value


def _number(path: KeyPath, value: object) -> float:
    if type(value) not in (int, float):
        raise SettingError(path, f"must be a number, got {shown(value)}")
    return float(value)  # type: ignore[arg-type]
