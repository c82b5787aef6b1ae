"""Outlines, lines and names of the sites of a board, and the sites of moves. Only pictures use them.

Sites are numbered without gaps: main sites, hands, then other types with pieces (see `sites.Layout`). Coordinates are
Ludii's: y grows upwards, the board fills the unit square, and hands are to the right of it.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludii_bridge.picture import numbered, printable
from ludii_bridge.programs import Programs, Types
from ludii_bridge.sites import Area, Layout, site_type

_HALF_HAND = 0.45
"""Half the width of a hand's square, in distances between neighbours."""
_DEFAULT_DISTANCE = 0.5
"""Distance between neighbours on a board with one site."""
_SITE_TYPES = ("Vertex", "Edge", "Cell")
_MOVE_FIELDS = 6

Point = tuple[float, float]


class Outlines:
    """Outlines of all sites of a game.

    Attributes:
        names: unique name of each site, as in moves.
        arrays: "sites", "corners" and "lines" of `LudiiGame.geometry`.
    """

    def __init__(self, game: Any, layout: Layout) -> None:
        self._layout = layout
        self._dense = {site: i for i, site in enumerate(sorted(layout.places))}
        self._topology = game.board().topology()
        self._distance = _nearest(layout.centres)
        self._centres: dict[int, Point] = {}
        self._corners: list[tuple[float, float, float]] = []
        self._labels: dict[int, str] = {}
        for area in layout.areas:
            if area.container:
                self._add_hand(area)
            else:
                self._add_elements(area, list(self._topology.getGraphElements(site_type(game, area.kind))))
        self.names: Sequence[str] = numbered([self._labels[i] for i in range(len(self._labels))])
        of_vertices = layout.areas[0].kind == "Vertex"
        lines = [[*_ends(edge)[0], *_ends(edge)[1]] for edge in (self._topology.edges() if of_vertices else ())]
        self.arrays: Mapping[str, NDArray[np.float64]] = {
            "sites": np.array([self._centres[i] for i in range(len(self._centres))], np.float64),
            "corners": np.array(self._corners, np.float64).reshape(-1, 3),
            "lines": np.array(lines, np.float64).reshape(-1, 4),
        }

    def number(self, kind: str, site: int) -> int | None:
        """Returns the number of a site by Ludii's type and number; None if it never holds pieces."""
        return self._numbers.get((kind, site))

    @functools.cached_property
    def _numbers(self) -> dict[tuple[str, int], int]:
        """Number of each site by Ludii's type and number; hands take precedence."""
        areas, found = self._layout.areas, dict[tuple[str, int], int]()
        for area in sorted(areas, key=lambda area: not area.container):
            for kind in ("Cell", areas[0].kind) if area.container else (area.kind,):
                for i, site in enumerate(area.numbers):
                    found.setdefault((kind, site), self._dense[area.first + i])
        return found

    def dense(self, site: int) -> int:
        """Returns the number of a site of `Layout`."""
        return self._dense[site]

    def _add_elements(self, area: Area, elements: Sequence[Any]) -> None:
        is_main = area.first == 0
        for i, number in enumerate(area.numbers):
            element, site = elements[number], self._dense[area.first + i]
            centre = element.centroid()
            self._centres[site] = float(centre.getX()), float(centre.getY())
            label = printable(str(element.label()))
            self._labels[site] = label if is_main else f"{area.kind} {label}"
            around: Sequence[Point] = ()
            if area.kind == "Cell":
                around = [_place(vertex) for vertex in element.vertices()]
            elif area.kind == "Edge":
                around = _ends(element)
            self._corners += [(site, x, y) for x, y in around]

    def _add_hand(self, area: Area) -> None:
        """Adds a hand as columns of squares, no higher than the board, from the bottom up."""
        centres, step = self._layout.centres, self._distance
        right, low = centres[:, 0].max(), centres[:, 1].min()
        if self._centres:
            right = max(right, *(x for x, _ in self._centres.values()))
        high = max(1, 1 + round(float(centres[:, 1].max() - low) / step))
        half = _HALF_HAND * step
        for i in range(len(area.numbers)):
            column, row = divmod(i, high)
            x, y = float(right + (1.6 + column) * step), float(low + row * step)
            site = self._dense[area.first + i]
            self._centres[site] = x, y
            self._labels[site] = f"hand {area.container}, {i + 1}"
            square = ((x - half, y - half), (x + half, y - half), (x + half, y + half), (x - half, y + half))
            self._corners += [(site, *corner) for corner in square]


def _place(element: Any) -> Point:
    centre = element.centroid()
    return float(centre.getX()), float(centre.getY())


def _ends(edge: Any) -> tuple[Point, Point]:
    return _place(edge.vA()), _place(edge.vB())


def _nearest(centres: NDArray[np.float64]) -> float:
    """Returns the minimum distance of two distinct centres."""
    apart = np.hypot(*(centres[:, None] - centres[None]).transpose(2, 0, 1))
    return float(min(apart[apart > 1e-5], default=_DEFAULT_DISTANCE))


class MoveSites:
    """Reads origins and destinations of moves in one call into Java."""

    def __init__(self, jpype: Any, game: Any, outlines: Outlines) -> None:
        self._ints = jpype.JArray(jpype.JInt)
        self._outlines = outlines
        self._reading = threading.Lock()
        self._kinds = {int(site_type(game, kind).ordinal()): kind for kind in _SITE_TYPES}
        p, t = Programs(jpype), Types(jpype)
        self._read = p.face(t.bi_consumer, _move_reader(p, t, jpype, game)).accept

    def of(self, moves: Any) -> list[tuple[int, ...]]:
        """Returns origin and destination of each move of a Java array; nothing for a pass or a swap."""
        found = self._ints(_MOVE_FIELDS * len(moves))
        with self._reading:
            self._read(found, moves)
        rows: list[list[int]] = np.array(found, np.int32).reshape(-1, _MOVE_FIELDS).tolist()
        return [self._named(*row) for row in rows]

    def _named(self, start: int, end: int, from_kind: int, to_kind: int, passes: int, swaps: int) -> tuple[int, ...]:
        if passes or swaps:
            return ()
        ends = [
            self._outlines.number(self._kinds[kind], site)
            for site, kind in ((start, from_kind), (end, to_kind))
            if site >= 0
        ]
        sites = dict.fromkeys(site for site in ends if site is not None)
        return tuple(sites)


def _move_reader(p: Programs, t: Types, jpype: Any, game: Any) -> Any:
    """(int[] found, Object[] moves)void: from, to, their types, isPass and isSwap of each move."""
    found, moves = p.register(t.ints), p.register(t.objects)
    move = p.typed(p.given(moves.get, p.element(t.objects)), t.move, t.int)  # (i)move
    fields = [
        p.method(t.move, "from", t.int),
        p.method(t.move, "to", t.int),
        _kind(p, t, jpype, game, "fromType"),
        _kind(p, t, jpype, game, "toType"),
        p.piped(p.as_int(), 0, p.method(t.move, "isPass", t.boolean)),
        p.piped(p.as_int(), 0, p.method(t.move, "isSwap", t.boolean)),
    ]
    put = p.given(found.get, p.set_element(t.ints))  # (index, number)void
    steps = []
    for number, field in enumerate(fields):
        index = p.piped(p.plus(number), 0, p.times(_MOVE_FIELDS))
        steps.append(p.ordered(p.piped(put, 0, index, p.piped(field, 0, move)), [t.int], [0, 0]))
    each = functools.reduce(p.then, steps)
    taking = [t.ints, t.objects]
    begin = p.then(p.ordered(found.set, taking, [0]), p.ordered(moves.set, taking, [1]))
    return p.then(begin, p.ordered(p.piped(p.for_each(each), 0, p.length(t.objects)), taking, [1]))


def _kind(p: Programs, t: Types, jpype: Any, game: Any, name: str) -> Any:
    """(Move)int: ordinal of a site type, by default the board's main one."""
    objects = jpype.JClass("java.util.Objects").class_
    either = p.static(objects, "requireNonNullElse", t.object, t.object, t.object)
    known = p.bound(p.typed(either, t.site_type, t.site_type, t.site_type), game.board().defaultSite(), at=1)
    ordinal = p.typed(p.method(t.site_type, "ordinal", t.int), t.int, t.site_type)
    return p.piped(ordinal, 0, p.piped(known, 0, p.method(t.move, name, t.site_type)))
