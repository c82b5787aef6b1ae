"""Nim."""

from __future__ import annotations

import re

import pyspiel

from athenan_spiel.games.facts.base import Facts, Measure, Parameters, never_cut
from athenan_spiel.games.facts.readers import merged
from athenan_spiel.games.layout import Layout, Piece, Site, square
from athenan_spiel.games.view import View


def _fault(given: Parameters) -> str | None:
    piles = [pile.strip() for pile in given.get("pile_sizes", "1").split(";")]
    return "a pile cannot be negative" if any(pile.startswith("-") for pile in piles) else None


_MOVE = re.compile(r"pile:(\d+), take:(\d+);")


def _view(game: pyspiel.Game) -> View:
    """Each pile a column; taking from it down to some counter is naming that counter."""
    piles = _piles(game.new_initial_state())
    height = max(piles)
    first = [sum(piles[:i]) for i in range(len(piles))]
    sites = tuple(
        Site(f"pile {i + 1}, counter {j + 1}", i, height - 1 - j, square())
        for i, pile in enumerate(piles)
        for j in range(pile)
    )

    def pieces(state: pyspiel.State) -> list[Piece]:
        return [Piece(first[i] + j, None, "counter") for i, pile in enumerate(_piles(state)) for j in range(pile)]

    def site(state: pyspiel.State, action: int) -> tuple[int, ...]:
        found = _MOVE.match(state.action_to_string(action))
        assert found is not None, "the name of an action of Nim is its pile and what is taken"
        pile, taken = int(found[1]) - 1, int(found[2])
        return (first[pile] + _piles(state)[pile] - taken,)

    return View(layout=Layout(sites), pieces=pieces, sites=site)


def _piles(state: pyspiel.State) -> list[int]:
    return [int(pile) for pile in str(state).split(":", 1)[1].split()]


FACTS = Facts(
    transposition=merged("The rules look at the piles and the mover, and the text shows both."),
    pieces=Measure("what lies in the piles belongs to no player"),
    fault=_fault,
    view=_view,
    cut=never_cut,
)
