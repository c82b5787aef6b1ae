"""A function called in a process of its own, which is stopped and replaced where a call takes too long or kills it.

Some descriptions of Ludii's make Java think for minutes or run out of memory; a sweep over all of them goes on.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Self

_STOP = 5.0
"""Seconds that a process gets to end by itself."""


class FailedCallError(Exception):
    """A call took too long, or its process died; the message says which."""


class Watched:
    """Calls `function` with one argument, in another process that begins when it is first needed.

    Args:
        function: what is called, by its name in a module, as another process must find it.
        seconds: that a call may take.
    """

    def __init__(self, function: Callable[[Any], Any], seconds: float) -> None:
        self._function = function
        self._seconds = seconds
        self._process: BaseProcess | None = None
        self._line: Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __call__(self, argument: Any) -> Any:
        """What the function returns.

        Raises:
            FailedCallError: it took too long, or its process died, by an exception too.
        """
        if self._line is None:
            self._start()
        assert self._line is not None
        try:
            self._line.send(argument)
            if not self._line.poll(self._seconds):
                self.close()
                raise FailedCallError(f"it took more than {self._seconds:g} s")
            return self._line.recv()
        except (EOFError, ConnectionError) as error:
            self.close()
            raise FailedCallError("its process died") from error

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._line, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(self._function, theirs), daemon=True)
        self._process.start()
        theirs.close()

    def stop(self) -> None:
        """End the process while another thread waits for it, whose call fails then."""
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """End the process, by force if it is busy."""
        if self._process is None or self._line is None:
            return
        self._line.close()
        self._process.terminate()
        self._process.join(_STOP)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process = self._line = None


def _serve(function: Callable[[Any], Any], line: Connection) -> None:
    while True:
        try:
            argument = line.recv()
        except EOFError:
            return
        line.send(function(argument))
