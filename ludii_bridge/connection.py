"""The transport of this process, created when the first game is loaded."""

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
    """Starts Java with Ludii. Otherwise loading the first game starts it.

    Java starts once per process: if it is running, the call has no effect.

    Args:
        jar: path of Ludii's jar; default: `installation.find_jar`.
        java: "bundled", "system", or the folder of a Java runtime; default: `installation.find_java`.
        memory: maximum heap size of Java, such as "4g"; default: `installation.java_memory`.

    Returns:
        The transport that loads games.

    Raises:
        LudiiError: Java, the jar or jpype is missing, Java does not start, or the memory size is invalid.
    """
    global _transport
    with _connecting:
        if _transport is None:
            from ludii_bridge.java import JavaTransport

            _transport = JavaTransport(find_jar(jar), find_java(java), java_memory(memory))
        return _transport


def use(transport: Transport | None) -> Transport | None:
    """Replaces the transport, for example by a fake one in a test, and returns the previous one."""
    global _transport
    with _connecting:
        before, _transport = _transport, transport
        return before
