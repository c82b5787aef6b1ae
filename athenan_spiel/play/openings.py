"""Random openings: the first actions of matches, drawn before anybody is asked."""

from __future__ import annotations

import random

import pyspiel

from athenan_spiel.arguments import require_whole
from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.games.playout import random_moves

DRAWS_PER_OPENING = 20
"""So many draws in a row that find no new opening mean that there is none left."""
MOST_MATCHES = 1_000_000
"""Openings that are drawn before the first match, at most: all are held in memory."""


def random_openings(game: pyspiel.Game, count: int, plies: int, rng: random.Random) -> list[tuple[int, ...]]:
    """`count` openings of `plies` random actions each, none of which ends the match.

    An opening comes back only when no other seems to be left, as players without chance would repeat their match.

    Raises:
        ConfigError: `count` is more than `MOST_MATCHES`, `plies` is negative, or every opening of that length seems to
            end the match.
    """
    require_whole("the plies of an opening", plies, ConfigError)
    if count > MOST_MATCHES:
        raise ConfigError(f"matches begin with at most {MOST_MATCHES:,} openings, got {shown(count)}: play fewer")
    if plies < 0:
        raise ConfigError(f"an opening must have zero plies or more, got {shown(plies)}")
    openings: list[tuple[int, ...]] = []
    seen: set[tuple[int, ...]] = set()
    while len(openings) < count:
        drawn = (_random_opening(game, plies, rng) for _ in range(DRAWS_PER_OPENING))
        opening = next((o for o in drawn if o is not None and o not in seen), None)
        if opening is not None:
            seen.add(opening)
            openings.append(opening)
        elif seen:
            seen.clear()
        else:
            raise ConfigError(
                f"{shown(plies)} random plies must leave the match open, got only finished matches; take fewer"
            )
    return openings


def _random_opening(game: pyspiel.Game, plies: int, rng: random.Random) -> tuple[int, ...] | None:
    state = game.new_initial_state()
    for played, _ in enumerate(random_moves(state, rng.choice)):
        if played == plies:
            return tuple(state.history())
    return None


def series_openings(game: pyspiel.Game, matches: int, plies: int, seed: int) -> list[tuple[int, ...]]:
    """The openings of `play_series`, each for two matches.

    Raises:
        ConfigError: as `play_series`.
    """
    if game.num_players() != 2:
        raise ConfigError(f"a series needs a game for two players, got {str(game)!r}: let each agent play by itself")
    require_whole("matches", matches, ConfigError)
    if matches < 2 or matches % 2:
        raise ConfigError(f"a series plays both colours: matches must be even and at least 2, got {shown(matches)}")
    require_whole("seed", seed, ConfigError)
    return random_openings(game, matches // 2, plies, random.Random(int(seed)))


def single_player_openings(game: pyspiel.Game, matches: int, plies: int, seed: int) -> list[tuple[int, ...]]:
    """The openings of `play_single_player`, one for each match.

    Raises:
        ConfigError: as `play_single_player`.
    """
    if game.num_players() != 1:
        raise ConfigError(f"only a game for one player is played by oneself, got {str(game)!r}: play a series")
    require_whole("matches", matches, ConfigError)
    if matches < 1:
        raise ConfigError(f"matches must be at least 1, got {shown(matches)}")
    require_whole("seed", seed, ConfigError)
    return random_openings(game, matches, plies, random.Random(int(seed)))
