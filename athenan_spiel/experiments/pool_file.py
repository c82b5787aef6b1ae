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
from athenan_spiel.errors import ConfigError, nearest, shown
from athenan_spiel.experiments.plan import is_entrant
from athenan_spiel.experiments.settings import FixedConfig, FixedOpponent, FixedPool, PlayConfig, Variant

FIXED = "fixed"
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
    opponents: dict[str, FixedOpponent] = {}
    with tables.errors_at((FIXED, "opponents"), "fixed.opponents "):
        if len(listed) > MOST_OPPONENTS:
            raise ConfigError(f"must be at most {MOST_OPPONENTS} agents, got {len(listed)}")
        for entry in listed:
            opponent = _opponent(entry, {"games": [*games], "variants": [variant.name for variant in variants]})
            if opponent.name in opponents:
                raise ConfigError(f"must have different names, got {shown(opponent.name)} twice")
            opponents[opponent.name] = opponent
    plain = {key: value for key, value in table.items() if key not in ("opponents", "play")}
    return FixedPool(
        opponents=tuple(opponents.values()),
        config=tables.settings_of(FixedConfig, (FIXED,), plain),
        play=tables.settings_at(PlayConfig, (FIXED, "play"), {}) if "play" in table else None,
    )


def _opponent(entry: Any, known: dict[str, list[str]]) -> FixedOpponent:
    """The opponent of an entry; `known` are the games and variants that it meets by default."""
    given = {"word": entry} if isinstance(entry, str) else entry
    if not isinstance(given, dict):
        raise ConfigError(f'must be agent specs, or tables such as {{word = "uct:160"}}, got {shown(entry)}')
    for key in given:
        if key not in (names := names_of(FixedOpponent)):
            hint = nearest(key, names) or f": expected one of {', '.join(names)}"
            raise ConfigError(f"have no {shown(key)}{hint}")
    if "word" not in given:
        raise ConfigError(f"must each have a word, such as uct:160, got {shown(entry)}")
    found: dict[str, Any] = {"name": given["word"], **known, **given}
    for key, longest in (("word", LONGEST_WORD), ("name", LONGEST_NAME if "name" in given else LONGEST_WORD)):
        text = found[key]
        if not isinstance(text, str) or not text.strip() or not text.isprintable() or len(text) > longest:
            raise ConfigError(f"must have a {key} of 1 to {longest:,} printable characters, got {shown(text)}")
    if is_entrant(found["name"]):
        raise ConfigError(f"must not have the name of a network, got {shown(found['name'])}: give another name")
    for key, allowed in known.items():
        if not isinstance(found[key], list) or not found[key]:
            raise ConfigError(f"must have {key} as a list, got {shown(found[key])}")
        for one in found[key]:
            if one not in allowed:
                hint = nearest(one, allowed) or f": expected some of {', '.join(allowed)}"
                raise ConfigError(f"have unknown {key}, {shown(one)}{hint}")
        found[key] = tuple(name for name in allowed if name in found[key])
    return FixedOpponent(**found)
