"""How a board is drawn: outlines, lines and names of all of a game's sites, as plain data.

Sites are numbered without gaps: the board's main ones, the hands', then those of the board's other kinds that hold
pieces (see `sites.Layout`). All coordinates are Ludii's, where y grows upwards and the board lies in the unit square;
hands lie to the right of it.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludii_bridge.picture import printable
from ludii_bridge.sites import Area, Layout, site_type

_HAND = 0.45
"""Half the width of a hand's square, in distances between neighbours."""
_LONE = 0.5
"""The distance where there is but one site."""

Point = tuple[float, float]


class Outlines:
    """Where all sites of a game are.

    Args:
        game: Ludii's compiled game.
        layout: its sites.

    Attributes:
        names: of each site, as moves write them; no two are equal.
        arrays: "sites", [m, 2], the centre of each; "corners", [k, 3], the number of a site and x and y of a corner of
            its outline, all in order around it, or of both ends where the site is an edge, and none where it is a
            vertex; "lines", [k, 4], both ends of each line of a board of vertices.
    """

    def __init__(self, game: Any, layout: Layout) -> None:
        self._layout = layout
        self._dense = {site: i for i, site in enumerate(sorted(layout.places))}
        self._topology = game.board().topology()
        self._distance = _nearest(layout.centres)
        self._centres: dict[int, Point] = {}
        self._corners: list[tuple[float, float, float]] = []
        self._said: dict[int, str] = {}
        for area in layout.areas:
            if area.container:
                self._add_hand(area)
            else:
                self._add_elements(area, list(self._topology.getGraphElements(site_type(game, area.kind))))
        self.names: Sequence[str] = told_apart([self._said[i] for i in range(len(self._said))])
        of_vertices = layout.areas[0].kind == "Vertex"
        lines = [[*_ends(edge)[0], *_ends(edge)[1]] for edge in (self._topology.edges() if of_vertices else ())]
        self.arrays: Mapping[str, NDArray[np.float64]] = {
            "sites": np.array([self._centres[i] for i in range(len(self._centres))], np.float64),
            "corners": np.array(self._corners, np.float64).reshape(-1, 3),
            "lines": np.array(lines, np.float64).reshape(-1, 4),
        }

    def number(self, kind: str, site: int) -> int | None:
        """The number here of what Ludii's moves call by that kind and number; None where nothing stands ever."""
        return self._numbers.get((kind, site))

    @functools.cached_property
    def _numbers(self) -> dict[tuple[str, int], int]:
        """The number of each site by what Ludii's moves call it; where two share a name, the hand's comes first."""
        areas, found = self._layout.areas, dict[tuple[str, int], int]()
        for area in sorted(areas, key=lambda area: not area.container):
            for kind in ("Cell", areas[0].kind) if area.container else (area.kind,):
                for i, site in enumerate(area.numbers):
                    found.setdefault((kind, site), self._dense[area.first + i])
        return found

    def dense(self, site: int) -> int:
        """The number here of the site that `Layout` numbers so."""
        return self._dense[site]

    def _add_elements(self, area: Area, elements: Sequence[Any]) -> None:
        is_main = area.first == 0
        for i, number in enumerate(area.numbers):
            element, site = elements[number], self._dense[area.first + i]
            centre = element.centroid()
            self._centres[site] = float(centre.getX()), float(centre.getY())
            label = printable(str(element.label()))
            self._said[site] = label if is_main else f"{area.kind} {label}"
            around: Sequence[Point] = ()
            if area.kind == "Cell":
                around = [_place(vertex) for vertex in element.vertices()]
            elif area.kind == "Edge":
                around = _ends(element)
            self._corners += [(site, x, y) for x, y in around]

    def _add_hand(self, area: Area) -> None:
        """A hand: columns of squares, no higher than the board, from the bottom up."""
        centres, step = self._layout.centres, self._distance
        right, low = centres[:, 0].max(), centres[:, 1].min()
        if self._centres:
            right = max(right, *(x for x, _ in self._centres.values()))
        high = max(1, 1 + round(float(centres[:, 1].max() - low) / step))
        half = _HAND * step
        for i in range(len(area.numbers)):
            column, row = divmod(i, high)
            x, y = float(right + (1.6 + column) * step), float(low + row * step)
            site = self._dense[area.first + i]
            self._centres[site] = x, y
            self._said[site] = f"hand {area.container}, {i + 1}"
            square = ((x - half, y - half), (x + half, y - half), (x + half, y + half), (x - half, y + half))
            self._corners += [(site, *corner) for corner in square]


def _place(element: Any) -> Point:
    centre = element.centroid()
    return float(centre.getX()), float(centre.getY())


def _ends(edge: Any) -> tuple[Point, Point]:
    return _place(edge.vA()), _place(edge.vB())


def _nearest(centres: NDArray[np.float64]) -> float:
    """The least distance of two centres in different places."""
    apart = np.hypot(*(centres[:, None] - centres[None]).transpose(2, 0, 1))
    return float(min(apart[apart > 1e-5], default=_LONE))


def told_apart(names: Sequence[str]) -> list[str]:
    """Returns the names in their order, with a number after each that comes more than once."""
    often, seen = Counter(names), Counter[str]()
    told = []
    for name in names:
        seen[name] += 1
        told.append(f"{name} #{seen[name]}" if often[name] > 1 else name)
    return told
