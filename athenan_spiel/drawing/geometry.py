"""View of a game that provides its own geometry (`extensions.DrawnGame`), as Ludii's games do.

Outlines become polygons, edges become thin rectangles, and the two nearest sites are 1 apart.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.drawing.layout import BoardLayout, BoardLine, BoardSite, Piece, Point, coordinate_labels
from athenan_spiel.drawing.view import COLOURS, View, colour_called
from athenan_spiel.games.chance import is_chance
from athenan_spiel.games.extensions import DrawnGame, dice_of, draws_itself, site_contents, state_move_sites
from athenan_spiel.games.sides import own_side_colours

_STRIP = (0.8, 0.14)
"""Clickable part of an edge: fraction of its length, and half of its width."""
_DOT = 0.16
"""Width of the dots at the ends of edges."""
_WIDEST = 100.0
"""Maximum extent of a board, in sites; a larger one is shown as text."""


def view_from_geometry(game: pyspiel.Game) -> View | None:
    """Returns the view of a game; None if it provides no geometry, or if two of its sites share a place."""
    if not draws_itself(game):
        return None
    layout = _layout(game)
    if layout is None:
        return None
    kinds, edges = game.piece_types(), _edges(game)
    often = Counter(player for _, _, player in kinds)
    alone = [often[player] == 1 for _, _, player in kinds]

    def piece(site: int, kind: int, player: int, count: int) -> Piece:
        name, letter, _ = kinds[kind]
        number = str(count) if count > 1 else ""
        side = None if player < 0 else player
        if site in edges:
            return Piece(site, side, name, form="block")
        if side is None and len(kinds) == 1:  # seeds, drawn as a number
            return Piece(site, None, f"{name} ({count})", str(count))
        return Piece(site, side, f"{name} ({count})" if number else name, ("" if alone[kind] else letter) + number)

    def pieces(state: pyspiel.State) -> Sequence[Piece]:
        return [piece(*found) for found in site_contents(state)]

    def sites(state: pyspiel.State, action: int) -> tuple[int, ...]:
        return tuple(state_move_sites(state)[action])

    colours = [colour_called(name) for name in own_side_colours(game)] or COLOURS
    return View(layout=layout, pieces=pieces, sites=sites, note=_dice_note, colours=colours)


def _dice_note(state: pyspiel.State) -> str:
    if is_chance(state):
        return "chance rolls"
    dice = dice_of(state)
    return f"dice: {' '.join(map(str, dice))}" if dice else ""


def _edges(game: DrawnGame) -> set[int]:
    """Sites that are edges: those with two corners."""
    often = Counter(int(site) for site in game.geometry()["corners"][:, 0])
    return {site for site, count in often.items() if count == 2}


def _layout(game: DrawnGame) -> BoardLayout | None:
    """Layout of board and hands; None if they cannot be drawn."""
    geometry, names, edges = game.geometry(), game.site_names(), _edges(game)
    centres = geometry["sites"]
    if not len(centres) or not np.isfinite(centres).all():
        return None
    extent = float(np.ptp(centres, axis=0).max()) or 1.0
    nearest = _minimum_distance(centres, geometry["corners"])
    if nearest * _WIDEST < extent:
        return None
    scale = 1 / nearest if np.isfinite(nearest) else 1.0
    left, top = float(centres[:, 0].min()), float(centres[:, 1].max())

    def place(x: float, y: float) -> Point:
        return (x - left) * scale, (top - y) * scale

    around: dict[int, list[Point]] = {}
    for site, x, y in geometry["corners"].tolist():
        around.setdefault(int(site), []).append(place(x, y))
    lines = [BoardLine(place(*line[:2]), place(*line[2:])) for line in geometry["lines"].tolist()]
    ends = dict.fromkeys((round(x, 3), round(y, 3)) for site in edges for x, y in around[site])
    if not len(lines):
        lines = [BoardLine((x - 0.01, y), (x + 0.01, y), width=_DOT) for x, y in ends]
    sites = []
    for site, (x, y) in enumerate(centres.tolist()):
        centre = place(x, y)
        corners = around.get(site, [])
        outline = _edge_outline(*corners) if site in edges else corners
        sites.append(BoardSite(names[site], *centre, tuple((x - centre[0], y - centre[1]) for x, y in outline)))
    main = sites[: len(geometry["centres"])]
    return BoardLayout(tuple(sites), tuple(lines), coordinate_labels(main, lines))


def _edge_outline(start: Point, end: Point) -> list[Point]:
    """Corners of a thin rectangle along an edge."""
    (x0, y0), (x1, y1) = start, end
    length = float(np.hypot(x1 - x0, y1 - y0)) or 1.0
    along = (x1 - x0) * _STRIP[0] / 2, (y1 - y0) * _STRIP[0] / 2
    across = -(y1 - y0) / length * _STRIP[1], (x1 - x0) / length * _STRIP[1]
    middle = (x0 + x1) / 2, (y0 + y1) / 2
    ways = ((-1, -1), (1, -1), (1, 1), (-1, 1))
    return [(middle[0] + a * along[0] + b * across[0], middle[1] + a * along[1] + b * across[1]) for a, b in ways]


def _minimum_distance(centres: NDArray[np.float64], corners: NDArray[np.float64]) -> float:
    """Minimum distance between two centres of the same kind: areas, points, or, if there are no others, edges.

    Sites of different kinds may share a place, such as a cell and the vertex at its centre. If two of the same kind do,
    the distance is 0.
    """
    often = np.bincount(corners[:, 0].astype(int), minlength=len(centres))
    edges, others = centres[often == 2], [centres[often == 0], centres[often > 2]]
    if _nearest(edges) == 0.0:
        return 0.0
    return min(map(_nearest, others)) if len(edges) < len(centres) else _nearest(edges)


def _nearest(centres: NDArray[np.float64]) -> float:
    """Minimum distance between two centres; infinite for a single one."""
    if len(centres) < 2:
        return math.inf
    apart = np.hypot(*(centres[:, None] - centres[None]).transpose(2, 0, 1)).round(9)
    np.fill_diagonal(apart, np.inf)
    return float(apart.min())
