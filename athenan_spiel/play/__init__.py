"""Agents, games between players, series of games, self-play, and OpenSpiel's MCTS as an opponent."""

from __future__ import annotations

from athenan_spiel.play.agent import Agent
from athenan_spiel.play.match import Forfeit, MatchResult, play_match
from athenan_spiel.play.series import Series, play_series

__all__ = ["Agent", "Forfeit", "MatchResult", "Series", "play_match", "play_series"]
