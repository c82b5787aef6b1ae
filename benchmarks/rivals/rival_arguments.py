"""Command lines of these scripts: numbers within bounds, and errors in one line with exit code 2."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

LONGEST_MINUTES = 7 * 24 * 60


class Parser(argparse.ArgumentParser):
    """A parser whose help is a script's docstring, and whose errors have one line."""

    def __init__(self, about: str | None) -> None:
        super().__init__(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message: str) -> NoReturn:
        """Ends the script."""
        refuse(message)


def refuse(message: str) -> NoReturn:
    """Ends the script with one line on standard error and exit code 2."""
    print(f"{Path(sys.argv[0]).name}: {message}", file=sys.stderr)
    raise SystemExit(2)


def number(kind: type[int] | type[float], least: float, most: float = float("inf")) -> Callable[[str], Any]:
    """Returns a type for argparse: a number from `least` to `most`."""

    def read(text: str) -> float:
        value = kind(text)
        if not least <= value <= most:
            raise ValueError
        return value

    read.__name__ = f"{kind.__name__} from {least:g}" + ("" if most == float("inf") else f" to {most:g}")
    return read


def require(*modules: str) -> None:
    """Ends the script if one of the modules is not installed."""
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        refuse(f"needs {', '.join(missing)}: run it in the environment of benchmarks/rivals/README.md")
