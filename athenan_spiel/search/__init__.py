"""The searches: Descent, UBFM, alpha-beta, MCTS, AlphaZero's and Gumbel's; and how one is driven under a budget."""

from athenan_spiel.search.algorithms import make_search
from athenan_spiel.search.alphabeta import AlphaBeta
from athenan_spiel.search.base import Search
from athenan_spiel.search.descent import Descent
from athenan_spiel.search.drive import Budget, SearchResult, think
from athenan_spiel.search.gumbel import GumbelMCTS
from athenan_spiel.search.mcts import MCTS
from athenan_spiel.search.puct import AlphaZeroMCTS
from athenan_spiel.search.ubfm import UBFM

__all__ = [
    "MCTS",
    "UBFM",
    "AlphaBeta",
    "AlphaZeroMCTS",
    "Budget",
    "Descent",
    "GumbelMCTS",
    "Search",
    "SearchResult",
    "make_search",
    "think",
]
