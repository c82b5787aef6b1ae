"""Waiting for what a program is to say, under UCI and AEI: bounded whatever else it says meanwhile."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator

from athenan_spiel.errors import ProgramTimeoutError
from athenan_spiel.protocols.program import Program


def lines_to(program: Program, end: str, seconds: float) -> Iterator[str]:
    """What the program says, to a line that begins with the words of `end`, which is the last.

    Raises:
        ProgramTimeoutError: that line has not come in that time.
        ProgramError: the program has ended.
    """
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        line = program.line(left).strip()
        yield line
        if line == end or line.startswith((f"{end} ", f"{end}:")):
            return
    raise program.error(f"has not said {end!r} within {seconds:.3g} s", late=True)


def skip_to(program: Program, end: str, seconds: float) -> str:
    """The line that begins with the words of `end`; what comes before is passed over.

    Raises:
        ProgramTimeoutError, ProgramError: as `lines_to`.
    """
    (last,) = deque(lines_to(program, end, seconds), maxlen=1)
    return last


def chosen_move(program: Program, longest: float, grace: float, stopping: float) -> str:
    """The line with the program's `bestmove`; one that is over its time is told to `stop`.

    Args:
        longest: the seconds after which its time is over.
        grace: seconds after that, when it is told to stop.
        stopping: seconds that it has then.

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
