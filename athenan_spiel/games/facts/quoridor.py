"""Quoridor."""

from __future__ import annotations

import dataclasses
import re

import pyspiel

from athenan_spiel.games.facts.base import Facts, Measure, cut_if_undecided
from athenan_spiel.games.facts.readers import PLIES, merged
from athenan_spiel.games.facts.views import played
from athenan_spiel.games.layout import Line, Piece, Site, from_above, letters, square, squares
from athenan_spiel.games.view import View

_WALL = re.compile(r"([a-z])(\d+)([hv])")


def _view(game: pyspiel.Game) -> View:
    """The squares, then the grooves: below a square, where a horizontal wall begins, and to its right, for a vertical
    one."""
    size = game.get_parameters()["board_size"]
    board = squares(size, size, from_above)
    grooves = [
        Site(f"{letters(column)}{row + 1}{way}", column + x, row + y, square(width, height), is_drawn=False)
        for way, x, y, width, height in (("h", 0.0, 0.5, 0.8, 0.2), ("v", 0.5, 0.0, 0.2, 0.8))
        for row in range(size - 1)
        for column in range(size - 1)
    ]
    layout = dataclasses.replace(board, sites=board.sites + tuple(grooves))
    sites = {site.name: i for i, site in enumerate(layout.sites)}

    def pieces(state: pyspiel.State) -> list[Piece]:
        rows = str(state).splitlines()[2 : 2 + 2 * size : 2]
        cells = "".join(row[3 : 3 + 4 * size : 4] for row in rows)
        return [Piece(i, "0@".index(x), "pawn") for i, x in enumerate(cells) if x in "0@"]

    def lines(state: pyspiel.State) -> list[Line]:
        found = ((player, _WALL.fullmatch(state.action_to_string(player, action))) for player, action in played(state))
        walls = []
        for player, wall in found:
            if wall is not None:
                column, row = ord(wall[1]) - ord("a"), int(wall[2]) - 1
                ends = ((column - 0.45, row + 0.5), (column + 1.45, row + 0.5))
                if wall[3] == "v":
                    ends = ((column + 0.5, row - 0.45), (column + 0.5, row + 1.45))
                walls.append(Line(*ends, player, 0.14))
        return walls

    def site(state: pyspiel.State, action: int) -> tuple[int, ...]:
        return (sites[state.action_to_string(action)],)

    return View(layout=layout, pieces=pieces, lines=lines, sites=site, note=lambda state: str(state).splitlines()[0])


FACTS = Facts(
    transposition=merged("The text shows pawns, walls and walls in hand. " + PLIES, counts_plies=True),
    pieces=Measure("either player has one pawn to the end"),
    marks=("0", "@"),
    note="OpenSpiel warns of faults in its Quoridor; the observation of two players does not show the walls",
    view=_view,
    cut=cut_if_undecided,
)
