"""Exit codes of the `athenan` command. A bug ends it with Python's code 1 and a traceback."""

DONE = 0
BROKEN_PIPE = 1
"""The reader of standard output went away."""
BAD_INPUT = 2
"""Bad input, a full disk or a missing folder, described in one or two lines on standard error; or all games of a series
of `athenan eval` failed or were forfeited."""
UNPROVEN = 3
"""`athenan solve` reached a limit before a proof."""
MISSING = 3
"""`athenan ludii` found that Java, Ludii or what joins them is not there, or `athenan doctor` that no training can be
done; what it prints says what to do."""
STOPPED = 130
"""Ctrl-C, as a shell's own code for it. A second Ctrl-C ends the process by the signal itself, which shells show as 130
too. SIGTERM ends the command in the same way with 143, SIGHUP with 129: 128 plus the
number of the signal."""


def stopped_by(number: int | None) -> int:
    """Return the exit code of a command stopped by signal `number`; None: by a `KeyboardInterrupt` without a signal."""
    return STOPPED if number is None else 128 + number
