"""The sites of a game's board and hands: where each is drawn, and what stands on it, read in one crossing."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludii_bridge.programs import Programs, Types, int_buffer

_EPSILON = 1e-5
"""Coordinates nearer than this are equal, as for Ludii's tensor."""


class Layout:
    """Columns and rows for all sites.

    The board's sites are ranked by the coordinates of their centres, as Ludii ranks them; where two would share a
    place, all stand in one row. Each hand is a column to the right of the board, after an empty one.

    Attributes:
        containers: for each container, the board first, the number of its first site and how many it has.
        places: the column and the row of each site, by its number.
        width, height: columns and rows.
        flat: the board's sites have places of their own by their coordinates.
        centres: float64 [n, 2], Ludii's coordinates of the board's sites.
    """

    def __init__(self, game: Any) -> None:
        elements = list(game.graphPlayElements())
        self.centres = np.array([[e.centroid().getX(), e.centroid().getY()] for e in elements], np.float64)
        firsts = [int(first) for first in game.equipment().sitesFrom()]
        sizes = [int(container.numSites()) for container in game.equipment().containers()]
        self.containers = [(0, len(elements)), *zip(firsts[1:], sizes[1:], strict=True)]
        x, y = _ranks(self.centres[:, 0]), _ranks(self.centres[:, 1])
        places = list(zip(x, y, strict=True))
        self.flat = len(set(places)) == len(places)
        if not self.flat:
            places = [(site, 0) for site in range(len(places))]
        self.places = dict(enumerate(places))
        self.width = max(column for column, _ in places) + 1
        self.height = max(row for _, row in places) + 1
        hands = self.containers[1:]
        for column, (first, size) in enumerate(hands, start=self.width + 1):
            self.places.update({first + i: (column, i) for i in range(size)})
            self.height = max(self.height, size)
        self.width += len(hands) + 1 if hands else 0


def _ranks(values: NDArray[np.float64]) -> list[int]:
    """For each value, how many clearly smaller ones there are, equal ones counted once."""
    order = np.argsort(values, kind="stable")
    steps = np.diff(values[order], prepend=values[order[:1]]) > _EPSILON
    ranks = np.empty(len(values), int)
    ranks[order] = np.cumsum(steps)
    return [int(rank) for rank in ranks]


class SiteReader:
    """Reads what stands on the sites.

    Args:
        jpype: the module, with Java started.
        game: Ludii's compiled game.
        layout: its sites.
        fields: what is read of a site: "what" (0 for nothing), "who", "count", "state", "sizeStack", as Ludii's
            `ContainerState` calls it.
        rows: as many states can be read before the first is read over.

    Attributes:
        found: for each field int32 [rows, sites], by the sites' numbers.
    """

    def __init__(self, jpype: Any, game: Any, layout: Layout, fields: Sequence[str], rows: int) -> None:
        self._layout = layout
        self._sites = max(first + size for first, size in layout.containers)
        self._kinds = [site_type(jpype, game, number) for number in range(len(layout.containers))]
        self._buffers = {field: int_buffer(jpype, rows * self._sites) for field in fields}
        self.found: dict[str, NDArray[np.int32]] = {
            field: np.asarray(buffer).reshape(rows, self._sites) for field, buffer in self._buffers.items()
        }

    def program(self, p: Programs, t: Types) -> Any:
        """(int row, Context)void: read all sites of a state into that row."""
        readers = [self._container(p, t, number) for number in range(len(self._layout.containers))]
        return functools.reduce(p.then, readers)

    def _container(self, p: Programs, t: Types, number: int) -> Any:
        """(int row, Context)void: read the sites of a container."""
        first, size = self._layout.containers[number]
        fields = [self._field(p, t, field, self._kinds[number]) for field in self._buffers]
        body = p.piped(functools.reduce(p.then, fields), 0, p.plus(first))
        container = p.bound(p.method(t.context, "containerState", t.container, t.int), number, at=1)
        return p.piped(for_sites(p, t, body, size), 0, p.times(self._sites), container)

    def _field(self, p: Programs, t: Types, field: str, kind: Any) -> Any:
        """(int site, int start, ContainerState)void: read a field of a site into the place that is `site` after
        `start`."""
        put = p.bound(p.method(t.int_buffer, "put", t.int_buffer, t.int, t.int), self._buffers[field])
        read = p.bound(p.method(t.container, field, t.int, t.int, t.site_type), kind, at=2)
        note = p.fed(p.fed(put, 1, read), 0, p.sum)
        return p.typed(p.ordered(note, [t.int, t.int, t.container], [0, 1, 2, 0]), t.void, t.int, t.int, t.container)


def site_type(jpype: Any, game: Any, number: int) -> Any:
    """What the sites of a container are: the board's pieces stand on its main kind of site, hands have cells."""
    return game.board().defaultSite() if number == 0 else jpype.JClass("game.types.board.SiteType").Cell


def for_sites(p: Programs, t: Types, body: Any, size: int) -> Any:
    """(int start, ContainerState)void: `body`, (int i, int start, ContainerState)void, for each i below `size`."""
    start, container = p.register(t.int), p.register(t.container)
    each = p.ordered(p.fed(p.fed(body, 2, container.get), 1, start.get), [t.int], [0])
    steps = [p.ordered(start.set, [t.int, t.container], [0]), p.ordered(container.set, [t.int, t.container], [1])]
    return p.then(p.then(*steps), p.ordered(p.bound(p.for_each(each), size), [t.int, t.container], []))
