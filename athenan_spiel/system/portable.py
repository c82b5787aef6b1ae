"""Functions that differ between Linux, macOS and Windows, behind one interface.

Features of single systems are used only here, or in the places listed in `tests/system/test_portable.py`. They are file
locks, watching and flushing of folders, the memory of this process, detection of the parent's end, flags for opening
files, signals handled once, and processes killed with their parent. `docs/platforms.md` lists the tests on each system.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl
    import resource

NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
"""Flag that refuses to open a link; 0 if the system has none, so the name must be checked before."""
NONBLOCKING_BINARY: int = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Flags to open a file without waiting, as for the writer of a FIFO, and without changing bytes."""
STATM = Path("/proc/self/statm")
"""File of Linux with the memory of this process."""


def lock(descriptor: int) -> None:
    """Lock an open file exclusively until it is closed.

    Raises:
        BlockingIOError: another process has locked it.
        OSError: the file system has no locks.
    """
    if sys.platform == "win32":
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EDEADLK):
                raise BlockingIOError(errno.EAGAIN, "another process has locked it") from None
            raise
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextlib.contextmanager
def watched_folder(path: Path) -> Iterator[Callable[[], bool]]:
    """Context that yields a function, which returns whether `path` is still the same folder.

    The folder stays open, so the system gives its number (inode) to no other folder. Windows cannot open folders, but a
    folder that contains an open file can be neither moved nor deleted there.

    Raises:
        OSError: `path` is not a folder, or cannot be read.
    """
    if sys.platform == "win32":
        before = path.stat()
        yield lambda: _is_same(path, before)
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield lambda: _is_same(path, os.fstat(descriptor))
    finally:
        os.close(descriptor)


def _is_same(path: Path, status: os.stat_result) -> bool:
    with contextlib.suppress(OSError):
        return os.path.samestat(path.stat(), status)
    return False


def sync_folder(path: Path) -> None:
    """Flush the names in the folder `path` to disk. Windows does not need this.

    Raises:
        OSError: the folder cannot be flushed.
    """
    if sys.platform == "win32":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sysconf_bytes(name: str) -> int | None:
    """Return the memory given by a `sysconf` name such as `SC_PHYS_PAGES`, in bytes; None if unknown."""
    if sys.platform == "win32":
        return None
    try:
        return os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return None


def resident_memory() -> int | None:
    """Return the resident memory of this process, in bytes, or else its peak; None if both are unknown (Windows)."""
    if sys.platform == "win32":
        return None
    else:
        if STATM.exists():
            return int(STATM.read_text(encoding="ascii").split()[1]) * resource.getpagesize()
        return peak_memory()


def peak_memory() -> int | None:
    """Return the peak of the resident memory of this process, in bytes; None if it is unknown (Windows)."""
    if sys.platform == "win32":
        return None
    else:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def is_orphan(parent: int) -> bool:
    """Return whether the parent process, with the number `parent`, has ended."""
    if sys.platform == "win32":  # getppid() returns the number of a parent that has ended
        process = multiprocessing.parent_process()
        return process is not None and not process.is_alive()
    return os.getppid() != parent


PR_SET_PDEATHSIG = 1
SIGACTION_FLAGS = {"linux": (136, 0x80000000), "darwin": (12, 0x4)}
"""The offset of `sa_flags` in the `struct sigaction` of 64-bit systems, and the value of SA_RESETHAND."""
SIGACTION_BYTES = 512
"""Size of a buffer that is large enough for any `struct sigaction`."""


def handle_once(number: int) -> bool:
    """Make the system restore the default action of the signal `number` when it next calls its handler.

    Python runs a handler only between two Python instructions. The default action ends the process at once, also inside
    native code.

    Returns:
        Whether it succeeded; False on Windows and on 32-bit systems.
    """
    if sys.platform not in SIGACTION_FLAGS or sys.maxsize < 2**32:
        return False
    offset, reset = SIGACTION_FLAGS[sys.platform]
    action = ctypes.create_string_buffer(SIGACTION_BYTES)
    try:
        sigaction = ctypes.CDLL(None).sigaction
    except (OSError, AttributeError):
        return False
    if sigaction(number, None, action):
        return False
    flags = ctypes.c_uint32.from_buffer(action, offset)
    flags.value |= reset
    return bool(sigaction(number, action, None) == 0)


def die_with_parent(parent: int) -> None:
    """Make the system kill this process when the thread that started it in the process `parent` ends (Linux only)."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if is_orphan(parent):
            os._exit(1)
