"""Blocks of shared memory."""

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
"""Folder in which Linux shows shared memory as files."""


def shared_memory(size: int) -> SharedMemory:
    """Allocates `size` bytes, all immediately. Otherwise SIGBUS would kill the process that writes to a missing page.

    Raises:
        LearningError: there is not enough memory.
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
            f"the workers need {gigabytes(size)} of shared memory ({error.strerror}): use fewer --workers, or "
            f"make {PLACE} larger (docker run --shm-size)"
        ) from None
    return memory


def attached(name: str) -> SharedMemory:
    """Opens shared memory that another process has allocated and will free.

    It is not registered with this process's resource tracker, which would free it when this process ends if the owner
    has another tracker, as on a cluster.

    Raises:
        OSError: there is no such memory.
    """
    with _untracked():
        return SharedMemory(name)


FREEING_PROGRAM = """
import os
import sys

sys.stdin.read()
for path in sys.argv[1:]:
    if os.path.exists(path):
        os.unlink(path)
"""
"""Python program that waits for the end of its input, then removes the files in its arguments."""


def dropped_without_us(*names: str) -> subprocess.Popen[bytes]:
    """Starts a process that frees these blocks of shared memory once its input is closed.

    That is at the latest when this process ends. Python's resource tracker would do the same, but it is killed together
    with the process group of this process.
    """
    paths = [str(PLACE / name) for name in names]
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", FREEING_PROGRAM, *paths], stdin=subprocess.PIPE, start_new_session=True
    )


@contextlib.contextmanager
def _untracked() -> Iterator[None]:
    """Context in which shared memory is not tracked, like `track=False` of Python 3.13."""
    register = resource_tracker.register
    resource_tracker.register = lambda name, rtype: None
    try:
        yield
    finally:
        resource_tracker.register = register


def release(memory: SharedMemory, *, drop: bool) -> None:
    """Closes a block of shared memory, and with `drop` frees it. May be called again."""
    memory.close()
    if drop:
        with contextlib.suppress(FileNotFoundError):
            memory.unlink()
