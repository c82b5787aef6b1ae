"""A random generator for Ludii whose numbers are given in advance.

All copies of a Ludii context draw from one generator, a private static field of its class. `install` replaces it by one
that behaves as before, unless the current thread has a script. A script lists the next draws, and a draw beyond the
list ends the computation by an exception. So a caller can compute everything that follows from given draws, and learn
that another draw is needed.

The generator extends a Java class. This module writes its class file, since no compiler comes with a Java runtime.
"""

from __future__ import annotations

import contextlib
import functools
import struct
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

_NAME = "ScriptedGenerator"
_PARENT = "org/apache/commons/rng/core/source64/SplitMix64"
_LOCAL = "java/lang/ThreadLocal"
_ERROR = "java/lang/UnsupportedOperationException"
_STOP = "java/lang/RuntimeException"
STOP = "java.util.EmptyStackException"
"""Java's exception for a draw beyond the script."""
CURSOR, BOUND, LENIENT, HEADER = range(4)
"""Elements of a script, an int array: index of the next draw; number of values of the first missing draw, or 0;
above 0 if missing draws get consecutive numbers instead of an exception. From `HEADER` on, the draws follow."""
_CLASS_VERSION = 49
"""Version of the class file: the last that needs no stack maps."""
_PUBLIC, _PUBLIC_FINAL_SUPER, _FINAL = 0x0001, 0x0031, 0x0010


class Generator:
    """The generator of this process's Java.

    Args:
        jpype: the module, with Java started.

    Attributes:
        local: Java's `ThreadLocal` that holds the script of each thread.
    """

    def __init__(self, jpype: Any) -> None:
        self._ints = jpype.JArray(jpype.JInt)
        self.stop = jpype.JClass(STOP)
        self.local = jpype.JClass("java.lang.ThreadLocal")()
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, f"{_NAME}.class").write_bytes(class_file())
            url = jpype.JClass("java.io.File")(folder).toURI().toURL()
            context = jpype.JClass("other.context.Context")
            urls = jpype.JArray(jpype.JClass("java.net.URL"))([url])
            loader = jpype.JClass("java.net.URLClassLoader")(urls, context.class_.getClassLoader())
            kind = jpype.JClass(_NAME, loader=loader)
        seed = jpype.JClass("java.lang.Long")(time.time_ns())
        field = context.class_.getDeclaredField("sharedRNG")
        field.setAccessible(True)
        field.set(None, kind(seed, self.local, self.stop()))

    def script(self, draws: Sequence[int] = (), *, lenient: bool = False) -> Any:
        """Returns a new script."""
        return self._ints([HEADER, 0, int(lenient), *draws])

    @contextlib.contextmanager
    def follow(self, script: Any) -> Iterator[Any]:
        """Lets this thread draw from a script of `script`."""
        self.local.set(script)
        try:
            yield script
        finally:
            self.local.remove()


@functools.cache
def install(jpype: Any) -> Generator:
    """Returns the generator of this process's Java, installed on the first call."""
    return Generator(jpype)


def class_file() -> bytes:
    """Returns the class file of the generator, which is in Java:

    public final class ScriptedGenerator extends SplitMix64 {
        final ThreadLocal script;
        final RuntimeException stop;

        public ScriptedGenerator(Long seed, ThreadLocal script, RuntimeException stop) {
            super(seed);
            this.script = script;
            this.stop = stop;
        }

        public int nextInt(int n) {
            int[] s = (int[]) script.get();
            if (s == null) return super.nextInt(n);
            int i = s[CURSOR];
            if (i < s.length) {
                s[CURSOR] = i + 1;
                return s[i] % n;
            }
            if (s[BOUND] == 0) s[BOUND] = n;
            if (s[LENIENT] != 0) {
                s[LENIENT] = s[LENIENT] + 1;
                return s[LENIENT] % n;
            }
            throw stop;
        }

        public long next() {  // draws that are no integers below a bound
            if (script.get() == null) return super.next();
            throw new UnsupportedOperationException("...");
        }
    }
    """
    pool = _Pool()
    script, stop = pool.member(9, _NAME, "script", f"L{_LOCAL};"), pool.member(9, _NAME, "stop", f"L{_STOP};")
    get = pool.member(10, _LOCAL, "get", "()Ljava/lang/Object;")
    found = [0x2A, 0xB4, *script, 0xB6, *get]  # this.script.get()
    made = [0x2A, 0x2B, 0xB7, *pool.member(10, _PARENT, "<init>", "(Ljava/lang/Long;)V")]  # super(seed)
    made += [0x2A, 0x2C, 0xB5, *script, 0x2A, 0x2D, 0xB5, *stop, 0xB1]  # this.script = ...; this.stop = ...; return
    ints = pool.entry(7, pool.text("[I"))
    plain = [0x2A, 0x1B, 0xB7, *pool.member(10, _PARENT, "nextInt", "(I)I"), 0xAC]  # return super.nextInt(n)
    known = [0x2C, 0x03, 0x1D, 0x04, 0x60, 0x4F]  # s[CURSOR] = i + 1
    known += [0x2C, 0x1D, 0x2E, 0x1B, 0x70, 0xAC]  # return s[i] % n
    note = [0x2C, 0x04, 0x1B, 0x4F]  # s[BOUND] = n
    other = [0x2C, 0x05, 0x2C, 0x05, 0x2E, 0x04, 0x60, 0x4F]  # s[LENIENT] = s[LENIENT] + 1
    other += [0x2C, 0x05, 0x2E, 0x1B, 0x70, 0xAC]  # return s[LENIENT] % n
    next_int = [*found, 0xC0, *ints, 0x4D]  # int[] s = (int[]) ...
    next_int += [0x2C, 0xC7, *_jump(plain), *plain]  # if (s == null)
    next_int += [0x2C, 0x03, 0x2E, 0x3E]  # int i = s[CURSOR]
    next_int += [0x1D, 0x2C, 0xBE, 0xA2, *_jump(known), *known]  # if (i < s.length)
    next_int += [0x2C, 0x04, 0x2E, 0x9A, *_jump(note), *note]  # if (s[BOUND] == 0)
    next_int += [0x2C, 0x05, 0x2E, 0x99, *_jump(other), *other]  # if (s[LENIENT] != 0)
    next_int += [0x2A, 0xB4, *stop, 0xBF]  # throw this.stop
    error = pool.entry(7, pool.text(_ERROR))
    words = pool.entry(8, pool.text("a rule draws a random number that is not an integer below a bound"))
    bare = [0x2A, 0xB7, *pool.member(10, _PARENT, "next", "()J"), 0xAD]  # return super.next()
    make = [0xBB, *error, 0x59, 0x13, *words, 0xB7, *pool.member(10, _ERROR, "<init>", "(Ljava/lang/String;)V"), 0xBF]
    draw = [*found, 0xC7, *_jump(bare), *bare, *make]
    methods = [
        _method(pool, "<init>", f"(Ljava/lang/Long;L{_LOCAL};L{_STOP};)V", made, 2, 4),
        _method(pool, "nextInt", "(I)I", next_int, 4, 4),
        _method(pool, "next", "()J", draw, 4, 1),
    ]
    fields = [
        struct.pack(">H", _FINAL) + pool.text(name) + pool.text(f"L{kind};") + b"\0\0"
        for name, kind in (("script", _LOCAL), ("stop", _STOP))
    ]
    this, parent = pool.entry(7, pool.text(_NAME)), pool.entry(7, pool.text(_PARENT))
    head = struct.pack(">H", _PUBLIC_FINAL_SUPER) + this + parent + b"\0\0"
    body = head + _counted(fields) + _counted(methods) + b"\0\0"
    return struct.pack(">IHH", 0xCAFEBABE, 0, _CLASS_VERSION) + pool.written() + body


def _jump(over: Sequence[int]) -> bytes:
    """Returns the operand of a jump, which has three bytes, over these instructions."""
    return struct.pack(">H", 3 + len(over))


def _method(pool: _Pool, name: str, kind: str, code: Sequence[int], stack: int, variables: int) -> bytes:
    attribute = struct.pack(">HHI", stack, variables, len(code)) + bytes(code) + b"\0\0\0\0"
    head = struct.pack(">H", _PUBLIC) + pool.text(name) + pool.text(kind) + b"\0\x01" + pool.text("Code")
    return head + struct.pack(">I", len(attribute)) + attribute


def _counted(parts: Sequence[bytes]) -> bytes:
    return struct.pack(">H", len(parts)) + b"".join(parts)


class _Pool:
    """Constant pool of a class file. Its methods return the index of an entry, two bytes."""

    def __init__(self) -> None:
        self._entries: dict[bytes, int] = {}

    def entry(self, tag: int, content: bytes) -> bytes:
        number = self._entries.setdefault(bytes([tag]) + content, len(self._entries) + 1)
        return struct.pack(">H", number)

    def text(self, words: str) -> bytes:
        return self.entry(1, struct.pack(">H", len(words)) + words.encode())

    def member(self, tag: int, owner: str, name: str, kind: str) -> bytes:
        """Returns a field (tag 9) or a method (tag 10)."""
        named = self.entry(12, self.text(name) + self.text(kind))
        return self.entry(tag, self.entry(7, self.text(owner)) + named)

    def written(self) -> bytes:
        return struct.pack(">H", len(self._entries) + 1) + b"".join(self._entries)
