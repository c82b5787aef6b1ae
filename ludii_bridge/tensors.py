"""Observations of Ludii's states: Ludii's own tensor, or the bridge's if that doesn't suit the game.

Ludii's fails, or shows two sites in one place, for vertices beside hands, stacks on vertices, several hands, and boards
with two sites in one place. Both are written for many states in one call into Java.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from ludii_bridge.dice import Dice
from ludii_bridge.programs import Programs, Types, float_buffer, int_buffer, mover_of
from ludii_bridge.sites import Area, Layout, field_of, for_sites

_STATES = 6
"""Number of distinct local states, as in Ludii's tensor; the last includes all above it."""
_LOCAL_STATE = re.compile(r"\b(?:state|flips?)\b", re.IGNORECASE)
"""Words of the ludemes that read or set local states."""


class Tensor(Protocol):
    """Tensor of the states of one game."""

    shape: tuple[int, int, int]
    """(channels, x, y)."""
    channels: tuple[str, ...]
    """Description of each channel."""

    def program(self, p: Programs, t: Types, rows: int) -> tuple[Any, NDArray[np.float32]]:
        """Returns (int row, Context)void, which writes a state's tensor into that row, and the rows, [rows, size]."""


class LudiiTensor:
    """The tensor of Ludii's wrapper for learning libraries.

    Args:
        jpype: the module, with Java started.
        wrapper: the game's `LudiiGameWrapper`.
    """

    def __init__(self, jpype: Any, wrapper: Any) -> None:
        self._jpype = jpype
        self._wrapper = wrapper
        self.shape = cast(tuple[int, int, int], tuple(map(int, wrapper.stateTensorsShape())))
        self.channels = tuple(map(str, wrapper.stateTensorChannelNames()))

    def program(self, p: Programs, t: Types, rows: int) -> tuple[Any, NDArray[np.float32]]:
        """See `Tensor`."""
        size = math.prod(self.shape)
        buffer = float_buffer(self._jpype, rows * size)
        wrap = p.bound(p.constructor(t.state_wrapper, t.game_wrapper, t.context), self._wrapper)
        tensor = p.piped(p.method(t.state_wrapper, "toTensorFlat", t.floats), 0, wrap)
        put = p.bound(p.method(t.float_buffer, "put", t.float_buffer, t.int, t.floats), buffer)
        write = p.typed(p.piped(put, 0, p.times(size), tensor), t.void, t.int, t.context)
        return write, np.asarray(buffer).reshape(rows, size)


class SiteTensor:
    """The bridge's own tensor.

    Channels: a plane per kind of piece (of top pieces in games with stacks); the heights of stacks and the numbers of
    pieces on a site, if the game has them; a plane per local state, if the game has them; for each further type of
    sites that holds pieces, a plane per kind of piece; a plane per player for the player to move, at least two;
    whether sides were swapped; which places exist; for each face, the number of unused dice that show it.

    Args:
        jpype: the module, with Java started.
        game: Ludii's compiled game.
        layout: its sites.
        names: names of the kinds of pieces.
        dice: its dice, or None.
    """

    shown: NDArray[np.int32] | None = None
    """Face of each die in the states of the last call, int32 [rows, dice], if there are dice."""

    def __init__(self, jpype: Any, game: Any, layout: Layout, names: Sequence[str], dice: Dice | None = None) -> None:
        self._jpype = jpype
        self._game = game
        self._layout = layout
        self._dice = dice
        components = list(game.equipment().components())[1:]
        kept = [number for number, component in enumerate(components) if not component.isDie()]
        self._plane_of = [0] * (1 + len(components))  # number of a kind -> its plane from 1 on; dice are on no site
        for plane, number in enumerate(kept, start=1):
            self._plane_of[1 + number] = plane
        names = [names[number] for number in kept]
        self._kinds = len(names)
        self._has_local_states = bool(game.requiresLocalState())
        if dice is not None:  # Ludii keeps the sides of dice as local states
            self._has_local_states &= _LOCAL_STATE.search(str(game.description().expanded())) is not None
        self._movers = max(int(game.players().count()), 2)
        self._amounts = [
            field
            for field, present in (("sizeStack", game.isStacking()), ("count", game.requiresCount()))
            if bool(present)
        ]
        self._others = [area for area in layout.areas[1:] if area.container == 0]
        self._own = [area for area in layout.areas if area not in self._others]
        self.channels = self._names(names)
        self.shape = (len(self.channels), layout.width, layout.height)

    def _names(self, names: Sequence[str]) -> tuple[str, ...]:
        words = {"sizeStack": "height of the stack", "count": "how many pieces"}
        channels = [f"{name} on top" if "sizeStack" in self._amounts else name for name in names]
        channels += [words[field] for field in self._amounts]
        channels += [
            f"local state {i}{' or more' if i == _STATES - 1 else ''}" for i in range(_STATES) if self._has_local_states
        ]
        for area in self._others:
            where = f"{area.kind.lower()}{f' ({area.slot + 1})' if area.slot else ''}"
            channels += [f"{name} on the {where}" for name in names]
        movers = [f"player {player} to move" for player in range(self._movers)]
        own = (*channels, *movers, "sides were swapped", "the place exists")
        return own if self._dice is None else (*own, *self._dice.channels)

    def program(self, p: Programs, t: Types, rows: int) -> tuple[Any, NDArray[np.float32]]:
        """See `Tensor`.

        A row has an additional plane in front, for the marks of empty sites (which hold piece 0) and of sides that were
        not swapped. Writing therefore needs no conditions.
        """
        plane = self.shape[1] * self.shape[2]
        stride = plane + math.prod(self.shape)
        buffer = float_buffer(self._jpype, rows * stride)
        floats = self._jpype.JArray(self._jpype.JFloat)
        template = np.zeros((1 + self.shape[0], plane), np.float32)
        exists = self.shape[0] - (0 if self._dice is None else len(self._dice.channels))
        for area in self._layout.areas:
            template[exists, self._places(area)] = 1
        put_all = p.bound(p.method(t.float_buffer, "put", t.float_buffer, t.int, t.floats), buffer)
        clear = p.typed(p.bound(put_all, floats(template.reshape(-1)), at=1), t.void, t.int)
        fill = p.typed(p.bound(put_all, floats(np.ones(plane, np.float32)), at=1), t.void, t.int)

        after_sites = 1 + self._kinds + len(self._amounts) + (_STATES if self._has_local_states else 0)
        after_pieces = after_sites + self._kinds * len(self._others)
        mover = p.piped(p.plus(after_pieces * plane), 0, p.piped(p.times(plane), 0, mover_of(p, t)))
        state = p.method(t.context, "state", t.state)
        swapped = p.piped(p.as_int(), 0, p.piped(p.method(t.state, "orderHasChanged", t.boolean), 0, state))
        swapped = p.piped(p.times((after_pieces + self._movers) * plane), 0, swapped)
        marks = [p.fed(fill, 0, p.piped(p.sum, 1, offset)) for offset in (mover, swapped)]
        put = p.bound(p.method(t.float_buffer, "put", t.float_buffer, t.int, t.float), buffer)
        put = p.typed(put, t.void, t.int, t.float)
        sites = [self._area(p, t, area, put, plane) for area in self._own]
        sites += [
            self._other(p, t, area, put, plane, after_sites + i * self._kinds) for i, area in enumerate(self._others)
        ]
        whole = functools.reduce(p.then, [p.ordered(clear, [t.int, t.context], [0]), *sites, *marks])
        write = p.piped(whole, 0, p.times(stride))
        if self._dice is not None:
            write = p.then(self._shown(p, t, self._dice, rows), write)
        return write, np.asarray(buffer).reshape(rows, stride)[:, plane:]

    def _shown(self, p: Programs, t: Types, dice: Dice, rows: int) -> Any:
        """(int row, Context)void: writes the face of each die into `shown`."""
        buffer = int_buffer(self._jpype, rows * len(dice))
        self.shown = np.asarray(buffer).reshape(rows, len(dice))
        put = p.typed(p.bound(p.method(t.int_buffer, "put", t.int_buffer, t.int, t.int), buffer), t.void, t.int, t.int)
        return functools.reduce(
            p.then,
            [
                p.piped(put, 0, p.fed(p.plus(die), 0, p.times(len(dice))), face)
                for die, face in enumerate(dice.readers(p, t))
            ],
        )

    def _area(self, p: Programs, t: Types, area: Area, put: Any, plane: int) -> Any:
        """(int start, Context)void: writes the content of an area's sites into the row that begins at `start`."""
        fields = [self._mark(p, t, area, put, p.fed(p.times(plane), 0, self._kind(p, t, area)))]
        channel = 1 + self._kinds
        for field in self._amounts:
            amount = p.typed(self._field(p, t, field, area), t.float, t.container, t.int)
            fields.append(self._amount(p, t, area, put, amount, channel * plane))
            channel += 1
        if self._has_local_states:
            state = self._field(p, t, "state", area)
            for step in (p.at_least(0), p.at_most(_STATES - 1), p.times(plane), p.plus(channel * plane)):
                state = p.fed(step, 0, state)
            fields.append(self._mark(p, t, area, put, state))
        return for_sites(p, t, functools.reduce(p.then, fields), area)

    def _other(self, p: Programs, t: Types, area: Area, put: Any, plane: int, channel: int) -> Any:
        """Like `_area`, for sites of another type, whose pieces are in the planes from `channel` on."""
        what = self._kind(p, t, area)
        before = p.fed(p.times((channel - 1) * plane), 0, p.fed(p.at_most(1), 0, what))  # 0 for an empty site
        offset = p.fed(p.fed(p.sum, 1, before), 0, p.fed(p.times(plane), 0, what))
        offset = p.ordered(offset, [t.container, t.int], [0, 1, 0, 1])
        return for_sites(p, t, self._mark(p, t, area, put, offset), area)

    def _kind(self, p: Programs, t: Types, area: Area) -> Any:
        """(ContainerState, int i)int: number of the plane of the piece, from 1 on; 0 for an empty site."""
        what = self._field(p, t, "what", area)
        if self._dice is None:
            return what
        return p.fed(p.bound(p.element(t.ints), self._jpype.JArray(self._jpype.JInt)(self._plane_of)), 0, what)

    def _field(self, p: Programs, t: Types, field: str, area: Area) -> Any:
        """(ContainerState, int i)int"""
        return field_of(p, t, self._jpype, self._game, field, area)

    def _mark(self, p: Programs, t: Types, area: Area, put: Any, offset: Any) -> Any:
        """(int i, int start, ContainerState)void: writes 1 at the i-th site's place in the plane that begins at
        `offset`, (ContainerState, int i)int."""
        mark = p.fed(p.bound(put, 1.0, at=1), 0, p.sum)
        mark = p.fed(p.piped(mark, 0, self._place(p, t, area)), 1, p.fed(p.sum, 1, offset))
        return p.ordered(mark, [t.int, t.int, t.container], [0, 1, 2, 0])

    def _amount(self, p: Programs, t: Types, area: Area, put: Any, amount: Any, offset: int) -> Any:
        """(int i, int start, ContainerState)void: writes `amount`, (ContainerState, int i)float, at the i-th site's
        place in the plane that begins at `offset`."""
        note = p.fed(p.fed(put, 1, amount), 0, p.piped(p.sum, 0, self._place(p, t, area), p.plus(offset)))
        return p.ordered(note, [t.int, t.int, t.container], [0, 1, 2, 0])

    def _place(self, p: Programs, t: Types, area: Area) -> Any:
        """(int i)int: index in a plane of the i-th site of an area."""
        return p.bound(p.element(t.ints), self._jpype.JArray(self._jpype.JInt)(self._places(area)))

    def _places(self, area: Area) -> list[int]:
        """Returns the index in a plane of each site of an area."""
        places = [self._layout.places[area.first + i] for i in range(len(area.numbers))]
        return [column * self._layout.height + row for column, row in places]


def suits_ludiis_tensor(game: Any, layout: Layout) -> bool:
    """Returns whether Ludii's tensor shows each site in a distinct place, and doesn't fail.

    It shows dice before the roll, counts the board's cells if pieces stand on vertices or edges, and writes all hands
    but the last into a corner of the board if hands are columns.
    """
    board = game.board()
    on_cells = str(board.defaultSite()) == "Cell"
    hands = sum(area.container > 0 for area in layout.areas)
    kinds = {area.kind for area in layout.areas if area.container == 0}
    several = len(kinds) > 1 or sum(map(bool, (game.isCellGame(), game.isVertexGame(), game.isEdgeGame()))) > 1
    if game.hasHandDice():
        return False
    counted = on_cells or (
        hands == 0 and not game.isStacking() and not game.requiresCount() and not game.requiresLocalState()
    )
    same = int(board.numSites()) == len(layout.centres)
    return counted and same and hands <= 1 and not several and layout.flat
