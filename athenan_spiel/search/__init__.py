"""Game tree searches and the driver that runs them under a budget.

The searches are Descent, UBFM, alpha-beta, expectiminimax, MCTS, AlphaZero's MCTS, Gumbel AlphaZero's MCTS and ExIt's
MCTS.
"""

from athenan_spiel.search.algorithms import make_search
from athenan_spiel.search.alphabeta import AlphaBeta
from athenan_spiel.search.base import Search
from athenan_spiel.search.descent import Descent
from athenan_spiel.search.drive import Budget, think
from athenan_spiel.search.exit import ExItMCTS
from athenan_spiel.search.expectiminimax import Expectiminimax
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
    "Expectiminimax",
    "GumbelMCTS",
    "Search",
    "SearchResult",
    "make_search",
    "think",
]
