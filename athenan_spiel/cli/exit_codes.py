"""How the `athenan` command ends. A bug ends it with Python's own code 1 and a traceback."""

DONE = 0
BROKEN_PIPE = 1
"""The reader of standard output went away."""
BAD_INPUT = 2
"""One or two lines on standard error say what was wrong: the words, a file, a full disk; or that a second Ctrl-C broke
off what the first one was saving."""
UNPROVEN = 3
"""`athenan solve` came to a limit before a proof."""
STOPPED = 130
"""Ctrl-C, as a shell's own code for it."""
