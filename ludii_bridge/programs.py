"""Small programs inside Java, composed of method handles, without Java source.

A call from Python into Java costs about a microsecond, and a child of a state needs about ten. Java can compose methods
at run time (`java.lang.invoke`) into an object with one of its interfaces, which is then one call.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from ludii_bridge import jvm

_RESERVE = 2**20
"""Bytes of Java memory in reserve: jpype needs some to report that memory has run out."""


@functools.cache
def _reserve(jpype: Any) -> Any:
    """Returns the Java array of the reserve memory, one per process."""
    return jpype.JArray(jpype.JObject)(1)


class Register(NamedTuple):
    """Storage for one value.

    Attributes:
        get: ()value.
        set: (value)void.
    """

    get: Any
    set: Any


class Programs:
    """Composes methods of Java classes.

    Docstrings give the type of a handle: `(A, B)C` takes an A and a B and returns a C.
    """

    def __init__(self, jpype: Any) -> None:
        self._jpype = jpype
        self._handles = jpype.JClass("java.lang.invoke.MethodHandles")
        self._type = jpype.JClass("java.lang.invoke.MethodType")
        self._faces = jpype.JClass("java.lang.invoke.MethodHandleProxies")
        self._void = jpype.JClass("java.lang.Void").TYPE
        self._int = jpype.JClass("java.lang.Integer").TYPE
        self._lookup = self._handles.publicLookup()
        self._math = jpype.JClass("java.lang.Math").class_
        self.sum = self._of_ints("addExact")
        """(int, int)int: their sum."""
        self._error = jpype.JClass("java.lang.OutOfMemoryError").class_
        self._reserve = _reserve(jpype)
        self.keep_reserve()

    def keep_reserve(self) -> None:
        """Allocates the reserve memory, at first and after it was freed."""
        if not jvm.has_reserve:
            self._reserve[0] = self._jpype.JArray(self._jpype.JByte)(_RESERVE)
            jvm.has_reserve = True

    def method(self, owner: Any, name: str, result: Any, *parameters: Any) -> Any:
        """`owner.name`, an instance's method: (owner, *parameters)result."""
        return self._lookup.findVirtual(owner, name, self._signature(result, parameters))

    def static(self, owner: Any, name: str, result: Any, *parameters: Any) -> Any:
        """`owner.name`, a static method: (*parameters)result."""
        return self._lookup.findStatic(owner, name, self._signature(result, parameters))

    def constructor(self, owner: Any, *parameters: Any) -> Any:
        """`new owner`: (*parameters)owner."""
        return self._lookup.findConstructor(owner, self._signature(self._void, parameters))

    def element(self, array_class: Any) -> Any:
        """(array, int)element: reading an array."""
        return self._handles.arrayElementGetter(array_class)

    def set_element(self, array_class: Any) -> Any:
        """(array, int, element)void: writing an array."""
        return self._handles.arrayElementSetter(array_class)

    def identity(self, kind: Any) -> Any:
        """(kind)kind: the argument."""
        return self._handles.identity(kind)

    def plus(self, number: int) -> Any:
        """(int)int: plus `number`."""
        return self.bound(self.sum, number)

    def times(self, number: int) -> Any:
        """(int)int: times `number`."""
        return self.bound(self._of_ints("multiplyExact"), number)

    @property
    def product(self) -> Any:
        """(int, int)int: their product."""
        return self._of_ints("multiplyExact")

    def at_most(self, number: int) -> Any:
        """(int)int: the smaller of the two."""
        return self.bound(self._of_ints("min"), number)

    def at_least(self, number: int) -> Any:
        """(int)int: the larger of the two."""
        return self.bound(self._of_ints("max"), number)

    def as_int(self) -> Any:
        """(boolean)int: 1 for true."""
        boxed, boolean = self._jpype.JClass("java.lang.Boolean"), self._jpype.JClass("java.lang.Boolean").TYPE
        return self.bound(self.static(boxed.class_, "compare", self._int, boolean, boolean), False, at=1)

    def _of_ints(self, name: str) -> Any:
        return self.static(self._math, name, self._int, self._int, self._int)

    def bound(self, handle: Any, value: Any, at: int = 0) -> Any:
        """`handle` with parameter `at` bound; Python numbers and bools become Java's int, float and boolean."""
        if isinstance(value, bool):
            value = self._jpype.java.lang.Boolean.valueOf(value)
        elif isinstance(value, int):
            value = self._jpype.java.lang.Integer.valueOf(value)
        elif isinstance(value, float):
            value = self._jpype.java.lang.Float.valueOf(value)
        return self._handles.insertArguments(handle, at, [value])

    def typed(self, handle: Any, result: Any, *parameters: Any) -> Any:
        """`handle` with these types, by casts."""
        return handle.asType(self._signature(result, parameters))

    def piped(self, outer: Any, at: int, *inner: Any) -> Any:
        """`outer` with its parameters from `at` on computed by the `inner` handles of one parameter each."""
        return self._handles.filterArguments(outer, at, list(inner))

    def fed(self, outer: Any, at: int, inner: Any) -> Any:
        """`outer` with parameter `at` computed by `inner`, whose parameters replace it."""
        return self._handles.collectArguments(outer, at, inner)

    def for_each(self, body: Any, *, parallel: bool = False) -> Any:
        """(int n)void: `body`, (int i)void, for each i below n, in order or on several threads.

        Java compiles a stream's loop over an interface well, and loops of method handles badly.
        """
        stream = self._jpype.JClass("java.util.stream.IntStream").class_
        consumer = self._jpype.JClass("java.util.function.IntConsumer").class_
        loop = self.bound(self.method(stream, "forEach", self._void, consumer), self.face(consumer, body), at=1)
        numbers = self.bound(self.static(stream, "range", stream, self._int, self._int), 0)
        if parallel:
            numbers = self.piped(self.method(stream, "parallel", stream), 0, numbers)
        return self.piped(loop, 0, numbers)

    def register(self, kind: Any) -> Register:
        """Storage for one value of that class, for programs that can't pass it on; for one thread at a time."""
        array = self._jpype.JClass("java.lang.reflect.Array").newInstance(kind, 1)
        get = self.bound(self.bound(self.element(array.getClass()), array), 0)
        return Register(get, self.bound(self.bound(self.set_element(array.getClass()), array), 0))

    def caught(self, handle: Any, error: Any, handler: Any) -> Any:
        """`handle`, or if it throws an `error`, `handler`, (error, *args)result."""
        return self._handles.catchException(handle, error, handler)

    def finished(self, handle: Any, cleanup: Any) -> Any:
        """`handle`, (*args)void, and then `cleanup`, (Throwable, *args)void, also after an exception."""
        return self._handles.tryFinally(handle, cleanup)

    def length(self, array_class: Any) -> Any:
        """(array)int: length of an array."""
        return self._handles.arrayLength(array_class)

    def new_array(self, array_class: Any) -> Any:
        """(int)array: new array of that length."""
        return self._handles.arrayConstructor(array_class)

    def then(self, first: Any, second: Any) -> Any:
        """Calls `first`, discards its result, then calls `second` with the same arguments."""
        return self._handles.foldArguments(second, first.asType(first.type().changeReturnType(self._void)))

    def given(self, first: Any, second: Any) -> Any:
        """Calls `first`, then `second` with its result x before the same arguments: (x, *args)."""
        return self._handles.foldArguments(second, first)

    def ordered(self, handle: Any, parameters: list[Any], order: list[int]) -> Any:
        """`handle` with `parameters`, of which it receives those numbered in `order`."""
        kind = self._type.methodType(handle.type().returnType(), self._classes(parameters))
        return self._handles.permuteArguments(handle, kind, order)

    def face(self, interface: Any, handle: Any) -> Any:
        """`handle` as an object of a Java interface with one method, which frees the reserve if memory runs out."""
        guarded = self._handles.catchException(handle, self._error, self._free_reserve(handle))
        return self._faces.asInterfaceInstance(interface, guarded)

    def _free_reserve(self, handle: Any) -> Any:
        """(OutOfMemoryError)result: frees the reserve and throws the error again."""
        objects = self._reserve.getClass()
        clear = self._handles.insertArguments(
            self.set_element(objects), 0, [self._reserve, self._jpype.java.lang.Integer.valueOf(0), None]
        )
        throw = self._handles.throwException(handle.type().returnType(), self._error)
        return self._handles.foldArguments(throw, self._handles.dropArguments(clear, 0, self._classes([self._error])))

    def _signature(self, result: Any, parameters: tuple[Any, ...]) -> Any:
        return self._type.methodType(result, self._classes(list(parameters)))

    def _classes(self, parameters: list[Any]) -> Any:
        return self._jpype.JArray(self._jpype.JClass("java.lang.Class"))(parameters)


class Types:
    """Java classes of the programs."""

    def __init__(self, jpype: Any) -> None:
        def named(name: str) -> Any:
            return jpype.JClass(name).class_

        self.int = jpype.JClass("java.lang.Integer").TYPE
        self.boolean = jpype.JClass("java.lang.Boolean").TYPE
        self.void = jpype.JClass("java.lang.Void").TYPE
        self.long = jpype.JClass("java.lang.Long").TYPE
        self.float = jpype.JClass("java.lang.Float").TYPE
        self.ints = jpype.JArray(jpype.JInt).class_
        self.floats = jpype.JArray(jpype.JFloat).class_
        self.double = jpype.JClass("java.lang.Double").TYPE
        self.boxed_double = named("java.lang.Double")
        self.doubles = jpype.JArray(jpype.JDouble).class_
        self.objects = jpype.JArray(jpype.JObject).class_
        self.object = named("java.lang.Object")
        self.string = named("java.lang.String")
        self.strings = jpype.JArray(jpype.JString).class_
        self.list = named("java.util.List")
        self.lists = jpype.JArray(jpype.JClass("java.util.List")).class_
        self.map = named("java.util.Map")
        self.tree_map = named("java.util.TreeMap")
        self.bit_set = named("java.util.BitSet")
        self.arrays = named("java.util.Arrays")
        self.comparator = named("java.util.Comparator")
        self.function = named("java.util.function.Function")
        self.bi_function = named("java.util.function.BiFunction")
        self.consumer = named("java.util.function.Consumer")
        self.bi_consumer = named("java.util.function.BiConsumer")
        self.to_int = named("java.util.function.ToIntFunction")
        self.two_to_int = named("java.util.function.ToIntBiFunction")
        self.throwable = named("java.lang.Throwable")
        self.thread_local = named("java.lang.ThreadLocal")
        self.container = named("other.state.container.ContainerState")
        self.site_type = named("game.types.board.SiteType")
        self.float_buffer = named("java.nio.FloatBuffer")
        self.int_buffer = named("java.nio.IntBuffer")
        self.long_buffer = named("java.nio.LongBuffer")
        self.longs = named("gnu.trove.list.array.TLongArrayList")
        self.int_list = named("gnu.trove.list.array.TIntArrayList")
        self.int_set = named("gnu.trove.set.hash.TIntHashSet")
        self.int_map = named("gnu.trove.map.TObjectIntMap")
        self.fast_int_list = named("main.collections.FastTIntArrayList")
        self.game = named("game.Game")
        self.context = named("other.context.Context")
        self.trial = named("other.trial.Trial")
        self.state = named("other.state.State")
        self.owned = named("other.state.owned.Owned")
        self.on_track = named("other.state.track.OnTrackIndices")
        self.eval_context = named("other.context.EvalContext")
        self.move = named("other.move.Move")
        self.moves = named("game.rules.play.moves.Moves")
        self.move_list = named("main.collections.FastArrayList")
        self.state_wrapper = named("utils.LudiiStateWrapper")
        self.game_wrapper = named("utils.LudiiGameWrapper")


def mover_of(p: Programs, t: Types) -> Any:
    """(Context)int: the player to move, from 0; players keep their number after a swap of sides."""
    agent = p.ordered(p.method(t.state, "playerToAgent", t.int, t.int), [t.int, t.state], [1, 0])
    of_state = p.given(p.method(t.state, "mover", t.int), agent)
    return p.piped(p.plus(-1), 0, p.piped(of_state, 0, p.method(t.context, "state", t.state)))


def int_buffer(jpype: Any, count: int) -> Any:
    """Returns an IntBuffer of that size, which numpy shares."""
    return _direct(jpype, 4 * count).asIntBuffer()


def long_buffer(jpype: Any, count: int) -> Any:
    """Returns a LongBuffer of that size, which numpy shares."""
    return _direct(jpype, 8 * count).asLongBuffer()


def float_buffer(jpype: Any, count: int) -> Any:
    """Returns a FloatBuffer of that size, which numpy shares."""
    return _direct(jpype, 4 * count).asFloatBuffer()


def _direct(jpype: Any, size: int) -> Any:
    order = jpype.JClass("java.nio.ByteOrder").nativeOrder()
    return jpype.JClass("java.nio.ByteBuffer").allocateDirect(size).order(order)
