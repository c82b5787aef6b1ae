"""Exit codes of the `athenan` command. A bug ends it with Python's code 1 and a traceback."""

DONE = 0
BROKEN_PIPE = 1
"""The reader of standard output has ended."""
BAD_INPUT = 2
"""Bad input, a full disk or a missing folder, described in one or two lines on standard error; or all games of a series
of `athenan eval` failed or were forfeited."""
UNPROVEN = 3
"""`athenan solve` reached a limit before a proof."""
MISSING = 3
"""`athenan ludii` found that Java, Ludii or jpype is missing, or `athenan doctor` found that training is not possible.
The output suggests fixes."""
STOPPED = 130
"""Stopped by Ctrl-C. Shells use the same code for it. A second Ctrl-C ends the process by the signal itself, which
shells also show as 130. After SIGTERM the code is 143, after SIGHUP 129: 128 plus the number of the signal."""


def stopped_by(number: int | None) -> int:
    """Return the exit code of a command stopped by the signal `number`.

    None: it was stopped by a `KeyboardInterrupt` without a signal.
    """
    return STOPPED if number is None else 128 + number
