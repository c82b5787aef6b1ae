"""Games: loading by game string, conditions for support, checks of states, and scores and piece counts."""

from athenan_spiel.games.conditions import GameInfo, all_games, require_fixed_actions, supported_games, unmet_conditions
from athenan_spiel.games.laws import check_game
from athenan_spiel.games.loading import load_game
from athenan_spiel.games.measures import piece_counts, score
from athenan_spiel.games.validation import given_game, require_open_state, require_state, same_game

__all__ = [
    "GameInfo",
    "all_games",
    "check_game",
    "given_game",
    "load_game",
    "piece_counts",
    "require_fixed_actions",
    "require_open_state",
    "require_state",
    "same_game",
    "score",
    "supported_games",
    "unmet_conditions",
]
