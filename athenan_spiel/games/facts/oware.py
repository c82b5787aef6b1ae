"""Oware."""

from __future__ import annotations

import re

import pyspiel

from athenan_spiel.games.facts.base import Facts, Measure
from athenan_spiel.games.facts.readers import apart
from athenan_spiel.games.layout import Layout, Piece, Site, letters, square
from athenan_spiel.games.view import View

_CAPTURED = re.compile(r"Player (\d) score = (\d+)")


def seeds(state: pyspiel.State) -> tuple[float, float]:
    """The seeds that each has captured."""
    captured = dict(_CAPTURED.findall(str(state)))
    return float(captured["0"]), float(captured["1"])


_HOUSES = re.compile(r"(\s*\d+)+")


def _view(game: pyspiel.Game) -> View:
    """Player 0's houses below from left to right, by the numbers of their actions, then player 1's above from right to
    left."""
    houses = game.get_parameters()["num_houses_per_player"]
    sites = [Site(letters(i).upper(), i, 1, square()) for i in range(houses)]
    sites += [Site(letters(i), houses - 1 - i, 0, square()) for i in range(houses)]

    def pieces(state: pyspiel.State) -> list[Piece]:
        above, below = ([int(x) for x in line.split()] for line in str(state).splitlines() if _HOUSES.fullmatch(line))
        return [Piece(i, None, "seeds", str(count), "count") for i, count in enumerate([*below, *reversed(above)])]

    def site(state: pyspiel.State, action: int) -> tuple[int, ...]:
        return (int(action) + houses * int(state.current_player()),)

    return View(
        layout=Layout(tuple(sites)),
        pieces=pieces,
        sites=site,
        note=lambda state: "; ".join(line for line in str(state).splitlines() if "score" in line),
    )


FACTS = Facts(
    transposition=apart(
        "A position that recurs ends the match. Those since the last capture count, and neither the state nor the "
        "actions show when that was."
    ),
    score=Measure("seeds captured", seeds),
    pieces=Measure("seeds belong to no player; they are the score"),
    view=_view,
)
