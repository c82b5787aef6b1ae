"""A script that runs a program for `protocols.program` and ends it together with all its descendants (Linux only).

    python -I -S supervisor.py DESCRIPTOR COMMAND [ARGUMENT ...]

1. The program has the script's standard streams, a new session, and no blocked signals.
2. The script writes to the socket DESCRIPTOR once: 0, or the errno if the program cannot be started.
3. The program is ended when the other end of the socket is closed, for example because its owner was killed. It gets
   SIGTERM, then SIGKILL after `CLOSING_SECONDS`.
4. Its descendants are ended in the same way, also if it ends by itself. The script becomes the parent of orphaned
   descendants (PR_SET_CHILD_SUBREAPER), so it also finds those in other sessions.
5. The script ends with the program's exit code, or by the signal that ended the program.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Sequence
from typing import NoReturn

LINUX_ONLY = "only Linux makes a process the parent of its orphaned descendants"
CLOSING_SECONDS = 0.5
"""Time between SIGTERM and SIGKILL."""
KILLING_SECONDS = 5.0
"""Maximum time to wait for processes after SIGKILL."""
POLL_SECONDS = 0.01
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def main(descriptor: int, command: Sequence[str]) -> NoReturn:
    """Runs `command` until it ends, or until the other end of `descriptor` is closed."""
    if sys.platform != "linux":
        raise OSError(LINUX_ONLY)
    control = socket.socket(fileno=descriptor)
    control.set_inheritable(False)
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wakes)
    failing, fails = os.pipe()
    program = os.fork()
    if program == 0:
        _execute(command, libc, fails)
    os.close(fails)
    with contextlib.suppress(OSError):
        control.sendall(os.read(failing, 16) or b"0")
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # so that the owner sees the end of the program's streams
        os.dup2(null, stream)
    status = None
    while status is None and descriptor not in select.select([descriptor, woken], [], [])[0]:
        os.read(woken, 1024)
        status = _reap(program)
    left = _end_descendants(program)
    _exit_as(left if status is None else status)


def _execute(command: Sequence[str], libc: ctypes.CDLL, fails: int) -> NoReturn:
    """Replaces this process by the program; writes the errno to `fails` on failure."""
    if sys.platform != "linux":
        raise OSError(LINUX_ONLY)
    try:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        os.setsid()
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execvp(command[0], list(command))
    except OSError as error:
        os.write(fails, str(error.errno).encode())
    finally:
        os._exit(127)


def _reap(program: int) -> int | None:
    """Reaps ended children; returns the wait status of the program if it is among them."""
    if sys.platform != "linux":
        raise OSError(LINUX_ONLY)
    found = None
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            found = ended[1] if ended[0] == program else found
    return found


def _end_descendants(program: int) -> int | None:
    """Sends SIGTERM, then SIGKILL to all descendants; returns the wait status of the program if it ends now."""
    if sys.platform != "linux":
        raise OSError(LINUX_ONLY)
    found = None
    for number, seconds in ((signal.SIGTERM, CLOSING_SECONDS), (signal.SIGKILL, KILLING_SECONDS)):
        until = time.monotonic() + seconds
        told: set[int] = set()
        while descendants := _descendants():
            for pid in descendants - told:
                with contextlib.suppress(OSError):
                    os.kill(pid, number)
            told |= descendants
            time.sleep(POLL_SECONDS)
            status = _reap(program)
            found = status if found is None else found
            if time.monotonic() > until:
                break
    return found


def _descendants() -> set[int]:
    """Returns the descendants of this process, including zombies."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    found: set[int] = set()
    parents = [os.getpid()]
    while parents:
        new = set(children.get(parents.pop(), ())) - found
        found |= new
        parents.extend(new)
    return found


def _exit_as(status: int | None) -> NoReturn:
    """Ends this process in the same way as the program."""
    if sys.platform != "linux":
        raise OSError(LINUX_ONLY)
    import resource  # Windows has no such module

    if status is not None and os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError):  # SIGKILL has no other handler
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(1 if status is None else os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
