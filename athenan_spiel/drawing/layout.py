"""Geometry of boards: sites, lines, labels and pieces, and the usual boards of squares, points and hexagons.

Distances are in widths of a site: the centres of two adjacent squares are 1 apart. x grows to the right, y downwards.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from string import ascii_lowercase
from typing import Literal

Point = tuple[float, float]
Name = Callable[[int, int], str]
"""(row from the top, column) -> name of the site."""

HEXAGON = 1 / math.sqrt(3)
"""Distance from the centre of a hexagon of width 1 to its corners."""
ROW = math.sqrt(3) / 2
"""Distance between two rows of hexagons of width 1."""


@dataclass(frozen=True)
class BoardSite:
    """Place on the board that moves refer to.

    Attributes:
        name: name in the notation of the game's moves.
        x, y: centre.
        corners: corners of its outline, relative to the centre; empty for a point on lines of the board.
        is_dark: whether it is one of the dark squares.
        is_drawn: whether its outline is drawn; if not, it is only a place to click, such as the line between two dots.
    """

    name: str
    x: float
    y: float
    corners: tuple[Point, ...] = ()
    is_dark: bool = False
    is_drawn: bool = True


@dataclass(frozen=True)
class BoardLine:
    """Straight line between two points.

    Attributes:
        side: owner; None if the line is part of the board.
        width: width of the line, in widths of a site.
    """

    start: Point
    end: Point
    side: int | None = None
    width: float = 0.04

    def flipped(self) -> BoardLine:
        """Returns the line on a board turned by 180 degrees."""
        (x0, y0), (x1, y1) = self.start, self.end
        return replace(self, start=(-x0, -y0), end=(-x1, -y1))


@dataclass(frozen=True)
class Label:
    """Row number or column letter next to the board."""

    text: str
    x: float
    y: float


@dataclass(frozen=True)
class Piece:
    """Piece on a site.

    Attributes:
        site: index of the site.
        side: owner; None without one.
        kind: name of the piece.
        sign: character or number drawn for it; empty for a plain stone.
        form: a stone with the sign on it, the sign itself (`figure`), a block that fills the site, or a count.
    """

    site: int
    side: int | None
    kind: str = "stone"
    sign: str = ""
    form: Literal["stone", "figure", "block", "count"] = "stone"


@dataclass(frozen=True)
class BoardLayout:
    """Board without pieces.

    Attributes:
        sites: places, in an order fixed by the game's view.
        lines, labels: further parts of the drawing.
    """

    sites: tuple[BoardSite, ...]
    lines: tuple[BoardLine, ...] = ()
    labels: tuple[Label, ...] = field(default=())

    def flipped(self) -> BoardLayout:
        """Returns the board turned by 180 degrees; texts stay upright."""
        sites = tuple(
            replace(site, x=-site.x, y=-site.y, corners=tuple((-x, -y) for x, y in site.corners)) for site in self.sites
        )
        labels = tuple(replace(label, x=-label.x, y=-label.y) for label in self.labels)
        return BoardLayout(sites, tuple(line.flipped() for line in self.lines), labels)

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Bounding box: left, top, right, bottom."""
        points = [(site.x + x, site.y + y) for site in self.sites for x, y in (*site.corners, (0.0, 0.0))]
        points += [point for line in self.lines for point in (line.start, line.end)]
        points += [(label.x + way * 0.3, label.y + way * 0.3) for label in self.labels for way in (-1, 1)]
        bare = [site for site in self.sites if not site.corners]  # stones on points reach beyond them
        points += [(site.x + way * 0.5, site.y + way * 0.5) for site in bare for way in (-1, 1)]
        xs, ys = zip(*points, strict=True)
        return min(xs), min(ys), max(xs), max(ys)


def square(width: float = 1.0, height: float = 1.0) -> tuple[Point, ...]:
    """Corners of a rectangle, relative to its centre."""
    x, y = width / 2, height / 2
    return (-x, -y), (x, -y), (x, y), (-x, y)


def hexagon() -> tuple[Point, ...]:
    """Corners of a hexagon of width 1 with one corner at the bottom, relative to its centre."""
    angles = [math.pi / 6 + math.pi / 3 * i for i in range(6)]
    return tuple((HEXAGON * math.cos(angle), HEXAGON * math.sin(angle)) for angle in angles)


def letters(column: int) -> str:
    """Returns the name of a column: a, b, ... z, aa, ab, ..."""
    first, last = divmod(column, len(ascii_lowercase))
    return (ascii_lowercase[first - 1] if first else "") + ascii_lowercase[last]


def from_below(rows: int) -> Name:
    """Returns the names of sites with a1 at the bottom, as in Chess."""
    return lambda row, column: f"{letters(column)}{rows - row}"


def from_above(row: int, column: int) -> str:
    """Returns the name of a site with a1 at the top, as in Othello."""
    return f"{letters(column)}{row + 1}"


def numbered(row: int, column: int) -> str:
    """Returns row and column, counted from 0."""
    return f"{row},{column}"


def squares(rows: int, columns: int, name: Name, *, is_checkered: bool = False) -> BoardLayout:
    """A board of squares, row by row."""
    sites = tuple(
        BoardSite(name(row, column), column, row, square(), is_checkered and (row + column) % 2 == 1)
        for row in range(rows)
        for column in range(columns)
    )
    return BoardLayout(sites, labels=coordinate_labels(sites))


def points(rows: int, columns: int, name: Name, *, stars: Iterable[tuple[int, int]] = ()) -> BoardLayout:
    """Points where lines cross, row by row, as in Go."""
    sites = tuple(BoardSite(name(row, column), column, row) for row in range(rows) for column in range(columns))
    lines = [BoardLine((0, row), (columns - 1, row)) for row in range(rows)]
    lines += [BoardLine((column, 0), (column, rows - 1)) for column in range(columns)]
    lines += [BoardLine((column - 0.01, row), (column + 0.01, row), width=0.26) for row, column in stars]
    return BoardLayout(sites, tuple(lines), coordinate_labels(sites))


def squares_from_below(rows: int, columns: int) -> BoardLayout:
    """Checkered squares; a1 is at the bottom, as in Chess."""
    return squares(rows, columns, from_below(rows), is_checkered=True)


squares_from_above = functools.partial(squares, name=from_above)
"""Squares; a1 is at the top, as in Othello."""
numbered_squares = functools.partial(squares, name=numbered)
checkered_squares = functools.partial(squares, name=numbered, is_checkered=True)
numbered_points = functools.partial(points, name=numbered)


_COORDINATES = re.compile(r"([A-Za-z]+(?=\d)|\d+(?=[,a-z])),?(\d+|[a-z]+)")
_NEAR = 0.05
"""Maximum distance between points considered the same, in widths of a site."""
_LABEL_DISTANCE, _LABEL_ENDS = 0.85, 0.5
"""Distance of a label from sites and from the ends of lines."""
_LABEL_FREE = 0.6
"""Minimum distance of a label from sites and other labels."""


def coordinate_labels(sites: Sequence[BoardSite], lines: Sequence[BoardLine] = ()) -> tuple[Label, ...]:
    """Returns labels of the rows and columns that the names of sites consist of, such as a1, 9a or 0,3.

    Sites with the same row, or the same column, are on a line, and its label is beyond its left or its lower end; if
    labels would be too close to each other or to sites, beyond another end. There are no labels if that does not help,
    or if sites have other names.
    """
    names = [_COORDINATES.fullmatch(site.name) for site in sites]
    axes = []
    for part in (1, 2):
        groups: dict[str, list[Point]] = {}
        for name, site in zip(names, sites, strict=True):
            if name is None:
                return ()
            groups.setdefault(name[part], []).append((site.x, site.y))
        way = _common_direction(list(groups.values()))
        if way is None:
            return ()
        axes.append((groups, way))
    taken = [(site.x, site.y) for site in sites]
    is_upright = all(min(abs(x), abs(y)) < _NEAR for _, (x, y) in axes)
    ends = [point for line in lines for point in (line.start, line.end)] if is_upright else []
    for turned in itertools.product((1, -1), repeat=2):
        labels = []
        for (groups, (dx, dy)), turn in zip(axes, turned, strict=True):
            labels += _line_labels(groups, (turn * dx, turn * dy), taken if is_upright else (), ends)
        places = [(label.x, label.y) for label in labels]
        if all(math.dist(a, b) > _LABEL_FREE for i, a in enumerate(places) for b in (*taken, *places[:i])):
            return tuple(labels)
    return ()


def _line_labels(
    groups: Mapping[str, Sequence[Point]], way: Point, beyond: Iterable[Point], ends: Iterable[Point]
) -> list[Label]:
    """Returns the label of each line through sites, at its end in a direction, and beyond other sites and lines."""
    dx, dy = way
    least = [x * dx + y * dy + _LABEL_DISTANCE for x, y in beyond] + [x * dx + y * dy + _LABEL_ENDS for x, y in ends]
    labels = []
    for text, group in groups.items():
        x, y = max(group, key=lambda point: point[0] * dx + point[1] * dy)
        further = max([_LABEL_DISTANCE, *(distance - x * dx - y * dy for distance in least)])
        labels.append(Label(text, x + dx * further, y + dy * further))
    return labels


def _common_direction(groups: Sequence[Sequence[Point]]) -> Point | None:
    """Returns the direction of parallel lines through groups of points, to the left or downwards; None without."""
    longest = max(groups, key=len)
    (x0, y0), (x1, y1) = min(longest), max(longest)
    length = math.dist((x0, y0), (x1, y1))
    if length < _NEAR:
        return None
    dx, dy = (x1 - x0) / length, (y1 - y0) / length
    if any(abs((x - group[0][0]) * dy - (y - group[0][1]) * dx) > _NEAR for group in groups for x, y in group):
        return None
    is_away = dx > 0 if abs(dx) > abs(dy) else dy < 0
    return (-dx, -dy) if is_away else (dx, dy)


def hexagons(starts: Sequence[float], lengths: Sequence[int], name: Name) -> BoardLayout:
    """Rows of hexagons from the top, given the x of the first centre and the length of each row."""
    corners = hexagon()
    sites = tuple(
        BoardSite(name(row, column), start + column, row * ROW, corners)
        for row, (start, length) in enumerate(zip(starts, lengths, strict=True))
        for column in range(length)
    )
    return BoardLayout(sites, labels=coordinate_labels(sites))


def rhombus(rows: int, columns: int) -> BoardLayout:
    """The board of Hex, with the sides that the players connect: player 0 the top and the bottom."""
    board = hexagons([row / 2 for row in range(rows)], [columns] * rows, from_above)
    corners = [[(site.x + x, site.y + y) for x, y in site.corners] for site in board.sites]
    # Corners of each hexagon: lower right, bottom, lower left, upper left, top, upper right.
    first, last = corners[:columns], corners[-columns:]
    top = [point for cell in first for point in (cell[3], cell[4], cell[5])]
    bottom = [point for cell in last for point in (cell[2], cell[1], cell[0])]
    left = [point for cell in corners[::columns] for point in (cell[3], cell[2], cell[1])]
    right = [point for cell in corners[columns - 1 :: columns] for point in (cell[4], cell[5], cell[0])]
    lines = [
        BoardLine(one, other, side, 0.14)
        for side, outline in ((0, top), (0, bottom), (1, left), (1, right))
        for one, other in pairwise(outline)
    ]
    labels = [Label(letters(column), column - 0.45, -0.95) for column in range(columns)]
    labels += [Label(str(row + 1), row / 2 - 0.95, row * ROW + 0.1) for row in range(rows)]
    return BoardLayout(board.sites, tuple(lines), tuple(labels))
