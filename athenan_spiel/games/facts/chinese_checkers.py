"""Chinese Checkers."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import pairwise

import pyspiel

from athenan_spiel.games.facts.base import Facts, Text
from athenan_spiel.games.facts.readers import merged


def _text(game: pyspiel.Game) -> Text:
    def text(state: pyspiel.State) -> Hashable:
        played = state.full_history()
        movers = [x.player for x in played]
        movers.append(state.current_player())
        turns = [i for i, (a, b) in enumerate(pairwise(movers), start=1) if a != b]
        hops = tuple(x.action for x in played[turns[-1] if turns else 0 :])
        return str(state), len(turns), hops

    return text


FACTS = Facts(
    transposition=merged(
        "Besides the board the rules know the number of turns (`max_moves` make a draw), which is not the ply as "
        "each hop is an action, and the cells that the hops of this turn came through, which are forbidden.",
        "str(state), the number of turns, and the actions of an unfinished turn",
        _text,
    ),
    marks=("1", "2"),
    cut=lambda state: not any(state.returns()),  # the rules have no other draw than that by `max_moves`
)
