"""Games between agents: statistics of a series, Elo differences, scores in games for one player."""

from athenan_spiel.arena.comparison import Comparison, Scores
from athenan_spiel.play.intervals import Interval, elo_difference, mean_interval, share_interval

__all__ = [
    "Comparison",
    "Interval",
    "Scores",
    "elo_difference",
    "mean_interval",
    "share_interval",
]
