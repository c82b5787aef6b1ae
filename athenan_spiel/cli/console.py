"""Where the command line writes: results to standard output, progress to standard error.

Nothing that is printed is read as markup, so names may hold brackets.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
from typing import Any

from rich.console import Console

from athenan_spiel.errors import printable

WIDE = 200
"""Columns where the output is no terminal: wide enough that `grep` finds whole rows."""


def output() -> Console:
    """Standard output, for what a person reads."""
    width = None if sys.stdout.isatty() else WIDE
    return Console(width=width, markup=False, highlight=False, emoji=False)


def progress(*, quiet: bool = False) -> Console:
    """Standard error, for what is of interest only while it happens; `quiet` shows nothing of it."""
    return _StandardError(stderr=True, quiet=quiet, markup=False, highlight=False, emoji=False)


class _StandardError(Console):
    """A console that is silent once its reader has gone; rich's own would end the program and close standard output.

    It never hides the cursor, which a process that is ended at once would leave hidden.
    """

    def show_cursor(self, show: bool = True) -> bool:
        """Leave the cursor as it is."""
        return False

    def on_broken_pipe(self) -> None:
        """Nothing of interest is lost."""
        self.quiet = True


def say(line: str) -> None:
    """Write a line to standard error, for a person; it is not broken, so a command in it can be copied.

    Where the reader has gone, as when the terminal is closed, nothing happens.
    """
    with contextlib.suppress(OSError):
        print(printable(line), file=sys.stderr)


def quoted(path: str | os.PathLike[str]) -> str:
    """A path as a word of a shell's command, whatever is in it; it is never taken for an option."""
    return as_word(in_words(path))


def in_words(path: str | os.PathLike[str]) -> str:
    """A path among a command's words, where it is never taken for an option."""
    text = os.fspath(path)
    return f"./{text}" if text.startswith("-") else text


def as_word(text: str) -> str:
    """A text as a word of a shell's command; what would steer the terminal is written as `$'...'` has it."""
    if text.isprintable():
        return shlex.quote(text)
    letters = (
        x if x.isprintable() and x not in "\\'" else "".join(f"\\x{byte:02x}" for byte in os.fsencode(x)) for x in text
    )
    return f"$'{''.join(letters)}'"


def print_json(value: Any) -> None:
    """Write `value` to standard output as one JSON document, for a script to read."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
