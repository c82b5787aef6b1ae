"""Tries odd command lines, calls, run folders and kills, and prints how many broke a promise of docs/reliability.md.

    python tests/fuzz --command-lines 2000 --calls 500 --folders 500 --kills 200
    python tests/fuzz --seconds 600             all kinds, for about so long
    python tests/fuzz --seed 7 --only folders:17        one case again

Each case is drawn from the seed, its kind and its number. The exit code is 1 where a promise was broken.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from campaign import KINDS, Campaign, Count  # noqa: E402
from template import make_template, preload  # noqa: E402

NO_END = 10**9
TOLD_EVERY = 100
"""After so many cases of a kind it is said how many there were."""


def main() -> int:
    """Read the command line, try the cases, and print each fault and the counts."""
    arguments = _arguments()
    start = time.monotonic()
    preload()
    root = Path(tempfile.mkdtemp(prefix="athenan-fuzz-"))
    try:
        campaign = Campaign(root, make_template(root), arguments.seed, arguments.processes)
        counts = [_count(campaign, kind, arguments) for kind in KINDS]
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print(
        f"seed {arguments.seed}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, "
        f"{time.monotonic() - start:.0f} s"
    )
    for count in counts:
        if count.cases:
            print(count)
    return int(any(count.faults for count in counts))


def _count(campaign: Campaign, kind: str, arguments: argparse.Namespace) -> Count:
    """Try the cases of `kind` that are asked for."""
    count = Count(kind)
    cases, first = getattr(arguments, kind.replace("-", "_")), arguments.first
    if arguments.only:
        wanted, _, number = arguments.only.partition(":")
        cases, first = (1, int(number)) if wanted == kind else (0, 0)
    elif arguments.seconds:
        cases = cases or NO_END
    seconds = arguments.seconds / len(KINDS) if arguments.seconds else NO_END
    for tried in campaign.run(kind, cases=cases, seconds=seconds, first=first):
        before = count.cases
        count.add(tried)
        if count.cases // TOLD_EVERY > before // TOLD_EVERY:
            print(f"{count.cases:,} {kind}", file=sys.stderr)
        if tried.faults or arguments.verbose or arguments.only:
            print(_visible(f"{kind}:{tried.number} {tried.ended} {tried.shown}"))
        for fault in tried.faults:
            print(_visible(f"    FAULT {fault}"), flush=True)
    return count


def _visible(text: str) -> str:
    """`text` without what a terminal would take for a command."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)[:1000]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python tests/fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for kind in KINDS:
        parser.add_argument(f"--{kind}", type=int, default=0, metavar="N", help="how many")
    parser.add_argument("--seconds", type=float, default=0, help="end after about so long, each kind having its share")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), help="by default a new one")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number of the first case")
    parser.add_argument("--only", metavar="KIND:NUMBER", help="one case alone")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="cases at once")
    parser.add_argument("--verbose", action="store_true", help="show each case")
    arguments = parser.parse_args()
    if not any(getattr(arguments, kind.replace("-", "_")) for kind in KINDS) and not (
        arguments.seconds or arguments.only
    ):
        parser.error("expected how many cases, or --seconds, or --only")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
