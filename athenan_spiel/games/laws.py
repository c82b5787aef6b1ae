"""A check of a game against the laws that every game here obeys, which `game_laws.laws` states.

Searches, encoders and transposition keys rely on these. The check plays random matches; it proves nothing.
"""

from __future__ import annotations

import random

import pyspiel

from athenan_spiel.arguments import require_kind, require_whole
from athenan_spiel.config.settings import MOST
from athenan_spiel.errors import UnsupportedGameError, shown
from athenan_spiel.games.conditions import require_game
from athenan_spiel.games.loading import load_game
from game_laws import BrokenLawError, check_match


def check_game(game: pyspiel.Game | str, *, matches: int = 3, rng: random.Random | None = None) -> None:
    """Play `matches` random matches of `game` and hold their states to the laws of `game_laws.laws`.

    Args:
        game: the game, which need not be one that `load_game` gives, or the string of one that is.
        matches: how many matches.
        rng: chooses the actions; by default always the same ones.

    Raises:
        UnsupportedGameError: a law is broken; the message has its number, what was found, and the history. Or it is no
            game, or `matches` or `rng` are not what they should be.
    """
    game = load_game(game) if isinstance(game, str) else game
    require_game(game)
    require_whole("matches", matches, UnsupportedGameError)
    if not 1 <= matches <= MOST:
        raise UnsupportedGameError(f"matches must be from 1 to {MOST:,}, got {shown(matches)}")
    require_kind("rng", rng, random.Random, UnsupportedGameError, or_none=True)
    rng = rng or random.Random(0)
    for _ in range(matches):
        try:
            check_match(game, rng)
        except BrokenLawError as error:
            raise UnsupportedGameError(
                f"{game} breaks law {error.law} of games: {error.found}, after {error.history}"
            ) from error
