"""The sites of a game's board and hands: their layout, and their content, read in one call into Java."""

from __future__ import annotations

import functools
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludii_bridge.errors import LudiiError
from ludii_bridge.programs import Programs, Types, int_buffer

_EPSILON = 1e-5
"""Maximum difference of equal coordinates, as in Ludii's tensor."""
_KINDS = ("Cell", "Edge", "Vertex")
_PROBE_PLIES = 20
"""Length of the random game that shows which site types hold pieces."""


class Area(NamedTuple):
    """Sites of one type in one container of a game.

    Attributes:
        container: its number; the board is 0, followed by the hands.
        kind: name of Ludii's `SiteType`.
        first: the bridge's number of the first site. Main sites and hands have Ludii's numbers.
        numbers: Ludii's numbers of the sites, which count each type from 0.
        slot: number of earlier sites of this type in the same place.
    """

    container: int
    kind: str
    first: int
    numbers: Sequence[int]
    slot: int = 0


class Layout:
    """Columns and rows of all sites.

    The board's sites are ranked by the coordinates of their centres, as in Ludii. If two share a place, all are in
    one row. Each hand is a column to the right of the board, after an empty one. All site types with pieces are ranked
    together: the edges of a square board lie between its vertices. Dice have no place: see `dice`.

    Args:
        game: Ludii's compiled game.
        others: site types of the board, besides its main one, that hold pieces.

    Attributes:
        areas: main sites, hands, then other sites of the board.
        places: column and row of each site, by its number.
        width, height: number of columns and rows.
        further: numbers of the board's sites that are not of the main type.
        flat: all main sites have distinct places.
        centres: float64 [n, 2], Ludii's coordinates of the main sites.
    """

    def __init__(self, game: Any, others: Sequence[str] = ()) -> None:
        topology = game.board().topology()
        main = str(game.board().defaultSite())
        elements = {main: list(game.graphPlayElements())}
        elements.update((kind, list(topology.getGraphElements(site_type(game, kind)))) for kind in others)
        if not elements[main]:
            raise LudiiError(f"{game.name()} cannot be played: its board has no {main.lower()}")
        centres = {kind: _centres(found) for kind, found in elements.items()}
        self.centres = centres[main]
        board = _places(centres)
        self.flat = len(set(board[main])) == len(board[main])
        if not self.flat:
            board = {kind: [(i, row) for i in range(len(board[kind]))] for row, kind in enumerate(board)}
        self.places = dict(enumerate(board[main]))
        self.areas = [Area(0, main, 0, range(len(board[main])))]
        self.width = max(column for places in board.values() for column, _ in places) + 1
        self.height = max(row for places in board.values() for _, row in places) + 1
        self._add_hands(game)
        first = 1 + max(self.places)
        for kind in others:
            self._add_kind(kind, board[kind])
        self.further = range(first, 1 + max(self.places))

    def _add_hands(self, game: Any) -> None:
        firsts = [int(first) for first in game.equipment().sitesFrom()]
        sizes = [int(container.numSites()) for container in game.equipment().containers()]
        dice = {0, *(int(container.index()) for container in game.handDice())}
        containers = enumerate(zip(firsts, sizes, strict=True))
        hands = [(number, *sites) for number, sites in containers if number not in dice]
        for column, (number, first, size) in enumerate(hands, start=1):
            self.areas.append(Area(number, "Cell", first, range(first, first + size)))
            self.places.update({first + i: (self.width + column, i) for i in range(size)})
            self.height = max(self.height, size)
        self.width += len(hands) + 1 if hands else 0

    def _add_kind(self, kind: str, places: Sequence[tuple[int, int]]) -> None:
        slots: dict[int, list[int]] = {}
        often: Counter[tuple[int, int]] = Counter()
        for number, place in enumerate(places):
            slots.setdefault(often[place], []).append(number)
            often[place] += 1
        for slot, numbers in slots.items():
            first = 1 + max(self.places)
            self.areas.append(Area(0, kind, first, numbers, slot))
            self.places.update((first + i, places[number]) for i, number in enumerate(numbers))

    def area(self, site: int) -> Area:
        """Returns the area of a site."""
        return next(area for area in self.areas if 0 <= site - area.first < len(area.numbers))


def _centres(elements: Sequence[Any]) -> NDArray[np.float64]:
    centres = [[e.centroid().getX(), e.centroid().getY()] for e in elements]
    return np.array(centres, np.float64).reshape(len(elements), 2)


def _places(centres: Mapping[str, NDArray[np.float64]]) -> dict[str, list[tuple[int, int]]]:
    """Returns column and row of each centre, all types ranked together."""
    together = np.concatenate(list(centres.values()))
    ranked = list(zip(_ranks(together[:, 0]), _ranks(together[:, 1]), strict=True))
    ends = np.cumsum([len(some) for some in centres.values()])
    return {kind: ranked[end - len(some) : end] for (kind, some), end in zip(centres.items(), ends, strict=True)}


def _ranks(values: NDArray[np.float64]) -> list[int]:
    """Returns the rank of each value; equal values share one."""
    order = np.argsort(values, kind="stable")
    steps = np.diff(values[order], prepend=values[order[:1]]) > _EPSILON
    ranks = np.empty(len(values), int)
    ranks[order] = np.cumsum(steps)
    return [int(rank) for rank in ranks]


class SiteReader:
    """Reads the content of all sites.

    Args:
        jpype: the module, with Java started.
        game: Ludii's compiled game.
        layout: its sites.
        fields: methods of Ludii's `ContainerState`: "what" (0 if empty), "who", "count", "state", "sizeStack".
        rows: capacity in states.

    Attributes:
        found: for each field int32 [rows, sites], by the sites' numbers.
    """

    def __init__(self, jpype: Any, game: Any, layout: Layout, fields: Sequence[str], rows: int) -> None:
        self._game = game
        self._jpype = jpype
        self._layout = layout
        self._sites = 1 + max(layout.places)
        self._buffers = {field: int_buffer(jpype, rows * self._sites) for field in fields}
        self.found: dict[str, NDArray[np.int32]] = {
            field: np.asarray(buffer).reshape(rows, self._sites) for field, buffer in self._buffers.items()
        }

    def program(self, p: Programs, t: Types) -> Any:
        """(int row, Context)void: reads all sites of a state into that row."""
        return functools.reduce(p.then, [self._area(p, t, area) for area in self._layout.areas])

    def _area(self, p: Programs, t: Types, area: Area) -> Any:
        """(int row, Context)void: reads the sites of an area."""
        body = functools.reduce(p.then, [self._field(p, t, field, area) for field in self._buffers])
        return p.piped(for_sites(p, t, body, area), 0, p.times(self._sites))

    def _field(self, p: Programs, t: Types, field: str, area: Area) -> Any:
        """(int i, int start, ContainerState)void: reads a field of the i-th site into its place after `start`."""
        put = p.bound(p.method(t.int_buffer, "put", t.int_buffer, t.int, t.int), self._buffers[field])
        note = p.fed(p.fed(put, 1, field_of(p, t, self._jpype, self._game, field, area)), 0, p.sum)
        note = p.piped(note, 0, p.plus(area.first))
        return p.typed(p.ordered(note, [t.int, t.int, t.container], [0, 1, 2, 0]), t.void, t.int, t.int, t.container)


def site_type(game: Any, kind: str) -> Any:
    """Ludii's `SiteType` of that name."""
    return type(game.board().defaultSite()).valueOf(kind)


def field_of(p: Programs, t: Types, jpype: Any, game: Any, field: str, area: Area) -> Any:
    """(ContainerState, int i)int: a field of the i-th site of an area."""
    read = p.bound(p.method(t.container, field, t.int, t.int, t.site_type), site_type(game, area.kind), at=2)
    numbers = area.numbers
    if isinstance(numbers, range):
        return p.piped(read, 1, p.plus(numbers.start))
    return p.piped(read, 1, p.bound(p.element(t.ints), jpype.JArray(jpype.JInt)(numbers)))


def for_sites(p: Programs, t: Types, body: Any, area: Area) -> Any:
    """(int start, Context)void: `body`, (int i, int start, ContainerState)void, for the i-th site of an area, each."""
    start, container = p.register(t.int), p.register(t.container)
    each = p.ordered(p.fed(p.fed(body, 2, container.get), 1, start.get), [t.int], [0])
    steps = [p.ordered(start.set, [t.int, t.container], [0]), p.ordered(container.set, [t.int, t.container], [1])]
    loop = p.ordered(p.bound(p.for_each(each), len(area.numbers)), [t.int, t.container], [])
    of_context = p.bound(p.method(t.context, "containerState", t.container, t.int), area.container, at=1)
    return p.piped(p.then(p.then(*steps), loop), 1, of_context)


def other_kinds(jpype: Any, game: Any) -> list[str]:
    """Returns the board's other site types that hold pieces within the first plies of a random game.

    Ludii's flags may name a type that only hands have, and may miss one. Types that the description never names are
    skipped.
    """
    main, text = str(game.board().defaultSite()), str(game.description().expanded())
    left = [kind for kind in _KINDS if kind != main and re.search(rf"\b{kind}\b", text)]
    found: set[str] = set()
    if not left or not game.isGraphGame():
        return []
    kinds = {kind: site_type(game, kind) for kind in left}
    sizes = {kind: len(game.board().topology().getGraphElements(kinds[kind])) for kind in left}
    context = jpype.JClass("other.context.Context")(game, jpype.JClass("other.trial.Trial")(game))
    game.start(context)
    rng = random.Random(0)
    for _ in range(_PROBE_PLIES):
        state = context.containerState(0)
        found.update(kind for kind in left if int(state.emptyRegion(kinds[kind]).count()) < sizes[kind])
        moves = game.moves(context).moves()
        if found.issuperset(left) or context.trial().over() or moves.isEmpty():
            break
        game.apply(context, moves.get(rng.randrange(moves.size())))
    return sorted(found)
