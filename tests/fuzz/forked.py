"""Runs one case in a forked process under a watchdog, and says how it ended.

The parent imports what is heavy once and never computes; each case is then a fork, a few milliseconds and not the
seconds of a new interpreter, and what one case breaks no other sees. The watchdog ends what takes too long or too much
memory. A hook notes each file that is opened for writing, each process and each connection that is begun, and each
module that the current folder might have brought.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import io
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HANG_SECONDS = 10.0
"""A case that still runs then hangs, unless it had less than half of a core, as on a machine with more to do."""
MOST_SECONDS = 900.0
"""Then it hangs in any case; far more than any case takes on a machine with more to do."""
PATIENCE = 3.0
"""A case that still works after so long gets Ctrl-C, as from a user: some lines rightly ask for days of work."""
IDLE_SHARE = 0.1
"""Of a core: what uses less in the last second of its patience, and wants no more, waits for what never comes."""
MEGABYTES = 3000.0
"""Memory that no case needs, its processes together."""
FILE_BYTES = 2**31
"""No case writes a larger file."""
POLL_SECONDS = 0.01
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = frozenset({"os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.link", "os.truncate"})
_STARTS = frozenset(
    {"os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "socket.connect", "socket.getaddrinfo", "pty.spawn"}
)


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a case ended.

    Attributes:
        code: its exit code; negative: the signal that ended it.
        seconds, processor_seconds: from its begin to its end, and of work.
        idle: it was waiting, not working, when its patience ended.
        interrupted: it got Ctrl-C, as its patience had ended.
        hung: it had to be killed.
        megabytes: what it had to be killed for; 0 where it was not.
        deeds: what the hook noted, each as (kind, what): "write", "start" or "import".
    """

    code: int
    stdout: str
    stderr: str
    seconds: float
    processor_seconds: float = 0.0
    idle: bool = False
    interrupted: bool = False
    hung: bool = False
    megabytes: float = 0.0
    deeds: Sequence[tuple[str, str]] = field(default=())


def run_forked(
    case: Callable[[], int],
    *,
    folder: Path,
    environment: Mapping[str, str],
    notes: Path,
    stdin: bytes = b"",
    kill: Callable[[int, float], None] | None = None,
    patience: float = PATIENCE,
    limit: float = HANG_SECONDS,
) -> Ended:
    """Run `case` in a fork and wait for its end.

    Args:
        case: gives the exit code; what it raises becomes a traceback and code 1, as in an interpreter.
        folder: its current folder.
        environment: all of its environment.
        notes: a folder for what it prints, which the case does not see.
        patience, limit: seconds until Ctrl-C and until SIGKILL.
        kill: called again and again while it runs, with its process id and the seconds since its begin.
    """
    notes.mkdir(exist_ok=True)
    (notes / "stdin").write_bytes(stdin)
    start = time.perf_counter()
    child = os.fork()
    if child == 0:
        _child(case, folder, environment, notes)
    watched = _Watchdog(child, patience, limit)
    while True:
        ended, status, used = os.wait4(child, os.WNOHANG)
        if ended:
            break
        if kill is not None:
            kill(child, time.perf_counter() - start)
        watched.look(time.perf_counter() - start)
        time.sleep(POLL_SECONDS)
    seconds = time.perf_counter() - start
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what it has started and left
    return Ended(
        code=os.waitstatus_to_exitcode(status),
        stdout=_text(notes / "stdout"),
        stderr=_text(notes / "stderr"),
        seconds=seconds,
        processor_seconds=used.ru_utime + used.ru_stime,
        idle=watched.idle,
        interrupted=watched.interrupted,
        hung=watched.hung,
        megabytes=watched.megabytes,
        deeds=tuple(_deeds(notes / "deeds")),
    )


def _child(case: Callable[[], int], folder: Path, environment: Mapping[str, str], notes: Path) -> None:
    """Become the case; never returns."""
    code = 1
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        os.environ.clear()
        os.environ.update(environment)
        tempfile.tempdir = None  # the parent's
        os.chdir(folder)
        _redirect(notes)
        _note_deeds(os.open(notes / "deeds", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600))
        code = case()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1 if stop.code else 0
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
        with contextlib.suppress(BaseException):
            sys.stderr.flush()
        os._exit(code)


def _redirect(notes: Path) -> None:
    """Let the three streams be the files in `notes`, as the interpreter would open them in a shell in UTF-8."""
    for descriptor, name, flags in ((0, "stdin", os.O_RDONLY), (1, "stdout", None), (2, "stderr", None)):
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND if flags is None else flags
        opened = os.open(notes / name, flags, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), "utf-8")
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8")
    sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), "utf-8", "backslashreplace", write_through=True)


def _note_deeds(out: int) -> None:
    """From now on, write to the descriptor `out` what this process opens for writing, starts, and might import."""

    def note(kind: str, what: object) -> None:
        os.write(out, f"{kind}\t{str(what)[:500]!r}\n".encode("utf-8", "backslashreplace"))

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and not isinstance(arguments[0], int) and (arguments[2] or 0) & _WRITING:
            exclusive = arguments[2] & (os.O_NOFOLLOW | os.O_EXCL)
            note("write", _really(arguments[0], follow=not exclusive))
        elif event in _CHANGES:
            note("write", _really(arguments[1] if event in ("os.rename", "os.symlink", "os.link") else arguments[0]))
        elif event in _STARTS:
            note("start", arguments)

    class Last(importlib.abc.MetaPathFinder):
        """Is asked for a module when nobody has it; one in the current folder would have been taken before."""

        def find_spec(self, name: str, path: object, target: object = None) -> None:
            if path is None and any(place in ("", os.getcwd()) for place in sys.path):
                note("import", name)

    sys.meta_path.append(Last())
    sys.addaudithook(hook)


def _really(path: Any, *, follow: bool = False) -> str:
    """Where a file is that `path` names, its own link followed only if `follow`."""
    path = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else str(path)
    if follow:
        return os.path.realpath(path)
    return os.path.join(os.path.realpath(os.path.dirname(path) or "."), os.path.basename(path))


class _Watchdog:
    """Watches a process and those it has started: Ctrl-C when patience ends, SIGKILL for a hang or too much memory."""

    def __init__(self, session: int, patience: float, limit: float) -> None:
        self.idle = self.interrupted = self.hung = False
        self.megabytes = 0.0
        self._session = session
        self._patience = patience
        self._limit = limit
        self._before: tuple[float, float] | None = None
        self._ran = False
        self._next = 0.25

    def look(self, seconds: float) -> None:
        """Look at them after so many seconds of their life."""
        if seconds < self._next:
            return
        self._next = seconds + 0.25
        used, megabytes, runs = resources(self._session)
        self._ran |= runs
        if megabytes > MEGABYTES:
            self.megabytes = megabytes
            os.killpg(self._session, signal.SIGKILL)
        if self._before is None and seconds > self._patience - 1:
            self._before = seconds, used
            self._ran = runs
        if not self.interrupted and seconds > self._patience and self._before is not None:
            self.interrupted = True
            since, before = self._before
            self.idle = not self._ran and used - before < IDLE_SHARE * (seconds - since)
            os.killpg(self._session, signal.SIGINT)
        starved = self._ran and used < self._limit / 2 and seconds < MOST_SECONDS
        if seconds > self._limit and not starved:
            self.hung = True
            os.killpg(self._session, signal.SIGKILL)


def resources(session: int) -> tuple[float, float, bool]:
    """Seconds of processor time and megabytes of the processes of a session, and whether one of them wants to run.

    The time of those that have ended counts, too, where another of the session has waited for them.
    """
    ticks, pages, runs = 0, 0, False
    for process in Path("/proc").iterdir():
        if not process.name.isdecimal():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[3]) == session:
                ticks += sum(map(int, fields[11:15]))
                pages += int(fields[21])
                runs |= fields[0] in "RD"
    return ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE") / 2**20, runs


def _text(path: Path) -> str:
    """The first million bytes of a file; none where the case never came to open it."""
    try:
        with path.open("rb") as file:
            return file.read(1_000_000).decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return ""


def _deeds(path: Path) -> Iterator[tuple[str, str]]:
    for line in _text(path).splitlines():
        kind, _, what = line.partition("\t")
        yield kind, what.strip("'\"")
