"""Ultimate Tic-Tac-Toe."""

from __future__ import annotations

from athenan_spiel.games.facts.base import Facts, never_cut
from athenan_spiel.games.facts.readers import merged

FACTS = Facts(
    transposition=merged("The text shows the nine boards, the mover and the board to be played in."),
    marks=("x", "o"),
    cut=never_cut,
)
