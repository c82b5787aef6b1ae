"""How the `athenan` command ends. A bug ends it with Python's own code 1 and a traceback."""

DONE = 0
BROKEN_PIPE = 1
"""The reader of standard output went away."""
BAD_INPUT = 2
"""One or two lines on standard error say what was wrong: the words, a file, a full disk, a folder that is gone. Or all
matches of a series of `athenan eval` have failed or were forfeited."""
UNPROVEN = 3
"""`athenan solve` came to a limit before a proof."""
MISSING = 3
"""`athenan ludii` found that Java, Ludii or what joins them is not there, or `athenan doctor` that no training can be
done; what it prints says what to do."""
STOPPED = 130
"""Ctrl-C, as a shell's own code for it. A second Ctrl-C ends the process by the signal itself, which shells show as 130
too. SIGTERM ends the command as Ctrl-C does with 143, SIGHUP with 129: likewise 128
and the signal's number."""


def stopped_by(number: int | None) -> int:
    """The code of a command that the signal of this number has stopped; none: a `KeyboardInterrupt` without one."""
    return STOPPED if number is None else 128 + number
