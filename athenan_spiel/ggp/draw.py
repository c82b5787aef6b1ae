"""A random sample of the games that can be trained."""

from __future__ import annotations

import random
from collections.abc import Sequence

from athenan_spiel.errors import ConfigError
from athenan_spiel.games import all_games

SOURCES = ("openspiel", "ludii")


def drawn_games(count: int, sources: Sequence[str], seed: int) -> list[str]:
    """Returns `count` different game strings, equally many from each source as far as it has them, in random order.

    Within a source all games are equally likely, so deterministic games, games with chance and games for several
    players appear in proportion. Games of OpenSpiel for one player are left out, because they have no opponents.

    Raises:
        ConfigError: no source is given, one is given twice, or the sources have too few games.
    """
    if not sources or not set(sources) <= set(SOURCES) or len(set(sources)) != len(sources):
        raise ConfigError(f"sources must be some of {', '.join(SOURCES)}, got {list(sources)!r}")
    rng = random.Random(seed)
    known = {source: _of_openspiel() if source == "openspiel" else tested_ludii_games() for source in sources}
    total = sum(map(len, known.values()))
    if count > total:
        raise ConfigError(f"count must be at most {total:,}, the number of supported games, got {count:,}")
    found: list[str] = []
    left = count
    for i, source in enumerate(sorted(sources, key=lambda name: len(known[name]))):  # the smallest first
        share = min(len(known[source]), left // (len(sources) - i))
        found += rng.sample(known[source], share)
        left -= share
    rng.shuffle(found)
    return found


def _of_openspiel() -> list[str]:
    return sorted(game.short_name for game in all_games() if game.supported and game.players[1] > 1)


def tested_ludii_games() -> list[str]:
    """Returns the game strings of Ludii's games that passed the published test of all board games."""
    from ludii_bridge.catalogue import written
    from ludii_bridge.verdicts import read

    return sorted(f"ludii(game={written(verdict.name)})" for verdict in read() if not verdict.reason)
