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

from athenan_spiel.arena.toml_tables import LONGEST_NAME, TomlTables, dotted, names_of
from athenan_spiel.arena.tournament_settings import Tournament
from athenan_spiel.errors import ConfigError, printable, shown
from athenan_spiel.training.settings_file import read_users_toml


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
    file.known_keys((), file.table, ("game", *names_of(Tournament)))
    settings = {key: value for key, value in file.table.items() if key != "game"}
    settings |= {"name": file.folder_name_at(("name",)), "games": _games(file), "agents": _agents(file, "agents")}
    if "pool" in settings:
        settings["pool"] = _agents(file, "pool")
    sequential = file.table_at(("sequential",))
    for name in ("elo0", "elo1") if "sequential" in settings else ():
        if name not in sequential:
            raise file.error(("sequential",), f"sequential must have {name}, got {shown(sorted(sequential))}")
    tournament: Tournament = file.settings_of(Tournament, (), settings)
    return tournament


def named(words: Sequence[str]) -> dict[str, str]:
    """Returns agents whose names are their specs.

    Raises:
        ConfigError: two are equal.
    """
    if twice := next((word for word, count in Counter(words).items() if count > 1), None):
        raise ConfigError.at("agents", f"must differ, got {shown(twice)} twice: in a file [agents] can name them apart")
    return {word: word for word in words}


def _games(file: TomlTables) -> tuple[str, ...]:
    if ("game" in file.table) == ("games" in file.table):
        got = "both" if "game" in file.table else "neither"
        raise file.error(("games",), f"games or game must be given, got {got}")
    return (file.text_at(("game",)),) if "game" in file.table else file.texts_at(("games",))


def _agents(file: TomlTables, key: str) -> dict[str, str]:
    if isinstance(file.table.get(key), dict):
        for name in file.table[key]:
            file.require_name((key, name), f"the name of {dotted((key, name))}", name)
            file.text_at((key, name))
        return dict(file.table[key])
    words = file.required((key,), list, "a list of texts")
    for word in words:
        if type(word) is not str or not word:
            raise file.error((key,), f"{key} must be a list of texts, got {shown(word)} in it")
        if len(word) > 10 * LONGEST_NAME or not word.isprintable():
            raise file.error((key,), f"{key} holds a spec too long for a name, {shown(word)}: name it in [{key}]")
    with file.errors_at((key,)):
        return named(words)
