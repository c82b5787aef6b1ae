"""Small programs that run inside Java, put together from method handles: no Java source, nothing compiled.

Each call from Python into Java costs about a microsecond, and a child of a state takes some ten calls. Java can
compose its methods at run time (`java.lang.invoke`), and give the composition the face of one of its interfaces;
calling that is one crossing, however much happens behind it.
"""

from __future__ import annotations

import functools
from typing import Any

_RESERVE = 2**20
"""Bytes that Java keeps back for telling that memory has run out: jpype cannot without some."""


@functools.cache
def _reserve(jpype: Any) -> Any:
    """A Java array for the memory that is kept back, one for the process."""
    return jpype.JArray(jpype.JObject)(1)


class Programs:
    """Composes methods of Java classes.

    A handle is written here as its types: `(A, B)C` takes an A and a B and gives a C.
    """

    def __init__(self, jpype: Any) -> None:
        self._jpype = jpype
        self._handles = jpype.JClass("java.lang.invoke.MethodHandles")
        self._type = jpype.JClass("java.lang.invoke.MethodType")
        self._faces = jpype.JClass("java.lang.invoke.MethodHandleProxies")
        self._void = jpype.JClass("java.lang.Void").TYPE
        self._lookup = self._handles.publicLookup()
        self._error = jpype.JClass("java.lang.OutOfMemoryError").class_
        self._reserve = _reserve(jpype)
        self.keep_reserve()

    def keep_reserve(self) -> None:
        """Keep memory back again, where it was given away because memory had run out."""
        if self._reserve[0] is None:
            self._reserve[0] = self._jpype.JArray(self._jpype.JByte)(_RESERVE)

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
        """(kind)kind: what came."""
        return self._handles.identity(kind)

    def constant(self, kind: Any, value: Any) -> Any:
        """()kind: always `value`."""
        return self._handles.constant(kind, value)

    def bound(self, handle: Any, value: Any, at: int = 0) -> Any:
        """`handle` with the parameter numbered `at` given; whole numbers and truth values become Java's int and
        boolean."""
        if isinstance(value, bool):
            value = self._jpype.java.lang.Boolean.valueOf(value)
        elif isinstance(value, int):
            value = self._jpype.java.lang.Integer.valueOf(value)
        return self._handles.insertArguments(handle, at, [value])

    def typed(self, handle: Any, result: Any, *parameters: Any) -> Any:
        """`handle` as one of these types, with the casts that it takes."""
        return handle.asType(self._signature(result, parameters))

    def piped(self, outer: Any, at: int, *inner: Any) -> Any:
        """`outer` whose parameters from `at` on are what the `inner` handles give, each of one parameter."""
        return self._handles.filterArguments(outer, at, list(inner))

    def then(self, first: Any, second: Any) -> Any:
        """Call `first`, drop what it gives, then call `second` with the same arguments."""
        return self._handles.foldArguments(second, first.asType(first.type().changeReturnType(self._void)))

    def given(self, first: Any, second: Any) -> Any:
        """Call `first`, then `second` with what it gave before the same arguments: (x, *args) of `second`."""
        return self._handles.foldArguments(second, first)

    def ordered(self, handle: Any, parameters: list[Any], order: list[int]) -> Any:
        """`handle` that takes `parameters`, and of those passes on the ones numbered in `order`."""
        kind = self._type.methodType(handle.type().returnType(), self._classes(parameters))
        return self._handles.permuteArguments(handle, kind, order)

    def face(self, interface: Any, handle: Any) -> Any:
        """`handle` as an object of a Java interface with one method; where memory runs out in it, the reserve is given
        away before the error goes on."""
        guarded = self._handles.catchException(handle, self._error, self._give(handle))
        return self._faces.asInterfaceInstance(interface, guarded)

    def _give(self, handle: Any) -> Any:
        """(OutOfMemoryError)result: let go of the reserve and throw the error on."""
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
