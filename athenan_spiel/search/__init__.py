"""The searches: Descent, UBFM, and how one is driven under a budget."""

from athenan_spiel.search.base import Search
from athenan_spiel.search.descent import Descent
from athenan_spiel.search.thinking import Budget, Evaluator, SearchResult, think
from athenan_spiel.search.ubfm import UBFM

__all__ = ["UBFM", "Budget", "Descent", "Evaluator", "Search", "SearchResult", "think"]
