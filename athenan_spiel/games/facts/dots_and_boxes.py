"""Dots and Boxes."""

from __future__ import annotations

import re

import pyspiel

from athenan_spiel.games.facts.base import Facts, Measure, never_cut
from athenan_spiel.games.facts.readers import merged_by_observation
from athenan_spiel.games.facts.views import played
from athenan_spiel.games.layout import Layout, Line, Piece, Site, square
from athenan_spiel.games.view import View


def boxes(state: pyspiel.State) -> tuple[float, float]:
    """The boxes that each has closed."""
    text = str(state)
    return float(text.count("1")), float(text.count("2"))


def _longest(game: pyspiel.Game) -> int:
    """The lines of the board, which OpenSpiel 2.0.2 counts as if it were square."""
    given = game.get_parameters()
    rows, columns = given["num_rows"], given["num_cols"]
    return int(rows * (columns + 1) + columns * (rows + 1))


_EDGE = re.compile(r"P\d\(([hv]),(\d+),(\d+)\)")


def _view(game: pyspiel.Game) -> View:
    """The horizontal edges, the vertical ones, then the boxes; each row by row."""
    rows, columns = game.get_parameters()["num_rows"], game.get_parameters()["num_cols"]
    flat = [
        Site(f"h,{r},{c}", c + 0.5, r, square(0.8, 0.3), is_drawn=False)
        for r in range(rows + 1)
        for c in range(columns)
    ]
    upright = [
        Site(f"v,{r},{c}", c, r + 0.5, square(0.3, 0.8), is_drawn=False)
        for r in range(rows)
        for c in range(columns + 1)
    ]
    boxes = [(r, c) for r in range(rows) for c in range(columns)]
    middles = [Site(f"{r},{c}", c + 0.5, r + 0.5, square(0.8, 0.8), is_drawn=False) for r, c in boxes]
    layout = Layout(
        (*flat, *upright, *middles),
        tuple(Line((c - 0.01, r), (c + 0.01, r), width=0.16) for r in range(rows + 1) for c in range(columns + 1)),
    )
    sites = {site.name: i for i, site in enumerate(layout.sites)}

    def edge(state: pyspiel.State, player: int, action: int) -> tuple[str, int, int]:
        found = _EDGE.match(state.action_to_string(player, action))
        assert found is not None, "the name of an action of Dots and Boxes is its edge"
        return found[1], int(found[2]), int(found[3])

    def site(state: pyspiel.State, action: int) -> tuple[int, ...]:
        return (sites["{},{},{}".format(*edge(state, state.current_player(), action))],)

    def pieces(state: pyspiel.State) -> list[Piece]:
        """A box belongs to whoever drew the last of its edges."""
        drawn, owners = set(), {}
        for player, action in played(state):
            drawn.add(edge(state, player, action))
            for r, c in boxes:
                if (r, c) not in owners and drawn >= {("h", r, c), ("h", r + 1, c), ("v", r, c), ("v", r, c + 1)}:
                    owners[r, c] = player
        return [Piece(sites[f"{r},{c}"], player, "box", form="block") for (r, c), player in owners.items()]

    def lines(state: pyspiel.State) -> list[Line]:
        drawn = [(player, edge(state, player, action)) for player, action in played(state)]
        return [Line((c, r), (c + (way == "h"), r + (way == "v")), player, 0.1) for player, (way, r, c) in drawn]

    return View(layout=layout, pieces=pieces, lines=lines, sites=site, colours=("red", "blue"))


FACTS = Facts(
    transposition=merged_by_observation(
        "The rules look at the lines, the owners of the boxes and the mover. The printed board leaves out who drew "
        "a line, and the observation shows it: so the observation is the text."
    ),
    score=Measure("boxes closed", boxes),
    pieces=Measure("lines and boxes stay; boxes are the score"),
    longest=_longest,
    view=_view,
    cut=never_cut,
)
