"""Random openings: the first actions of the games of a series."""

from __future__ import annotations

import random

import pyspiel

from athenan_spiel.arguments import require_whole
from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.games.chance import is_chance
from athenan_spiel.games.playout import random_moves

DRAWS_PER_OPENING = 20
"""Number of draws without a new opening after which none is assumed to be left."""
MAX_OPENINGS = 1_000_000
"""Maximum number of openings, which are all in memory."""


def random_openings(game: pyspiel.Game, count: int, plies: int, rng: random.Random) -> list[tuple[int, ...]]:
    """Returns `count` openings of `plies` random actions of players each that don't end the game.

    The outcomes of chance before, between and after these actions are part of an opening, which ends where a player is
    to move. An opening without actions is empty. An opening is repeated only if no other seems to be left, since
    players without randomness would repeat their game.

    Raises:
        ConfigError: `count` exceeds `MAX_OPENINGS`, `plies` is negative, or every opening of that length seems to end
            the game.
    """
    require_whole("the plies of an opening", plies, ConfigError)
    if count > MAX_OPENINGS:
        raise ConfigError(f"a series has at most {MAX_OPENINGS:,} openings, got {shown(count)}: play fewer games")
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
                f"openings of {shown(plies)} random plies must not end the game, got only finished games: use fewer"
            )
    return openings


def _random_opening(game: pyspiel.Game, plies: int, rng: random.Random) -> tuple[int, ...] | None:
    state = game.new_initial_state()
    left = plies
    for _ in random_moves(state, rng.choice) if plies else ():
        if not is_chance(state):
            if not left:
                break
            left -= 1
    return None if state.is_terminal() else tuple(state.history())


def series_openings(game: pyspiel.Game, matches: int, plies: int, seed: int) -> list[tuple[int, ...]]:
    """Returns the openings of `play_series`, each for `games_per_opening` games; raises as `play_series`."""
    if game.num_players() == 1:
        raise ConfigError(
            f"a series needs a game for two or more players, got {str(game)!r}: let each agent play it separately"
        )
    require_whole("matches", matches, ConfigError)
    each = games_per_opening(game)
    if each == 2 and (matches < 2 or matches % 2):
        raise ConfigError(f"a series plays both colours: matches must be even and at least 2, got {shown(matches)}")
    if matches < each or matches % each:
        nearest = max(1, round(matches / each)) * each
        raise ConfigError(
            f"a series plays every opening {each} times, so that each agent has each of {game.num_players()} seats: "
            f"matches must be a multiple of {each}, got {shown(matches)}: play {nearest}"
        )
    require_whole("seed", seed, ConfigError)
    return random_openings(game, matches // each, plies, random.Random(int(seed)))


def games_per_opening(game: pyspiel.Game) -> int:
    """Returns the number of games of a series with the same opening: 2 for two players, 2n for n (`series.Fixture`)."""
    return games_for_seats(game.num_players())


def games_for_seats(players: int) -> int:
    """As `games_per_opening`, for a number of players."""
    return 2 if players == 2 else 2 * players


def single_player_openings(game: pyspiel.Game, matches: int, plies: int, seed: int) -> list[tuple[int, ...]]:
    """Returns the openings of `play_single_player`, one per game; raises as `play_single_player`."""
    if game.num_players() != 1:
        raise ConfigError(f"expected a game for one player, got {str(game)!r}: play a series")
    require_whole("matches", matches, ConfigError)
    if matches < 1:
        raise ConfigError(f"matches must be at least 1, got {shown(matches)}")
    require_whole("seed", seed, ConfigError)
    return random_openings(game, matches, plies, random.Random(int(seed)))
