"""Antichess, read as Chess is."""

from __future__ import annotations

from athenan_spiel.games.facts.base import Facts, Measure
from athenan_spiel.games.facts.chess import CASES, by_fen, chessmen

FACTS = Facts(
    transposition=by_fen("As Chess, without castling."),
    pieces=Measure("chessmen; fewer are better", chessmen),
    marks=CASES,
)
