"""Measuring agents: the opponents to measure against, intervals of a series' points, Elo differences."""

from athenan_spiel.arena.comparison import Comparison
from athenan_spiel.arena.intervals import Interval, points_interval, share_interval
from athenan_spiel.arena.opponents import mcts_bot
from athenan_spiel.arena.ratings import elo_difference, expected_share

__all__ = [
    "Comparison",
    "Interval",
    "elo_difference",
    "expected_share",
    "mcts_bot",
    "points_interval",
    "share_interval",
]
