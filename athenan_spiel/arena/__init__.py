"""Measuring agents: intervals of a series' points, Elo differences, both with the tallies; a single player's scores."""

from athenan_spiel.arena.comparison import Comparison
from athenan_spiel.arena.ratings import elo_difference
from athenan_spiel.arena.scores import Scores, mean_interval
from athenan_spiel.arena.statistics import Interval, points_interval, share_interval

__all__ = [
    "Comparison",
    "Interval",
    "Scores",
    "elo_difference",
    "mean_interval",
    "points_interval",
    "share_interval",
]
