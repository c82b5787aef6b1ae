"""General game playing: trains an agent for each of many games with settings fitted to the game, plays against standard
opponents, and reports all games in one table (docs/ggp.md).

Each game is one task of `system.tasks`: a `TrainingTask` of an experiment whose settings are fitted to the game, then a
tournament against the opponents. A game that fails becomes a row with its reason.
"""

from athenan_spiel.ggp.draw import drawn_games
from athenan_spiel.ggp.run import report_ggp, run_ggp
from athenan_spiel.ggp.settings import GgpSettings, read_ggp

__all__ = ["GgpSettings", "drawn_games", "read_ggp", "report_ggp", "run_ggp"]
