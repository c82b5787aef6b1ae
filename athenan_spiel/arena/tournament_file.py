"""Tournament files: TOML, parsed strictly. Every error has its line and is found before a game is played.

name = "connect_four"
game = "connect_four"            # or games = [...]
agents = ["runs/c4", "mcts:100"] # or [agents] with a name for each spec
pool = ["random"]                # if given, agents meet only these
matches = 20                     # games of each pair, for each game
limit = "0.1s"                   # limit per move, for all agents
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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from athenan_spiel.arena.toml_tables import LONGEST_NAME, TomlTables, dotted, folder_name_problem
from athenan_spiel.arena.tournament_settings import OpeningsConfig, SequentialConfig, Tournament
from athenan_spiel.errors import ConfigError, printable, shown
from athenan_spiel.training.settings_file import KeyPath, read_users_toml

KEYS = ("name", "game", "games", "agents", "pool", "matches", "limit", "anchor", "confidence", "seed")
TABLES = ("openings", "sequential")
MOST_MATCHES = 10**9
MOST_SEED = 2**62


def read_tournament(path: str | Path) -> Tournament:
    """Read the tournament file at `path`. Its file of openings, if any, is relative to the same folder.

    Raises:
        ConfigError: the file cannot be read, or as `tournament_of`.
    """
    tournament = tournament_of(read_users_toml(path), printable(str(path)))
    if (file := tournament.openings.file) is not None:
        beside = str(Path(path).parent / file)
        return dataclasses.replace(tournament, openings=dataclasses.replace(tournament.openings, file=beside))
    return tournament


def tournament_of(text: str, source: str) -> Tournament:
    """Parse a tournament.

    Args:
        text: TOML.
        source: the file's name, for messages.

    Raises:
        ConfigError: the text is no TOML, or a key is unknown, of a wrong type, out of range or contradicts another one.
    """
    file = TomlTables(text, source)
    try:
        return _tournament(file)
    except ConfigError as error:
        if error.source:
            raise
        raise file.error(tuple(error.path.split(".")), str(error)) from None


def named(words: Sequence[str]) -> dict[str, str]:
    """Returns agents whose names are their specs.

    Raises:
        ConfigError: two are equal.
    """
    if twice := next((word for word, count in Counter(words).items() if count > 1), None):
        raise ConfigError.at("agents", f"must differ, got {shown(twice)} twice: in a file [agents] can name them apart")
    return {word: word for word in words}


def usable_name(name: str) -> str:
    """Returns `name` if a tournament and its folder can have it.

    Raises:
        ConfigError: they cannot.
    """
    if problem := folder_name_problem(name):
        raise ConfigError(f"name {problem}")
    return name


def _tournament(file: TomlTables) -> Tournament:
    file.known_keys((), file.table, (*KEYS, *TABLES))
    given: dict[str, Any] = {"name": file.folder_name_at(("name",)), "games": _games(file)}
    for key in ("agents", "pool"):
        if key == "agents" or key in file.table:
            given[key] = _agents(file, key)
    for key in ("limit", "anchor"):
        if key in file.table:
            given[key] = file.text_at((key,))
    for key, least, most in (("matches", 2, MOST_MATCHES), ("seed", 0, MOST_SEED)):
        if key in file.table:
            given[key] = file.count_at((key,), least, most)
    if "confidence" in file.table:
        if type(confidence := file.table["confidence"]) not in (int, float):
            raise file.error(("confidence",), f"confidence must be a number, got {shown(confidence)}")
        given["confidence"] = float(confidence)
    for key, kind in (("openings", OpeningsConfig), ("sequential", SequentialConfig)):
        if key in file.table:
            table = file.table_at((key,))
            for name in ("elo0", "elo1") if kind is SequentialConfig else ():
                if name not in table:
                    raise file.error((key,), f"{key} must have {name}, got {shown(sorted(table))}")
            given[key] = file.settings_at(kind, (key,), {})
    return Tournament(**given)


def _games(file: TomlTables) -> tuple[str, ...]:
    if ("game" in file.table) == ("games" in file.table):
        got = "both" if "game" in file.table else "neither"
        raise file.error(("games",), f"games or game must be given, got {got}")
    return (file.text_at(("game",)),) if "game" in file.table else file.texts_at(("games",))


def _agents(file: TomlTables, key: str) -> dict[str, str]:
    value = file.table.get(key)
    if isinstance(value, dict):
        for name in value:
            file.require_name((key, name), f"the name of {dotted((key, name))}", name)
            file.text_at((key, name))
        return value
    words = file.required((key,), list, "a list of texts")
    for word in words:
        _require_word(file, (key,), word)
    return named(words)


def _require_word(file: TomlTables, path: KeyPath, word: Any) -> None:
    if type(word) is not str or not word:
        raise file.error(path, f"{dotted(path)} must be a list of texts, got {shown(word)} in it")
    if len(word) > 10 * LONGEST_NAME or not word.isprintable():
        raise file.error(
            path, f"{dotted(path)} holds a spec too long for a name, {shown(word)}: name it in [{dotted(path)}]"
        )
