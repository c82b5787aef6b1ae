"""The searches: Descent, UBFM, and how one is driven under a budget."""

from athenan_spiel.search.base import BestFirstSearch
from athenan_spiel.search.descent import Descent
from athenan_spiel.search.thinking import Budget, Evaluator, SearchResult, think
from athenan_spiel.search.ubfm import UBFM

__all__ = ["UBFM", "BestFirstSearch", "Budget", "Descent", "Evaluator", "SearchResult", "think"]
