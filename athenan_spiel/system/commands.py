"""An `athenan` command in a process of its own, beside this one, which goes on meanwhile.

1. It is what a user could type: `python -m athenan_spiel`, but for how the process begins and ends (`processes`), so
   games that a script has registered are known to it.
2. It uses one processor core, as far as it asks how many there are.
3. What it writes is kept for who began it, to a bound, and shown to nobody.
4. It ends with its object's `close`, and at the latest soon after this process, however that ends.
"""

from __future__ import annotations

import contextlib
import os
import runpy
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import IO

from athenan_spiel.system.machine import use_cores
from athenan_spiel.system.portable import is_orphan
from athenan_spiel.system.processes import begin, context, hear
from athenan_spiel.system.stopping import OF_TERMINALS

MOST_SAID = 2**24
"""Bytes that are kept of what a command writes to standard output, and of the end of what it writes to the other."""
KIND_SECONDS = 2.0
"""Time that a command has to end when it is told to."""
LOOK_SECONDS = 0.5
"""Time between two looks at whether the process that began this one is still there."""


@dataclass(frozen=True)
class Answer:
    """What became of a command.

    Attributes:
        code: its exit code; negative: that of the signal that ended it.
        output, errors: what it wrote to standard output and to standard error.
    """

    code: int
    output: str
    errors: str


class Command:
    """A command that runs.

    Args:
        words: those after `athenan`.

    Raises:
        OSError: the process could not be started.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._ours, theirs = context().Pipe(duplex=False)
        self._answer: Answer | None = None
        try:
            # Ctrl-C and a closed terminal are this process's to hear: it ends the command.
            arguments = (theirs, list(words), os.getpid())
            self._process = begin(_serve, *arguments, daemon=True, deaf_to=OF_TERMINALS)
        except BaseException:
            self._ours.close()
            raise
        finally:
            theirs.close()

    def answer(self, seconds: float = 0.0) -> Answer | None:
        """What became of it; None if it still runs.

        Args:
            seconds: the longest to wait for its end.
        """
        if self._answer is None and self._ours.poll(seconds):
            try:
                self._answer = Answer(*self._ours.recv())
            except (EOFError, OSError):  # it was killed, or has crashed
                self._process.join(KIND_SECONDS)
                self._answer = Answer(-1 if self._process.exitcode is None else self._process.exitcode, "", "")
        return self._answer

    def terminate(self) -> None:
        """Tell it to end, without waiting for that."""
        if self._process.is_alive():
            self._process.terminate()

    def close(self) -> None:
        """End it if it has not ended."""
        self.terminate()
        self._process.join(KIND_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._ours.close()


def _serve(connection: Connection, words: list[str], parent: int) -> None:
    """Run the command, and send its exit code and what it wrote."""
    hear(signal.SIGTERM)  # who began this one may be deaf to it
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    use_cores(1)
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        os.dup2(output.fileno(), 1)
        os.dup2(errors.fileno(), 2)
        code = _run(words)
        with contextlib.suppress(OSError):  # nobody listens any more
            connection.send((code, _said(output, from_end=False), _said(errors, from_end=True)))


def _run(words: list[str]) -> int:
    """Run `python -m athenan_spiel` with these words; returns its exit code."""
    sys.argv = ["athenan", *words]
    try:
        runpy.run_module("athenan_spiel", run_name="__main__", alter_sys=True)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    return 0


def _said(file: IO[bytes], *, from_end: bool) -> str:
    """What stands in `file`, or as much of its beginning or its end as is kept."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - MOST_SAID) if from_end else 0)
    return file.read(MOST_SAID).decode(errors="replace")


def _end_with(parent: int) -> None:
    """End this process soon after `parent`, whose child it is."""
    while not is_orphan(parent):
        time.sleep(LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(KIND_SECONDS)
    os._exit(1)
