"""Servers of pages for tests, each in a process of its own, at a port that is free."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence

PATIENCE = 120
"""Seconds; what takes longer hangs."""
TRIES = 5
"""Another process may take a port that was free a moment ago."""


def free_port() -> int:
    """A port that nobody listens at now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextlib.contextmanager
def serving(
    command: Callable[[int], Sequence[str]], says: str, **variables: str
) -> Iterator[tuple[int, str, subprocess.Popen[str]]]:
    """A server, until the block ends.

    Args:
        command: for a port.
        says: how the line begins by which it tells that it will listen.
        variables: of its environment.

    Yields:
        the port, that line, and the process.
    """
    # NiceGUI would look for a test of its own kind.
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment = {**own, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", **variables}
    said: list[str] = []
    for _ in range(TRIES):
        port = free_port()
        process = subprocess.Popen(
            command(port),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            line = _first(process, says, said)
            if line is not None and _listens(process, port):
                yield port, line, process
                return
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    raise AssertionError(f"no server: {''.join(said)}")


def _first(process: subprocess.Popen[str], says: str, said: list[str]) -> str | None:
    """The line that begins so; None where the process ends without."""
    assert process.stdout is not None
    end = time.monotonic() + PATIENCE
    while True:
        assert select.select([process.stdout], [], [], max(0.0, end - time.monotonic()))[0], "".join(said)
        line = process.stdout.readline()
        said.append(line)
        if line.startswith(says):
            return line
        if not line:
            return None


def _listens(process: subprocess.Popen[str], port: int) -> bool:
    """Wait until it answers at the port, which is a moment after it says so; False where it ends instead."""
    end = time.monotonic() + PATIENCE
    while process.poll() is None:
        with socket.socket() as asking:
            # Where nobody listens, a connection may meet itself.
            if asking.connect_ex(("127.0.0.1", port)) == 0 and asking.getsockname() != asking.getpeername():
                return True
        assert time.monotonic() < end, f"nobody listens at {port}"
        time.sleep(0.05)
    return False
