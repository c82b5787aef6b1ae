"""`python -m ludii_bridge`: what is found of Java and Ludii; `install` puts the jar in place, `sweep` tries games."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ludii_bridge.connection import connect
from ludii_bridge.errors import LudiiError
from ludii_bridge.installation import LICENCE, install
from ludii_bridge.report import lines, report
from ludii_bridge.sweep import table, try_game


def main(arguments: Sequence[str] | None = None) -> int:
    """Run with these words (those of the command line if none are given); return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m ludii_bridge", description="Java and Ludii on this machine.")
    commands = parser.add_subparsers(dest="command", metavar="install|sweep")
    installing = commands.add_parser("install", help="put Ludii's jar where the bridge looks for it")
    installing.add_argument("--file", metavar="JAR", help="a jar that was downloaded already")
    sweeping = commands.add_parser("sweep", help="try the board games and write which can be played")
    sweeping.add_argument("page", metavar="FILE", type=Path, help="the page of Markdown to write")
    sweeping.add_argument("--only", metavar="TEXT", default="", help="only games with this in their name")
    sweeping.add_argument("--matches", type=int, default=2, help="random matches of each game")
    sweeping.add_argument("--length", type=int, default=200, help="moves after which a match is stopped")
    given = parser.parse_args(arguments)
    try:
        if given.command == "install":
            jar = install(given.file)
            print(f"Ludii {jar.version} is installed at {jar.path}; its licence is {LICENCE}.")
        elif given.command == "sweep":
            _sweep(given.page, given.only, given.matches, given.length)
        else:
            print("\n".join(lines(report())))
    except LudiiError as error:
        print(f"ludii_bridge: {error}", file=sys.stderr)
        return 2
    return 0


def _sweep(page: Path, only: str, matches: int, length: int) -> None:
    """Try the games one after the other, and write the page after each, so that a sweep that is stopped is kept."""
    transport = connect()
    names = [name for name in transport.catalogue.names("lud/board/") if only.lower() in name.lower()]
    verdicts = []
    for name in names:
        verdicts.append(try_game(name, matches=matches, max_length=length))
        print(f"{len(verdicts)}/{len(names)} {name}: {verdicts[-1].reason or 'supported'}", flush=True)
        page.write_text(table(verdicts, transport.version), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
