"""Memory that processes share."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

from athenan_spiel.errors import LearningError
from athenan_spiel.system.machine import free_memory, gigabytes

PLACE = Path("/dev/shm")
"""Where Linux has it, as files."""


def shared_memory(size: int) -> SharedMemory:
    """New memory of so many bytes, all of it there: else who first writes to what is not would be ended by SIGBUS.

    Raises:
        LearningError: there is not so much.
    """
    memory: SharedMemory | None = None
    free = free_memory()
    try:
        if free is not None and size > free:
            raise OSError(errno.ENOMEM, f"{gigabytes(free)} of memory are free")
        memory = SharedMemory(create=True, size=size)
        if sys.platform == "linux":
            with contextlib.suppress(FileNotFoundError), (PLACE / memory.name).open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, size)
    except OSError as error:
        if memory is not None:
            memory.close()
            memory.unlink()
        raise LearningError(
            f"the workers cannot have {gigabytes(size)} of shared memory ({error.strerror}): take fewer --workers, or "
            f"make {PLACE} larger (docker run --shm-size)"
        ) from None
    return memory


def attached(name: str) -> SharedMemory:
    """Memory that another process has made, and drops. The tracker of this process's resources is not told of it: where
    it is another one than that process's, as on a cluster, it would drop the memory as soon as this process ends.

    Raises:
        OSError: there is no such memory.
    """
    with _untracked():
        return SharedMemory(name)


DROPS = """
import os
import sys

sys.stdin.read()
for path in sys.argv[1:]:
    if os.path.exists(path):
        os.unlink(path)
"""
"""A program that waits for the end of its input, and then drops the files that it was started with."""


def dropped_without_us(*names: str) -> subprocess.Popen[bytes]:
    """A process that drops memory of these names once its input ends: when that is closed, or this process is ended,
    whatever is ended with it. Python's tracker of resources would do the same, but belongs to this process's group.
    """
    paths = [str(PLACE / name) for name in names]
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", DROPS, *paths], stdin=subprocess.PIPE, start_new_session=True
    )


@contextlib.contextmanager
def _untracked() -> Iterator[None]:
    """What Python 3.13 says by `track=False`."""
    register = resource_tracker.register
    resource_tracker.register = lambda name, rtype: None
    try:
        yield
    finally:
        resource_tracker.register = register


def let_go(memory: SharedMemory, *, drop: bool) -> None:
    """Let go of a block of shared memory, with `drop` for all processes; nothing happens where that is done already."""
    memory.close()
    if drop:
        with contextlib.suppress(FileNotFoundError):
            memory.unlink()
