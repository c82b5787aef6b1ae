"""The searches, and how one is driven under a budget.

Descent, UBFM, alpha-beta, MCTS, and what AlphaZero, Gumbel AlphaZero and ExIt make of it.
"""

from athenan_spiel.search.algorithms import make_search
from athenan_spiel.search.alphabeta import AlphaBeta
from athenan_spiel.search.base import Search
from athenan_spiel.search.descent import Descent
from athenan_spiel.search.drive import Budget, think
from athenan_spiel.search.exit import ExItMCTS
from athenan_spiel.search.gumbel import GumbelMCTS
from athenan_spiel.search.mcts import MCTS
from athenan_spiel.search.puct import AlphaZeroMCTS
from athenan_spiel.search.result import SearchResult
from athenan_spiel.search.ubfm import UBFM

__all__ = [
    "MCTS",
    "UBFM",
    "AlphaBeta",
    "AlphaZeroMCTS",
    "Budget",
    "Descent",
    "ExItMCTS",
    "GumbelMCTS",
    "Search",
    "SearchResult",
    "make_search",
    "think",
]
