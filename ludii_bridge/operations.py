"""What Java does for a state in one crossing: apply a move, order the moves, make all children with their tensors.

Built once for each game from Ludii's public methods (see `programs`). All children of a state are made by one call:
Java copies the state, applies each legal move, and writes movers, endings and tensors into memory that numpy reads
without copying. One thread at a time: the buffers are shared.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludii_bridge.programs import Programs

_BUFFER = 2**22
"""Bytes of tensors made in one crossing, at most; at least one state's."""
_MOST_ROWS = 1024


@dataclass(frozen=True)
class Children:
    """Positions after consecutive legal moves.

    Attributes:
        contexts: Ludii's states, a Java array of length n.
        movers: int32 [n], the player to move from 0.
        overs: int32 [n], 1 where the match is over.
        tensors: float32 [n, size], or None where none were asked for.
    """

    contexts: Any
    movers: NDArray[np.int32]
    overs: NDArray[np.int32]
    tensors: NDArray[np.float32] | None


class Operations:
    """The programs of one game.

    Args:
        jpype: the module, with Java started.
        game: Ludii's compiled game.
        wrapper: the `LudiiGameWrapper` of it, for tensors; None where there are to be none.
        size: numbers in a tensor.
    """

    def __init__(self, jpype: Any, game: Any, wrapper: Any, size: int) -> None:
        self._lock = threading.Lock()
        self._types = _Types(jpype)
        self._programs = Programs(jpype)
        self._size = size
        self.rows = min(max(_BUFFER // (4 * size), 1), _MOST_ROWS)
        """Children that one crossing can make."""
        t, p = self._types, self._programs
        self._objects = jpype.JArray(jpype.JObject)
        self._frame = self._objects(3)  # the parent, its moves, and where the children go
        self._range = jpype.JClass("java.util.stream.IntStream").range
        self._copy = jpype.JClass("java.util.Arrays").copyOfRange

        tensor_buffer = _direct(jpype, "asFloatBuffer", 4 * size * self.rows)
        mover_buffer = _direct(jpype, "asIntBuffer", 4 * self.rows)
        over_buffer = _direct(jpype, "asIntBuffer", 4 * self.rows)
        self._tensors = np.asarray(tensor_buffer).reshape(self.rows, size)
        self._movers = np.asarray(mover_buffer)
        self._overs = np.asarray(over_buffer)

        advance = _advance(p, t, game)
        child = p.piped(advance, 0, p.constructor(t.context, t.context))
        plain = _make_child(p, t, child, self._frame, mover_buffer, over_buffer)

        self.advance = p.face(t.bi_function, advance).apply
        """(context, move) -> context: apply the move to the context itself."""
        self.child = p.face(t.bi_function, child).apply
        """(context, move) -> context: apply the move to a copy."""
        self.facts = p.face(t.to_int, _facts(p, t)).applyAsInt
        """context -> 2 * player to move, and 1 more where the match is over."""
        self.ordered_moves = p.face(t.function, _ordered_moves(p, t, jpype, game)).apply
        """context -> array of the legal moves, in an order that depends on the moves alone."""
        self._plain = p.face(t.int_consumer, plain)
        if wrapper is not None:
            put_tensor = _put_tensor(p, t, wrapper, tensor_buffer, size)
            put_made = p.piped(put_tensor, 1, _of_frame(p, t, self._frame, 2, t.context))
            self._observe = p.face(t.consumer, p.bound(put_tensor, 0)).accept
            self._seen = p.face(t.int_consumer, p.then(plain, p.ordered(put_made, [t.int], [0, 0])))

    def observe(self, context: Any, out: NDArray[np.float32]) -> None:
        """Write the tensor of a state into `out`, float32 [size]."""
        with self._lock:
            self._observe(context)
            out[:] = self._tensors[0]

    def children(self, context: Any, moves: Any, first: int, *, tensors: bool) -> Children:
        """The states after `moves`, a Java array, from number `first` on, at most `rows` of them, in one crossing."""
        count = min(len(moves) - first, self.rows)
        frame = self._frame
        self._programs.keep_reserve()
        if count < len(moves):  # a slice of jpype's reaches Java as the whole array
            moves = self._copy(moves, first, first + count)
        with self._lock:
            made = self._objects(count)
            frame[0], frame[1], frame[2] = context, moves, made
            try:
                self._range(0, count).forEach(self._seen if tensors else self._plain)
            finally:
                frame[0] = frame[1] = frame[2] = None
            return Children(
                made,
                self._movers[:count].copy(),
                self._overs[:count].copy(),
                self._tensors[:count].copy() if tensors else None,
            )


class _Types:
    """Java's classes that the programs speak of."""

    def __init__(self, jpype: Any) -> None:
        def named(name: str) -> Any:
            return jpype.JClass(name).class_

        self.int = jpype.JClass("java.lang.Integer").TYPE
        self.boolean = jpype.JClass("java.lang.Boolean").TYPE
        self.void = jpype.JClass("java.lang.Void").TYPE
        self.floats = jpype.JArray(jpype.JFloat).class_
        self.objects = jpype.JArray(jpype.JObject).class_
        self.object = named("java.lang.Object")
        self.string = named("java.lang.String")
        self.math = named("java.lang.Math")
        self.boxed_boolean = named("java.lang.Boolean")
        self.list = named("java.util.List")
        self.arrays = named("java.util.Arrays")
        self.comparator = named("java.util.Comparator")
        self.function = named("java.util.function.Function")
        self.bi_function = named("java.util.function.BiFunction")
        self.consumer = named("java.util.function.Consumer")
        self.to_int = named("java.util.function.ToIntFunction")
        self.int_consumer = named("java.util.function.IntConsumer")
        self.float_buffer = named("java.nio.FloatBuffer")
        self.int_buffer = named("java.nio.IntBuffer")
        self.game = named("game.Game")
        self.context = named("other.context.Context")
        self.trial = named("other.trial.Trial")
        self.state = named("other.state.State")
        self.move = named("other.move.Move")
        self.moves = named("game.rules.play.moves.Moves")
        self.move_list = named("main.collections.FastArrayList")
        self.state_wrapper = named("utils.LudiiStateWrapper")
        self.game_wrapper = named("utils.LudiiGameWrapper")


def _direct(jpype: Any, view: str, size: int) -> Any:
    """A buffer of `size` bytes that Java and numpy share."""
    order = jpype.JClass("java.nio.ByteOrder").nativeOrder()
    return getattr(jpype.JClass("java.nio.ByteBuffer").allocateDirect(size).order(order), view)()


def _of_frame(p: Programs, t: _Types, frame: Any, index: int, kind: Any) -> Any:
    """(int i)kind: the i-th element of the array that is at `index` of the frame when it is called."""
    array = p.typed(p.bound(p.bound(p.element(t.objects), frame), index), t.objects)
    return p.given(array, p.typed(p.element(t.objects), kind, t.objects, t.int))


def _put_tensor(p: Programs, t: _Types, wrapper: Any, buffer: Any, size: int) -> Any:
    """(int row, Context): write the tensor into that row of the buffer."""
    wrap = p.bound(p.constructor(t.state_wrapper, t.game_wrapper, t.context), wrapper)
    tensor = p.piped(p.method(t.state_wrapper, "toTensorFlat", t.floats), 0, wrap)
    put = p.bound(p.method(t.float_buffer, "put", t.float_buffer, t.int, t.floats), buffer)
    start = p.bound(p.static(t.math, "multiplyExact", t.int, t.int, t.int), size)
    return p.piped(put, 0, start, tensor)


def _advance(p: Programs, t: _Types, game: Any) -> Any:
    """(Context, Move)Context: apply the move, forget what only undoing needs, give the context."""
    apply = p.bound(p.method(t.game, "apply", t.move, t.context, t.move), game)
    trial = p.method(t.context, "trial", t.trial)
    forget = []
    for what in ("endData", "RNGStates"):
        clear = p.piped(p.method(t.list, "clear", t.void), 0, p.piped(p.method(t.trial, what, t.list), 0, trial))
        forget.append(p.ordered(clear, [t.context, t.move], [0]))
    result = p.ordered(p.identity(t.context), [t.context, t.move], [0])
    return p.then(apply, p.then(forget[0], p.then(forget[1], result)))


def _facts(p: Programs, t: _Types) -> Any:
    """(Context)int: 2 * player + over."""
    twice = p.bound(p.static(t.math, "multiplyExact", t.int, t.int, t.int), 2)
    add = p.static(t.math, "addExact", t.int, t.int, t.int)
    both = p.piped(add, 0, p.piped(twice, 0, _mover(p, t)), _over(p, t))
    return p.ordered(both, [t.context], [0, 0])


def _mover(p: Programs, t: _Types) -> Any:
    """(Context)int: the player to move from 0; players keep their number when they swap sides."""
    agent = p.ordered(p.method(t.state, "playerToAgent", t.int, t.int), [t.int, t.state], [1, 0])
    of_state = p.given(p.method(t.state, "mover", t.int), agent)
    from_zero = p.bound(p.static(t.math, "addExact", t.int, t.int, t.int), -1)
    return p.piped(from_zero, 0, p.piped(of_state, 0, p.method(t.context, "state", t.state)))


def _over(p: Programs, t: _Types) -> Any:
    """(Context)int: 1 where the match is over."""
    as_int = p.bound(p.static(t.boxed_boolean, "compare", t.int, t.boolean, t.boolean), False, at=1)
    return p.piped(as_int, 0, p.piped(p.method(t.trial, "over", t.boolean), 0, p.method(t.context, "trial", t.trial)))


def _ordered_moves(p: Programs, t: _Types, jpype: Any, game: Any) -> Any:
    """(Context)Object[]: the legal moves in order of from, to, and then of all they do, in words."""
    moves = p.piped(
        p.method(t.moves, "moves", t.move_list), 0, p.bound(p.method(t.game, "moves", t.moves, t.context), game)
    )
    array = p.piped(p.method(t.move_list, "toArray", t.objects), 0, moves)
    sort = p.bound(p.static(t.arrays, "sort", t.void, t.objects, t.comparator), _order(p, t, jpype), at=1)
    return p.piped(p.then(sort, p.identity(t.objects)), 0, array)


def _order(p: Programs, t: _Types, jpype: Any) -> Any:
    """Java's comparator of moves."""
    start = p.face(t.to_int, p.method(t.move, "from", t.int))
    end = p.face(t.to_int, p.method(t.move, "to", t.int))
    words = p.face(t.function, p.bound(p.method(t.move, "toTrialFormat", t.string, t.context), None, at=1))
    return jpype.JClass("java.util.Comparator").comparingInt(start).thenComparingInt(end).thenComparing(words)


def _make_child(p: Programs, t: _Types, child: Any, frame: Any, movers: Any, overs: Any) -> Any:
    """(int i)void: make the child after the i-th move in the frame, and note it, its mover and whether it is over."""
    parent = p.typed(p.bound(p.bound(p.element(t.objects), frame), 0), t.context)
    made = p.given(parent, p.piped(child, 1, _of_frame(p, t, frame, 1, t.move)))
    children = p.typed(p.bound(p.bound(p.element(t.objects), frame), 2), t.objects)
    keep = p.given(children, p.typed(p.set_element(t.objects), t.void, t.objects, t.int, t.context))
    put = p.method(t.int_buffer, "put", t.int_buffer, t.int, t.int)
    note_mover = p.piped(p.bound(put, movers), 1, _mover(p, t))
    note_over = p.typed(p.piped(p.bound(put, overs), 1, _over(p, t)), t.void, t.int, t.context)
    note = p.then(keep, p.then(note_mover, note_over))
    return p.ordered(p.piped(note, 1, made), [t.int], [0, 0])
