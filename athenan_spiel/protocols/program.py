"""Child process that communicates in lines of text; the base of GTP, UCI, AEI and GNU Backgammon.

The program is untrusted.

1. Nothing waits forever: `send` never waits, `line` waits until its deadline, `close` for `CLOSING_SECONDS` twice.
2. Memory for its output is bounded, however much it writes and however long its lines are. A program that nobody reads
   is blocked.
3. Failures raise a `ProgramError` with the program's name and its last lines of standard error.
4. It ends with its object, at the latest with this process, and so do its descendants. On Linux this holds even if this
   process is killed, and for descendants in their own sessions (`supervisor.py`). Elsewhere only an orderly exit ends
   them, and only those in the program's process group.
"""

from __future__ import annotations

import contextlib
import errno
import os
import queue
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from athenan_spiel.errors import AgentError, ProgramError, ProgramTimeoutError, printable, shown

LONGEST_LINE = 65_536
"""Maximum length of a line, in bytes; the rest is dropped."""
MOST_LINES = 10_000
"""Maximum number of unread lines."""
MOST_SENT = 1_000
"""Maximum number of unsent lines."""
CLOSING_SECONDS = 0.5
"""Maximum time, in seconds, for the program to end after the end of its input, and again after SIGTERM."""
SUPERVISOR = Path(__file__).with_name("supervisor.py")
"""Script that runs a program and ends it with all its descendants, on Linux."""
KILLING_SECONDS = 6.0
"""Maximum time, in seconds, until the script has ended them."""
LAST_WORDS = 3
"""Number of lines of standard error in an error message."""


def command_of(text: str) -> tuple[str, ...]:
    """Splits a command line by a shell's quoting rules, without a shell.

    Raises:
        AgentError: a quotation is not closed, or there is no word.
    """
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise AgentError(f"expected a program and its options, got {shown(text)}: {error}") from None
    if not words:
        raise AgentError(f"expected a program and its options, got {shown(text)}")
    return words


class Program:
    """Running program; the module's docstring lists its guarantees.

    Args:
        command: program and its options.

    Raises:
        ProgramError: it cannot be started.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self.name = printable(os.path.basename(command[0]))
        try:
            process, control = _started(list(command))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise ProgramError(f"{printable(command[0])} cannot be started: {reason}") from None
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._end = weakref.finalize(self, _ended, process, control)
        self._output: queue.Queue[str | None] = queue.Queue(MOST_LINES)
        self._to_send: queue.Queue[bytes | None] = queue.Queue(MOST_SENT)
        self._errors: deque[str] = deque(maxlen=LAST_WORDS)
        self._closed = threading.Event()
        _begin(_read, process.stdout, self._output, self._closed)
        _begin(_write, process.stdin, self._to_send)
        self._listener = _begin(_store_last_lines, process.stderr, self._errors)

    def send(self, line: str) -> None:
        """Writes a line, without its end, to the program's standard input.

        Raises:
            ProgramError: the program doesn't read its input.
        """
        try:
            self._to_send.put_nowait(f"{line}\n".encode())
        except queue.Full:
            raise self.error("does not read what it is sent") from None

    def line(self, seconds: float) -> str:
        """Returns the program's next line, without its end.

        Args:
            seconds: maximum waiting time.

        Raises:
            ProgramTimeoutError: there is no line in time.
            ProgramError: the program has ended.
        """
        try:
            line = self._output.get(timeout=max(0.0, seconds)) if seconds > 0 else self._output.get_nowait()
        except queue.Empty:
            raise self.error(f"has not answered within {max(0.0, seconds):.3g} s", late=True) from None
        if line is None:
            self._output.put(None)  # no more lines
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(CLOSING_SECONDS)  # its exit code is part of the message
            raise self.error("has ended")
        return line

    def error(self, problem: str, *, late: bool = False) -> ProgramError:
        """Returns an error about the program.

        Args:
            problem: text after the program's name.
            late: whether the error is a timeout.
        """
        code = self._process.poll()
        if code is not None:
            self._listener.join(CLOSING_SECONDS)
        status = "" if code is None else f" (exit code {code})"
        words = " / ".join(self._errors)
        kind = ProgramTimeoutError if late else ProgramError
        return kind(f"{self.name} {problem}{status}" + (f"; it last wrote: {words}" if words else ""))

    @property
    def running(self) -> bool:
        """Whether the program is running."""
        return self._process.poll() is None

    def close(self) -> None:
        """Ends the program, by closing its input first."""
        self._closed.set()
        with contextlib.suppress(queue.Full):
            self._to_send.put_nowait(None)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(CLOSING_SECONDS)
        self._end()


def _begin(target: object, *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=target, args=arguments, daemon=True)  # type: ignore[arg-type]
    thread.start()
    return thread


def _read(file: IO[bytes], lines: queue.Queue[str | None], closed: threading.Event) -> None:
    """Puts incoming lines into `lines`, and None at the end; blocks while the queue is full."""
    with file:
        while raw := file.readline(LONGEST_LINE):
            if not raw.endswith(b"\n"):
                while (rest := file.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
                    pass
            if not _put(lines, raw.decode(errors="replace").rstrip("\r\n"), closed):
                return
    _put(lines, None, closed)


def _put(lines: queue.Queue[str | None], line: str | None, closed: threading.Event) -> bool:
    """Returns whether the line was queued before `closed`."""
    while not closed.is_set():
        with contextlib.suppress(queue.Full):
            lines.put(line, timeout=0.2)
            return True
    return False


def _write(file: IO[bytes], lines: queue.Queue[bytes | None]) -> None:
    with contextlib.suppress(OSError, ValueError), file:
        while (line := lines.get()) is not None:
            file.write(line)
            file.flush()


def _store_last_lines(file: IO[bytes], last: deque[str]) -> None:
    with file:
        while raw := file.readline(LONGEST_LINE):
            if text := printable(raw.decode(errors="replace").strip()):
                last.append(text[:200])


def _started(command: list[str]) -> tuple[subprocess.Popen[bytes], socket.socket | None]:
    """Starts `command`. Returns the process, and the socket that ends it when closed; None where unsupported.

    Raises:
        OSError, ValueError: it cannot be started.
    """
    if sys.platform != "linux":
        return _opened(command), None
    if any("\0" in word for word in command):
        raise ValueError("embedded null byte")
    ours, theirs = socket.socketpair()
    with contextlib.ExitStack() as unless_started:
        unless_started.callback(ours.close)
        with theirs:
            script = [sys.executable, "-I", "-S", os.fspath(SUPERVISOR), str(theirs.fileno())]
            process = _opened([*script, *command], theirs.fileno())
        number = int(ours.recv(16) or errno.ENOMEM)
        if number:
            process.communicate()
            raise OSError(number, os.strerror(number))
        unless_started.pop_all()
    return process, ours


def _opened(command: list[str], *descriptors: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C reaches only this process
        pass_fds=descriptors,
    )


def _ended(process: subprocess.Popen[bytes], control: socket.socket | None) -> None:
    """Ends the program and its descendants, and waits for it."""
    if control is not None:
        control.close()
        try:
            process.wait(KILLING_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
        return
    for kill in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, kill)
            else:
                process.send_signal(kill)
        until = time.monotonic() + CLOSING_SECONDS
        while process.poll() is None and time.monotonic() < until:
            time.sleep(0.005)
