"""Which sites the moves of a state name, read in one call into Java. Only pictures ask for it."""

from __future__ import annotations

import functools
import threading
from typing import Any

import numpy as np

from ludii_bridge.outlines import Outlines
from ludii_bridge.programs import Programs, Types
from ludii_bridge.sites import site_type

_KINDS = ("Vertex", "Edge", "Cell")
_FIELDS = 6


class MoveSites:
    """Reads from where and to where moves go.

    Args:
        jpype: the module, with Java started.
        game: Ludii's compiled game.
        outlines: numbers its sites.
    """

    def __init__(self, jpype: Any, game: Any, outlines: Outlines) -> None:
        self._ints = jpype.JArray(jpype.JInt)
        self._outlines = outlines
        self._reading = threading.Lock()
        self._kinds = {int(site_type(game, kind).ordinal()): kind for kind in _KINDS}
        p, t = Programs(jpype), Types(jpype)
        self._read = p.face(t.bi_consumer, _read(p, t, jpype, game)).accept

    def of(self, moves: Any) -> list[tuple[int, ...]]:
        """For each move of a Java array its sites, from where and to where; none for a pass or a swap."""
        found = self._ints(_FIELDS * len(moves))
        with self._reading:
            self._read(found, moves)
        rows: list[list[int]] = np.array(found, np.int32).reshape(-1, _FIELDS).tolist()
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


def _read(p: Programs, t: Types, jpype: Any, game: Any) -> Any:
    """(int[] found, Object[] moves)void: of each move from, to, the kinds of both, whether it passes, and swaps."""
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
        index = p.piped(p.plus(number), 0, p.times(_FIELDS))
        steps.append(p.ordered(p.piped(put, 0, index, p.piped(field, 0, move)), [t.int], [0, 0]))
    each = functools.reduce(p.then, steps)
    taking = [t.ints, t.objects]
    begin = p.then(p.ordered(found.set, taking, [0]), p.ordered(moves.set, taking, [1]))
    return p.then(begin, p.ordered(p.piped(p.for_each(each), 0, p.length(t.objects)), taking, [1]))


def _kind(p: Programs, t: Types, jpype: Any, game: Any, name: str) -> Any:
    """(Move)int: the ordinal of a kind of site, the board's main one where the move says none."""
    objects = jpype.JClass("java.util.Objects").class_
    either = p.static(objects, "requireNonNullElse", t.object, t.object, t.object)
    known = p.bound(p.typed(either, t.site_type, t.site_type, t.site_type), game.board().defaultSite(), at=1)
    ordinal = p.typed(p.method(t.site_type, "ordinal", t.int), t.int, t.site_type)
    return p.piped(ordinal, 0, p.piped(known, 0, p.method(t.move, name, t.site_type)))
