"""Operations in one call into Java: apply a move, order the moves, create all children of a state, write tensors.

They are composed once per game from Ludii's public methods (see `programs`). One call creates all children of a state:
Java copies the state, applies each legal move, and writes movers and ends into memory shared with numpy. Another call
writes tensors. The buffers are shared, so one thread at a time uses them.
"""

from __future__ import annotations

import functools
import math
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ludii_bridge.errors import LudiiError
from ludii_bridge.programs import Programs, Types, int_buffer, mover_of

if TYPE_CHECKING:
    from ludii_bridge.tensors import Tensor

_MAX_TENSOR_BYTES = 2**22
"""Maximum size of the tensors written in one call, but at least one state's."""
_MAX_ROWS = 1024
"""Maximum number of tensors written in one call."""
_MAX_CHILDREN = 2**20
"""Maximum number of children of a state, many times that of any game."""
_THREADING_SECONDS = 1e-3
"""Minimum sequential duration of the children of a state for using several Java threads."""
_SMOOTHING = 0.02
"""Weight of the last measurement in the mean duration of a child."""


class Operations:
    """The programs of one game.

    Args:
        jpype: the module, with Java started.
        game: Ludii's compiled game.
        tensor: writes its observations.
        whole_moves: the game has meta-rules that change a move, or votes.
    """

    def __init__(self, jpype: Any, game: Any, tensor: Tensor, *, whole_moves: bool) -> None:
        self._lock = threading.Lock()
        self._programs = p = Programs(jpype)
        t = Types(jpype)
        self._ints = jpype.JArray(jpype.JInt)
        self._all = functools.lru_cache(maxsize=1024)(self._ints)
        self.rows = min(max(_MAX_TENSOR_BYTES // (4 * math.prod(tensor.shape)), 1), _MAX_ROWS)
        facts_buffer = int_buffer(jpype, _MAX_CHILDREN)
        self._facts = np.asarray(facts_buffer)
        write, self._tensors = tensor.program(p, t, self.rows)

        advance = advance_program(p, t, game, whole=whole_moves)
        child = p.piped(advance, 0, p.constructor(t.context, t.context))
        facts = facts_program(p, t)

        self.advance = p.face(t.bi_function, advance).apply
        """(context, move) -> context: applies the move to the context itself."""
        self.child = p.face(t.bi_function, child).apply
        """(context, move) -> context: applies the move to a copy."""
        self.facts = p.face(t.to_int, facts).applyAsInt
        """context -> 2 * player to move + 1 if the game is over."""
        self.copy = p.face(t.function, p.constructor(t.context, t.context)).apply
        """context -> context: a copy."""
        self._ordered_moves = p.face(t.function, _ordered_moves(p, t, jpype, game, whole=not whole_moves)).apply
        self._in_turn, self._together = (
            p.face(t.bi_function, _children(p, t, child, facts, facts_buffer, parallel=parallel)).apply
            for parallel in (False, True)
        )
        self._seconds = 0.0  # mean duration of a child on one thread
        self._threads = int(jpype.JClass("java.lang.Runtime").getRuntime().availableProcessors())
        self._observe = p.face(t.bi_consumer, _observe(p, t, write)).accept
        self._observe_one = p.face(t.consumer, p.bound(write, 0)).accept

    def look(self, context: Any) -> tuple[Any, Any]:
        """Returns a copy of a context with its legal moves, and an array of them in a canonical order.

        Ludii changes a context while it computes legal moves, and a move starts from the changed context: apply moves
        to the copy.
        """
        looked = self.copy(context)
        with self._lock:
            return looked, self._ordered_moves(looked)

    def children(self, context: Any, moves: Any) -> tuple[Any, list[int]]:
        """Returns an array of the states after `moves`, a Java array, and the facts of each.

        Raises:
            LudiiError: there are too many moves.
        """
        self._programs.keep_reserve()
        count = len(moves)
        if count > len(self._facts):
            raise LudiiError(f"{count} children at once are too many, at most {len(self._facts)} are possible")
        together = count * self._seconds > _THREADING_SECONDS
        make = self._together if together else self._in_turn
        with self._lock:
            start = time.perf_counter()
            contexts = make(context, moves)
            took = time.perf_counter() - start
            if count:  # Java gets faster over time, so several threads may stop paying off
                self._seconds += _SMOOTHING * (took * (self._threads if together else 1) / count - self._seconds)
            return contexts, self._facts[:count].tolist()

    def observe_one(self, context: Any, out: NDArray[np.float32]) -> None:
        """Writes the tensor of a state into `out`, float32 [size]."""
        self._programs.keep_reserve()
        with self._lock:
            self._observe_one(context)
            out[:] = self._tensors[0]

    def observe(self, contexts: Any, numbers: Sequence[int], out: NDArray[np.float32]) -> None:
        """Writes the tensors of these elements of a Java array of states into `out`, float32 [n, size]."""
        self._programs.keep_reserve()
        for first in range(0, len(numbers), self.rows):
            some = numbers[first : first + self.rows]
            with self._lock:
                self._observe(contexts, self._all(some) if isinstance(some, range) else self._ints(some))
                out[first : first + len(some)] = self._tensors[: len(some)]


def advance_program(p: Programs, t: Types, game: Any, *, whole: bool) -> Any:
    """(Context, Move)Context: applies the move, drops the data for undoing, and returns the context.

    `Game.apply` copies much of the state for undoing, applies two meta-rules and resets votes. A game without such
    meta-rules and votes needs only `applyInternal`, which `Game.apply` calls.
    """
    apply = p.method(t.game, "apply", t.move, t.context, t.move)
    if not whole:
        apply = p.bound(p.method(t.game, "applyInternal", t.move, t.context, t.move, t.boolean), False, at=3)
    apply = p.bound(apply, game)
    trial = p.method(t.context, "trial", t.trial)
    forget = []
    for what in ("endData", "RNGStates"):
        clear = p.piped(p.method(t.list, "clear", t.void), 0, p.piped(p.method(t.trial, what, t.list), 0, trial))
        forget.append(p.ordered(clear, [t.context, t.move], [0]))
    result = p.ordered(p.identity(t.context), [t.context, t.move], [0])
    return p.then(apply, p.then(forget[0], p.then(forget[1], result)))


def facts_program(p: Programs, t: Types) -> Any:
    """(Context)int: 2 * player + over."""
    over = p.piped(
        p.as_int(), 0, p.piped(p.method(t.trial, "over", t.boolean), 0, p.method(t.context, "trial", t.trial))
    )
    both = p.piped(p.sum, 0, p.piped(p.times(2), 0, mover_of(p, t)), over)
    return p.ordered(both, [t.context], [0, 0])


def _ordered_moves(p: Programs, t: Types, jpype: Any, game: Any, *, whole: bool) -> Any:
    """(Context)Object[]: the legal moves, sorted by origin, destination, text and, if `whole`, the text of their
    consequences."""
    moves = p.piped(
        p.method(t.moves, "moves", t.move_list), 0, p.bound(p.method(t.game, "moves", t.moves, t.context), game)
    )
    array = p.piped(p.method(t.move_list, "toArray", t.objects), 0, moves)
    order, begin = _order(p, t, jpype), None
    if whole:
        effect, begin = _consequences(p, t, jpype)
        order = order.thenComparing(p.face(t.function, effect))
    sort = p.bound(p.static(t.arrays, "sort", t.void, t.objects, t.comparator), order, at=1)
    found = p.piped(p.then(sort, p.identity(t.objects)), 0, array)
    return found if begin is None else p.then(begin, found)


def _order(p: Programs, t: Types, jpype: Any) -> Any:
    """Java's comparator of moves."""
    start = p.face(t.to_int, p.method(t.move, "from", t.int))
    end = p.face(t.to_int, p.method(t.move, "to", t.int))
    words = p.face(t.function, p.bound(p.method(t.move, "toTrialFormat", t.string, t.context), None, at=1))
    return jpype.JClass("java.util.Comparator").comparingInt(start).thenComparingInt(end).thenComparing(words)


def _consequences(p: Programs, t: Types, jpype: Any) -> tuple[Any, Any]:
    """Returns (Object move)Object, the text of a legal move with its consequences, computed once per move; and
    (Context)void, which sets the context of the moves first."""
    context, known = p.register(t.context), p.register(t.map)
    words = p.ordered(p.method(t.move, "toTrialFormat", t.string, t.context), [t.context, t.move], [1, 0])
    make = p.face(t.function, p.given(context.get, words))
    ask = p.bound(p.method(t.map, "computeIfAbsent", t.object, t.object, t.function), make, at=2)
    empty = p.typed(p.constructor(jpype.JClass("java.util.IdentityHashMap").class_), t.map)
    forget = p.given(empty, known.set)
    return p.given(known.get, ask), p.then(context.set, p.ordered(forget, [t.context], []))


def _children(p: Programs, t: Types, child: Any, facts: Any, buffer: Any, *, parallel: bool) -> Any:
    """(Context, Object[] moves)Object[]: the state after each move; writes the facts of each into the buffer."""
    parent, moves, made = (p.register(kind) for kind in (t.context, t.objects, t.objects))
    move = p.typed(p.given(moves.get, p.element(t.objects)), t.move, t.int)
    of_parent = p.given(parent.get, p.fed(child, 1, move))  # (i)child
    keep = p.given(made.get, p.typed(p.set_element(t.objects), t.void, t.objects, t.int, t.context))
    put = p.bound(p.method(t.int_buffer, "put", t.int_buffer, t.int, t.int), buffer)
    note = p.typed(p.piped(put, 1, facts), t.void, t.int, t.context)
    each = p.ordered(p.fed(p.then(keep, note), 1, of_parent), [t.int], [0, 0])
    taking = [t.objects, t.context, t.objects]
    steps = [
        p.ordered(made.set, taking, [0]),
        p.ordered(parent.set, taking, [1]),
        p.ordered(moves.set, taking, [2]),
        p.ordered(p.piped(p.for_each(each, parallel=parallel), 0, p.length(t.objects)), taking, [2]),
        p.ordered(p.identity(t.objects), taking, [0]),
    ]
    as_many = p.ordered(p.piped(p.new_array(t.objects), 0, p.length(t.objects)), [t.context, t.objects], [1])
    return p.given(as_many, functools.reduce(lambda last, step: p.then(step, last), steps[::-1]))


def _observe(p: Programs, t: Types, write: Any) -> Any:
    """(Object[] contexts, int[] numbers)void: writes these elements by `write`, (int i, Context)void."""
    contexts, numbers = p.register(t.objects), p.register(t.ints)
    number = p.given(numbers.get, p.element(t.ints))
    context = p.piped(p.given(contexts.get, p.typed(p.element(t.objects), t.context, t.objects, t.int)), 0, number)
    each = p.ordered(p.piped(write, 1, context), [t.int], [0, 0])
    count = p.ordered(p.length(t.ints), [t.objects, t.ints], [1])
    steps = [p.ordered(contexts.set, [t.objects, t.ints], [0]), p.ordered(numbers.set, [t.objects, t.ints], [1])]
    return p.then(p.then(*steps), p.fed(p.for_each(each), 0, count))
