"""The table [fixed] of an experiment file: opponents that are not trained.

    [fixed]
    opponents = ["uct:160", {word = "gtp:gnugo --mode gtp@1s", name = "GNU Go", games = ["go(board_size=9)"]}]
    matches = 20
    opening_plies = 2
    stages = "all"
    play = {algorithm = "ubfm", decision = "safest", seconds = 1}

An opponent is an agent spec, or a table with a spec (`word`) and optionally a name, games and variants.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from athenan_spiel.arena.toml_tables import LONGEST_NAME, TomlTables, names_of
from athenan_spiel.errors import nearest, shown
from athenan_spiel.experiments.plan import is_entrant
from athenan_spiel.experiments.settings import FixedConfig, FixedOpponent, FixedPool, PlayConfig, Variant
from athenan_spiel.training.settings_file import KeyPath

FIXED = "fixed"
OF_OPPONENT = ("word", "name", "games", "variants")
MOST_OPPONENTS = 100
LONGEST_WORD = 1_000
"""Maximum length of an opponent's spec, in characters."""


def fixed_pool(tables: TomlTables, variants: Sequence[Variant], games: Sequence[str]) -> FixedPool:
    """Parse [fixed].

    Raises:
        ConfigError: a key is unknown, of a wrong type or out of range, or an opponent would meet nobody.
    """
    table = tables.table_at((FIXED,))
    tables.known_keys((FIXED,), table, ("opponents", "play", *names_of(FixedConfig)))
    listed = tables.required((FIXED, "opponents"), list, 'a list of agent specs, such as ["uct:160"]')
    if len(listed) > MOST_OPPONENTS:
        raise tables.error(
            (FIXED, "opponents"), f"fixed.opponents must be at most {MOST_OPPONENTS} agents, got {len(listed)}"
        )
    opponents: list[FixedOpponent] = []
    for entry in listed:
        opponent = _opponent(tables, entry, variants, games)
        if opponent.name in [other.name for other in opponents]:
            raise _error(tables, f"must have different names, got {shown(opponent.name)} twice")
        opponents.append(opponent)
    plain = {key: value for key, value in table.items() if key not in ("opponents", "play")}
    return FixedPool(
        opponents=tuple(opponents),
        config=tables.settings_of(FixedConfig, (FIXED,), plain),
        play=tables.settings_at(PlayConfig, (FIXED, "play"), {}) if "play" in table else None,
    )


def _opponent(tables: TomlTables, entry: Any, variants: Sequence[Variant], games: Sequence[str]) -> FixedOpponent:
    said = {"word": entry} if isinstance(entry, str) else entry
    if not isinstance(said, dict):
        raise _error(tables, f'must be agent specs, or tables such as {{word = "uct:160"}}, got {shown(entry)}')
    for key in said:
        if key not in OF_OPPONENT:
            hint = nearest(key, OF_OPPONENT) or f": expected one of {', '.join(OF_OPPONENT)}"
            raise _error(tables, f"have no {shown(key)}{hint}")
    word, name = _text(tables, said, "word", LONGEST_WORD), _text(tables, said, "name", LONGEST_NAME)
    if not word:
        raise _error(tables, f"must each have a word, such as uct:160, got {shown(entry)}")
    if is_entrant(name or word):
        raise _error(tables, f"must not have the name of a network, got {shown(name or word)}: give another name")
    return FixedOpponent(
        name=name or word,
        word=word,
        games=_some(tables, said, "games", games),
        variants=_some(tables, said, "variants", [variant.name for variant in variants]),
    )


def _text(tables: TomlTables, said: dict[str, Any], key: str, longest: int) -> str:
    text = said.get(key, "")
    if not isinstance(text, str) or not text.isprintable() or len(text) > longest or (key in said and not text.strip()):
        raise _error(tables, f"must have a {key} of 1 to {longest:,} printable characters, got {shown(text)}")
    return text


def _some(tables: TomlTables, said: dict[str, Any], key: str, known: Sequence[str]) -> tuple[str, ...]:
    """The `known` ones that an opponent names, by default all."""
    named = said.get(key, [*known])
    if not isinstance(named, list) or not named:
        raise _error(tables, f"must have {key} as a list, got {shown(named)}")
    for one in named:
        if one not in known:
            hint = nearest(one, known) or f": expected some of {', '.join(known)}"
            raise _error(tables, f"have unknown {key}, {shown(one)}{hint}")
    return tuple(one for one in known if one in named)


def _error(tables: TomlTables, problem: str) -> Exception:
    path: KeyPath = (FIXED, "opponents")
    return tables.error(path, f"fixed.opponents {problem}")
