"""Web servers for tests, each in a separate process with a free port."""

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
"""Time limit of an operation, in seconds."""
TRIES = 5
"""Maximum number of ports to try, since another process may take a free port first."""


def free_port() -> int:
    """Returns a port that is currently free."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextlib.contextmanager
def serving(
    command: Callable[[int], Sequence[str]], says: str, **variables: str
) -> Iterator[tuple[int, str, subprocess.Popen[str]]]:
    """Runs a server until the block ends.

    Args:
        command: returns the command for a port.
        says: start of the line that the server prints before it listens.
        variables: variables of its environment.

    Yields:
        The port, this line, and the process.
    """
    # With pytest's variables, NiceGUI expects one of its own tests.
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
    """Returns the line that starts with `says`; None if the process ends without it."""
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
    """Waits until the server accepts connections; returns False if it ends instead."""
    end = time.monotonic() + PATIENCE
    while process.poll() is None:
        with socket.socket() as asking:
            # Without a listener, a connection may connect to itself.
            if asking.connect_ex(("127.0.0.1", port)) == 0 and asking.getsockname() != asking.getpeername():
                return True
        assert time.monotonic() < end, f"nobody listens at {port}"
        time.sleep(0.05)
    return False
