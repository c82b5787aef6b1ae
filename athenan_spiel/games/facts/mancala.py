"""Mancala."""

from __future__ import annotations

import re

import pyspiel

from athenan_spiel.games.facts.base import Facts, Measure
from athenan_spiel.games.facts.readers import PLIES, merged
from athenan_spiel.games.layout import Layout, Piece, Site, square
from athenan_spiel.games.view import View


def seeds(state: pyspiel.State) -> tuple[float, float]:
    """The seeds in the store and in the pits of each, as those left in the pits count for their owner."""
    upper, stores, lower = str(state).split("\n")[:3]
    second, first = (int(store) for store in stores.split("-") if store)
    return float(first + _sum(lower)), float(second + _sum(upper))


def _sum(pits: str) -> int:
    return sum(int(pit) for pit in pits.split("-") if pit)


_NUMBERS = re.compile(r"\d+")


def _view(game: pyspiel.Game) -> View:
    """Pits by the numbers of their actions: 0 is the store on the left, 1 to 6 lie below from left to right, 7 is the
    store on the right, and 8 to 13 lie above from right to left."""
    sites = [Site("store of player 1", -1, 0.5, square(1, 2))]
    sites += [Site(str(pit), pit - 1, 1, square()) for pit in range(1, 7)]
    sites += [Site("store of player 0", 6, 0.5, square(1, 2))]
    sites += [Site(str(pit), 13 - pit, 0, square()) for pit in range(8, 14)]

    def pieces(state: pyspiel.State) -> list[Piece]:
        above, stores, below = ([int(x) for x in _NUMBERS.findall(line)] for line in str(state).splitlines()[:3])
        counts = [stores[0], *below, stores[1], *reversed(above)]
        return [Piece(pit, None, "seeds", str(count), "count") for pit, count in enumerate(counts)]

    return View(layout=Layout(tuple(sites)), pieces=pieces, sites=lambda state, action: (action,))


FACTS = Facts(
    transposition=merged("The text shows every pit, the mover and the number of the move. " + PLIES, counts_plies=True),
    score=Measure("seeds in the store and in the pits of one's side", seeds),
    pieces=Measure("seeds belong to no player; they are the score"),
    view=_view,
)
