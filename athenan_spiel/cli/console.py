"""Where the command line writes: results to standard output, progress to standard error.

Nothing that is printed is read as markup, so names may hold brackets.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console

WIDE = 200
"""Columns where the output is no terminal: wide enough that `grep` finds whole rows."""


def output() -> Console:
    """Standard output, for what a person reads."""
    width = None if sys.stdout.isatty() else WIDE
    return Console(width=width, markup=False, highlight=False, emoji=False)


def progress() -> Console:
    """Standard error, for what is of interest only while it happens."""
    return Console(stderr=True, markup=False, highlight=False, emoji=False)


def say(line: str) -> None:
    """Write a line to standard error, for a person; it is not broken, so a command in it can be copied."""
    print(line, file=sys.stderr)


def print_json(value: Any) -> None:
    """Write `value` to standard output as one JSON document, for a script to read."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
