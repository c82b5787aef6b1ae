"""The sites of a game's board and hands: where each is drawn, and what stands on it, read in a few crossings.

Ludii's own tensor fails, or shows two sites in one place, on some games: boards whose pieces stand on vertices beside
hands, stacks on vertices, several hands, boards with two sites above one another. `SiteTensor` is the tensor of those.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludii_bridge.programs import Programs

_STATES = 6
"""Local states told apart, the last one and all above it together; as many as in Ludii's tensor."""
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


class SiteTensor:
    """The tensor of a game that Ludii's own tensor does not suit.

    Channels: for each kind of piece where it is (in games with stacks: on top), then the
    height of the stacks, where there are stacks; how many pieces are on a site, where they are counted;
    local states, where there are some; who is to move, two channels; whether sides were swapped; which places exist.

    Args:
        jpype: the module, with Java started.
        game: Ludii's compiled game.
        layout: its sites.
        names: of the kinds of pieces.
    """

    def __init__(self, jpype: Any, game: Any, layout: Layout, names: list[str]) -> None:
        self._layout = layout
        self._kinds = len(names)
        self._stacking = bool(game.isStacking())
        self._counted = bool(game.requiresCount())
        self._stated = bool(game.requiresLocalState())
        self._range = jpype.JClass("java.util.stream.IntStream").range
        self._frame = jpype.JArray(jpype.JObject)(1)
        last = max(first + size for first, size in layout.containers)
        fields = ["what", "who", "count", "state", *(["sizeStack"] if self._stacking else [])]
        order = jpype.JClass("java.nio.ByteOrder").nativeOrder()
        buffers = [
            jpype.JClass("java.nio.ByteBuffer").allocateDirect(4 * last).order(order).asIntBuffer() for _ in fields
        ]
        self._read = {field: np.asarray(buffer) for field, buffer in zip(fields, buffers, strict=True)}
        self._readers = [
            _reader(jpype, game, self._frame, number, dict(zip(fields, buffers, strict=True)))
            for number in range(len(layout.containers))
        ]
        sites = sorted(layout.places)
        self._sites = np.array(sites)
        self._columns, self._rows = np.array([layout.places[site] for site in sites]).T
        self.channels = self._names(names)
        self.shape = (len(self.channels), layout.width, layout.height)

    def _names(self, names: list[str]) -> tuple[str, ...]:
        top = " on top" if self._stacking else ""
        channels = [f"{name}{top}" for name in names]
        channels += ["height of the stack"] if self._stacking else []
        channels += ["how many pieces"] if self._counted else []
        channels += [f"local state {i}{' or more' if i == _STATES - 1 else ''}" for i in range(_STATES) if self._stated]
        return (*channels, "player 0 to move", "player 1 to move", "sides were swapped", "the place exists")

    def read(self, context: Any) -> dict[str, NDArray[np.int32]]:
        """What stands on the sites, by their numbers: "what" (0 for nothing), "who", "count", "state" and so on."""
        self._frame[0] = context
        for (first, size), reader in zip(self._layout.containers, self._readers, strict=True):
            self._range(first, first + size).forEach(reader)
        self._frame[0] = None
        return self._read

    def observe(self, context: Any, mover: int, out: NDArray[np.float32]) -> None:
        """Write the tensor into `out`, float32 [channels * x * y]."""
        planes = out.reshape(self.shape)
        planes.fill(0)
        found = self.read(context)
        what = found["what"][self._sites]
        there = np.flatnonzero(what)
        planes[what[there] - 1, self._columns[there], self._rows[there]] = 1
        channel = self._kinds
        for field, present in (("sizeStack", self._stacking), ("count", self._counted)):
            if present:
                planes[channel, self._columns, self._rows] = found[field][self._sites]
                channel += 1
        if self._stated:
            states = np.clip(found["state"][self._sites], 0, _STATES - 1)
            planes[channel + states, self._columns, self._rows] = 1
            channel += _STATES
        planes[channel + mover] = 1
        planes[channel + 2] = bool(context.state().orderHasChanged())
        planes[channel + 3, self._columns, self._rows] = 1


def _reader(jpype: Any, game: Any, frame: Any, number: int, buffers: dict[str, Any]) -> Any:
    """An IntConsumer: read that site of a container of the context in the frame into the buffers."""
    p = Programs(jpype)
    integer, void = jpype.JClass("java.lang.Integer").TYPE, jpype.JClass("java.lang.Void").TYPE
    kinds = jpype.JClass("game.types.board.SiteType")
    kind = game.board().defaultSite() if number == 0 else kinds.Cell
    objects = jpype.JArray(jpype.JObject).class_
    context, container = (
        jpype.JClass(f"other.{name}").class_ for name in ("context.Context", "state.container.ContainerState")
    )
    current = p.typed(p.bound(p.bound(p.element(objects), frame), 0), context)
    of_context = p.bound(p.method(context, "containerState", container, integer), number, at=1)
    state = p.given(current, of_context)
    program = None
    for field, buffer in buffers.items():
        value = p.given(state, p.bound(p.method(container, field, integer, integer, kinds.class_), kind, at=2))
        put = p.bound(
            p.method(
                jpype.JClass("java.nio.IntBuffer").class_,
                "put",
                jpype.JClass("java.nio.IntBuffer").class_,
                integer,
                integer,
            ),
            buffer,
        )
        note = p.typed(p.ordered(p.piped(put, 1, value), [integer], [0, 0]), void, integer)
        program = note if program is None else p.then(program, note)
    return p.face(jpype.JClass("java.util.function.IntConsumer").class_, program)
