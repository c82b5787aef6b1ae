"""Python, and what it begins, as our packages would find it on Windows: put this folder on PYTHONPATH.

Only they see it: what they import of `os`, `signal` and `sys` lacks what Windows lacks, and modules of POSIX alone are
not there. Python's own library, and the packages that are installed, go on as on the system that is really there.
"""

from __future__ import annotations

import builtins
import os
import signal
import sys
from types import ModuleType
from typing import Any

OURS = ("athenan_spiel", "agents", "ludii_bridge")
MODULES = {"curses", "fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"}
"""Modules that Windows has not."""
_OF_OS = """
    O_ASYNC O_CLOEXEC O_DIRECTORY O_DSYNC O_NOATIME O_NOCTTY O_NOFOLLOW O_NONBLOCK O_PATH O_SYNC O_TMPFILE WNOHANG
    chown chroot confstr copy_file_range ctermid fchdir fchown fdatasync fork forkpty fpathconf fstatvfs getegid
    geteuid getgid getgroups getloadavg getpgid getpgrp getpriority getresuid getsid getuid initgroups killpg lchown
    lockf major makedev memfd_create minor mkfifo mknod nice openpty pathconf pidfd_open pipe2 posix_fadvise
    posix_fallocate posix_spawn pread preadv pwrite pwritev readv register_at_fork sched_getaffinity
    sched_setaffinity sched_yield sendfile setegid seteuid setgid setpgid setpriority setsid setuid statvfs
    sync sysconf tcgetpgrp tcsetpgrp ttyname uname wait wait3 wait4 waitid writev
"""
_OF_SIGNAL = """
    ITIMER_PROF ITIMER_REAL ITIMER_VIRTUAL SIGALRM SIGBUS SIGCHLD SIGCONT SIGHUP SIGIO SIGKILL SIGPIPE SIGPROF
    SIGQUIT SIGSTOP SIGSYS SIGTSTP SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH SIGXCPU SIGXFSZ SIG_BLOCK
    SIG_SETMASK SIG_UNBLOCK alarm getitimer pause pthread_kill pthread_sigmask setitimer siginterrupt sigpending
    sigtimedwait sigwait sigwaitinfo
"""
NAMES = {"os": _OF_OS.split(), "signal": _OF_SIGNAL.split(), "sys": ["abiflags", "getdlopenflags", "setdlopenflags"]}
"""What these modules lack there."""


class Windows(ModuleType):
    """A module of Python's as Windows has it: without some names, and with others instead."""

    def __init__(self, module: ModuleType, lacks: list[str], instead: dict[str, Any]) -> None:
        super().__init__(module.__name__)
        self.__dict__.update(_module=module, _lacks=lacks, _instead=instead)

    def __getattr__(self, name: str) -> Any:
        if name in self._lacks:
            raise AttributeError(f"module {self._module.__name__!r} has no attribute {name!r} on Windows")
        return self._instead[name] if name in self._instead else getattr(self._module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._module, name, value)


def _open(path: Any, flags: int, *arguments: Any, **options: Any) -> int:
    """`os.open`, which opens no folder."""
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied", str(path))
    return os.open(path, flags, *arguments, **options)


def _locking(descriptor: int, mode: int, count: int) -> None:
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise PermissionError(13, "Permission denied") from None


def _seen() -> dict[str, ModuleType]:
    msvcrt = ModuleType("msvcrt")
    msvcrt.__dict__.update(LK_NBLCK=2, locking=_locking)
    return {
        "os": Windows(os, NAMES["os"], {"name": "nt", "open": _open, "O_BINARY": 0}),
        "signal": Windows(signal, NAMES["signal"], {"SIGBREAK": getattr(signal, "SIGUSR1", None)}),
        "sys": Windows(sys, NAMES["sys"], {"platform": "win32"}),
        "msvcrt": msvcrt,
    }


def _install() -> None:
    seen, real = _seen(), builtins.__import__

    def imported(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        importer = str((globals or {}).get("__name__", ""))
        if importer.partition(".")[0] in OURS and not level:
            if name.partition(".")[0] in MODULES:
                raise ModuleNotFoundError(f"No module named {name!r} on Windows", name=name)
            if name in seen:
                return seen[name]
        return real(name, globals, locals, fromlist, level)

    builtins.__import__ = imported


if os.environ.get("AS_ON_WINDOWS"):
    _install()
