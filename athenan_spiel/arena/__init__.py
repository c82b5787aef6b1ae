"""Measuring agents: intervals of a series' points, Elo differences, and both with the tallies."""

from athenan_spiel.arena.comparison import Comparison
from athenan_spiel.arena.intervals import Interval, points_interval, share_interval
from athenan_spiel.arena.ratings import elo_difference, expected_share

__all__ = [
    "Comparison",
    "Interval",
    "elo_difference",
    "expected_share",
    "points_interval",
    "share_interval",
]
