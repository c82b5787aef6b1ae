"""The transport that `pyspiel.load_game` uses: one for the process, made when the first game is loaded."""

from __future__ import annotations

import os
import threading

from ludii_bridge.installation import find_jar, find_java, java_memory
from ludii_bridge.transport import Transport

_connecting = threading.Lock()
_transport: Transport | None = None


def connect(
    jar: str | os.PathLike[str] | None = None, *, java: str | None = None, memory: str | None = None
) -> Transport:
    """Start Java with Ludii now, and in a way of your own; otherwise the first game that is loaded does.

    Java starts once in a process: where it runs already, this changes nothing.

    Args:
        jar: the path of Ludii's jar; by default see `installation.find_jar`.
        java: "bundled", "system", or the folder of a Java runtime; see `installation.find_java`.
        memory: the most that Java's objects may take, such as "4g"; by default see `installation.java_memory`.

    Returns:
        What loads games; `pyspiel.load_game` asks it.

    Raises:
        LudiiError: Java, the jar or jpype is missing, Java does not start, or the memory is no size that it can have.
    """
    global _transport
    with _connecting:
        if _transport is None:
            from ludii_bridge.java import JavaTransport

            _transport = JavaTransport(find_jar(jar), find_java(java), java_memory(memory))
        return _transport


def use(transport: Transport | None) -> Transport | None:
    """Take another transport from now on, such as a fake one in a test; returns the one before."""
    global _transport
    with _connecting:
        before, _transport = _transport, transport
        return before
