"""Waiting for an expected line of a UCI or AEI program, with a deadline."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator

from athenan_spiel.errors import ProgramTimeoutError
from athenan_spiel.protocols.program import Program


def lines_to(program: Program, end: str, seconds: float) -> Iterator[str]:
    """Yields the program's lines up to the one that begins with `end`.

    Raises:
        ProgramTimeoutError: that line has not arrived in time.
        ProgramError: the program has ended.
    """
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        line = program.line(left).strip()
        yield line
        if line == end or line.startswith((f"{end} ", f"{end}:")):
            return
    raise program.error(f"has not sent {end!r} within {seconds:.3g} s", late=True)


def skip_to(program: Program, end: str, seconds: float) -> str:
    """Returns the line that begins with `end`, and skips those before it.

    Raises:
        ProgramTimeoutError, ProgramError: as `lines_to`.
    """
    (last,) = deque(lines_to(program, end, seconds), maxlen=1)
    return last


def chosen_move(program: Program, longest: float, grace: float, stopping: float) -> str:
    """Returns the line with `bestmove`; a program over its time gets `stop`.

    Args:
        longest: time limit of the move, in seconds.
        grace: seconds after that until `stop` is sent.
        stopping: maximum seconds after `stop`.

    Raises:
        ProgramTimeoutError: it has not chosen a move.
        ProgramError: it has ended.
    """
    try:
        return skip_to(program, "bestmove", longest + grace)
    except ProgramTimeoutError:
        program.send("stop")
    try:
        return skip_to(program, "bestmove", stopping)
    except ProgramTimeoutError:
        raise program.error(
            f"has not moved within {longest:.3g} s and {grace + stopping:.3g} s more", late=True
        ) from None
