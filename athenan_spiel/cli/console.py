"""Output of the command line: results on standard output, progress on standard error.

Text is never read as markup, so names may contain brackets.
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
"""Width of output that is not a terminal, in characters; rows stay in one line, for `grep`."""


def output() -> Console:
    """Return the console of standard output."""
    width = None if sys.stdout.isatty() else WIDE
    return Console(width=width, markup=False, highlight=False, emoji=False)


def progress(*, quiet: bool = False) -> Console:
    """Return the console of standard error, for progress; `quiet` shows nothing."""
    return _StandardError(stderr=True, quiet=quiet, markup=False, highlight=False, emoji=False)


class _StandardError(Console):
    """A console that ignores a closed pipe, for which rich would end the program.

    It never hides the cursor, because a killed process would leave it hidden.
    """

    def show_cursor(self, show: bool = True) -> bool:
        """Do nothing."""
        return False

    def on_broken_pipe(self) -> None:
        """Write nothing from now on."""
        self.quiet = True


def say(line: str) -> None:
    """Write a line to standard error without line breaks, so that a command in it can be copied.

    A closed terminal is ignored.
    """
    with contextlib.suppress(OSError):
        print(printable(line), file=sys.stderr)


def quoted(path: str | os.PathLike[str]) -> str:
    """Return a path quoted for a shell command, never read as an option."""
    return as_word(in_words(path))


def in_words(path: str | os.PathLike[str]) -> str:
    """Return a path as an argument that is never read as an option."""
    text = os.fspath(path)
    return f"./{text}" if text.startswith("-") else text


def as_word(text: str) -> str:
    """Return a text quoted for a shell command, with control characters written as in `$'...'`."""
    if text.isprintable():
        return shlex.quote(text)
    letters = (
        x if x.isprintable() and x not in "\\'" else "".join(f"\\x{byte:02x}" for byte in os.fsencode(x)) for x in text
    )
    return f"$'{''.join(letters)}'"


def print_json(value: Any) -> None:
    """Write `value` to standard output as one JSON document."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
