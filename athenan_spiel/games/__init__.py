"""Games: loading one by its OpenSpiel string, saying what makes one unsupported, and checking one against the laws."""

from athenan_spiel.games.conditions import GameInfo, all_games, supported_games, unmet_conditions
from athenan_spiel.games.laws import check_game
from athenan_spiel.games.loading import load_game

__all__ = ["GameInfo", "all_games", "check_game", "load_game", "supported_games", "unmet_conditions"]
