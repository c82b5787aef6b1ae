"""Which pieces are whose, in the text of a state, for people who play; each game's file in `facts` says it.

Only what is drawn is told; a game of which nothing is said has no pieces, shares them, or is not known here. A game in
Python may say it itself, as Ludii's do.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pyspiel

from athenan_spiel.games.extensions import own_marks
from athenan_spiel.games.facts import FACTS, facts_of

MARKS: Mapping[str, tuple[str, str]] = MappingProxyType({name: x.marks for name, x in FACTS.items() if x.marks})
"""The pieces of player 0 and of player 1, by the short names of games."""


def mark_of(game: pyspiel.Game, player_id: int) -> str | None:
    """How the text of a state draws the pieces of `player_id`, None where that is not known."""
    marks = own_marks(game) or facts_of(game.get_type().short_name).marks
    return None if marks is None else marks[player_id]
