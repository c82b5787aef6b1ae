"""Command lines, timing and output that the benchmark scripts share."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from athenan_spiel.play.intervals import Interval

ROOT = Path(__file__).resolve().parent.parent


def make_parser(description: str | None, usage: str | None = None) -> argparse.ArgumentParser:
    """Returns a parser whose help is a script's docstring."""
    return argparse.ArgumentParser(
        usage=usage, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def parse_with_options(parser: argparse.ArgumentParser) -> tuple[argparse.Namespace, list[str]]:
    """Returns the script's arguments, and the options of an `athenan` command that follow `--`."""
    parser.usage = "%(prog)s [ARGUMENT ...] [-- OPTION ...]"
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    return parser.parse_args(sys.argv[1:at]), sys.argv[at + 1 :]


def train(game: str, folder: Path, *options: str) -> Path:
    """Trains by `athenan train` unless the run exists; returns its folder."""
    if not folder.exists():
        command = [sys.executable, "-m", "athenan_spiel", "train", game, *options, "--quiet", "--folder", str(folder)]
        subprocess.run(command, check=True)
    return folder


def seconds_of(call: Callable[[], object]) -> float:
    """Returns the wall time of one call, in seconds."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def percent(share: Interval, unit: str = " %") -> str:
    """Returns a share with its interval as text, in percent."""
    return f"{100 * share.estimate:.1f}{unit} ({100 * share.low:.1f} to {100 * share.high:.1f})"


def fail(error: Exception) -> NoReturn:
    """Ends the script with one line on standard error and exit code 2."""
    print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
    sys.exit(2)
