"""Outlines, lines and names of the sites of a board, and the sites of moves. Only pictures use them.

Sites are numbered without gaps: main sites, hands, then other types with pieces (see `sites.Layout`). Coordinates are
Ludii's: y grows upwards, the board fills the unit square, and hands are to the right of it.
"""

from __future__ import annotations

import functools
import itertools
import math
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
_ARC_LINES = 24
"""Number of lines of a loop."""
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
        if str(game.board().getClass().getSimpleName()) == "SurakartaBoard":
            places = [_place(vertex) for vertex in self._topology.vertices()]
            tracks = [[places[int(step.site)] for step in track.elems()] for track in game.board().tracks()]
            lines += loops(tracks)
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


def loops(tracks: Sequence[Sequence[Point]]) -> list[list[float]]:
    """Returns the loops of closed tracks as short lines.

    A track leaves the board where its next point is not adjacent. The loop is the arc that continues in the direction
    in which the track leaves and ends in the direction in which it returns.
    """
    lines, drawn = [], set()
    for track in tracks:
        step = min(math.dist(a, b) for a, b in itertools.pairwise(track))
        for i, (start, end) in enumerate(zip(track, [*track[1:], track[0]], strict=True)):
            if math.dist(start, end) < 1.1 * step or frozenset((start, end)) in drawn:
                continue
            drawn.add(frozenset((start, end)))
            leaving = start[0] - track[i - 1][0], start[1] - track[i - 1][1]
            after = track[(i + 2) % len(track)]
            points = _arc(start, leaving, end, (after[0] - end[0], after[1] - end[1]))
            lines += [[*a, *b] for a, b in itertools.pairwise(points)]
    return lines


def _arc(start: Point, leaving: Point, end: Point, returning: Point) -> list[Point]:
    """Returns points of the arc between two points, given the directions at its ends; a straight line if parallel."""
    across = leaving[0] * returning[1] - leaving[1] * returning[0]
    if abs(across) < 1e-9:
        return [start, end]
    # The centre is on the normals at both ends.
    away = (end[0] - start[0]) * returning[0] + (end[1] - start[1]) * returning[1]
    along = -away / across
    x, y = start[0] + along * leaving[1], start[1] - along * leaving[0]
    first, last = (math.atan2(b - y, a - x) for a, b in (start, end))
    turn = (last - first) % math.tau
    if (start[0] - x) * leaving[1] < (start[1] - y) * leaving[0]:
        turn -= math.tau  # clockwise
    radius, angles = math.dist((x, y), start), [first + turn * i / _ARC_LINES for i in range(_ARC_LINES + 1)]
    return [(x + radius * math.cos(angle), y + radius * math.sin(angle)) for angle in angles]


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
