"""Memory that processes share."""

from __future__ import annotations

import contextlib
import errno
import os
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
