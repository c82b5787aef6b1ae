"""`python -m ludii_bridge`: what is found of Java and Ludii; `install` puts the jar in place, `sweep` tries games."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ludii_bridge import verdicts
from ludii_bridge.connection import connect
from ludii_bridge.errors import LudiiError
from ludii_bridge.installation import LICENCE, install
from ludii_bridge.report import is_ready, lines, report
from ludii_bridge.sweep import sweep


def main(arguments: Sequence[str] | None = None) -> int:
    """Run with these words (those of the command line if none are given); return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m ludii_bridge", description="Java and Ludii on this machine.")
    commands = parser.add_subparsers(dest="command", metavar="install|sweep")
    installing = commands.add_parser("install", help="put Ludii's jar where the bridge looks for it")
    installing.add_argument("--file", metavar="JAR", help="a jar that was downloaded already")
    installing.add_argument("--sha256", metavar="HASH", help="the SHA-256 that the jar must have")
    sweeping = commands.add_parser("sweep", help="try the board games and write which can be played")
    sweeping.add_argument("--all", action="store_true", help="try all games, not the board games alone")
    sweeping.add_argument(
        "rows", metavar="FILE", type=Path, help="the CSV file of a row a game; games in it are left out"
    )
    sweeping.add_argument("--page", metavar="FILE", type=Path, help="write a page of Markdown that sums up the rows")
    sweeping.add_argument("--only", metavar="TEXT", default="", help="only games with this in their name")
    sweeping.add_argument("--matches", type=int, default=1, help="random matches of each game")
    sweeping.add_argument("--length", type=int, default=1000, help="moves after which a match is stopped")
    sweeping.add_argument("--seconds", type=float, default=60.0, help="for the matches of a game; 0 for no limit")
    sweeping.add_argument("--processes", type=int, default=1, help="games tried at once, each with a Java of its own")
    given = parser.parse_args(arguments)
    try:
        if given.command == "install":
            jar = install(given.file, sha256=given.sha256)
            print(f"Ludii {jar.version} is installed at {jar.path}; its licence is {LICENCE}.")
        elif given.command == "sweep":
            _sweep(given)
        else:
            findings = report()
            print("\n".join(lines(findings)))
            return 0 if is_ready(findings) else 2
    except LudiiError as error:
        print(f"ludii_bridge: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"ludii_bridge: {error.strerror}: {str(error.filename)!r}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("ludii_bridge: stopped; the same command goes on", file=sys.stderr)
        return 130
    return 0


def _sweep(given: argparse.Namespace) -> None:
    """Try the games; each row is written at once, so a sweep that is stopped goes on later."""
    done = {verdict.name for verdict in verdicts.read(given.rows)}
    verdicts.begin(given.rows)
    catalogue = connect().catalogue
    found = catalogue.names("" if given.all else "lud/board/")
    names = [name for name in found if given.only.lower() in name.lower() and name not in done]
    for count, verdict in enumerate(sweep(names, given.matches, given.length, given.seconds, given.processes), start=1):
        verdicts.append(verdict, given.rows)
        print(f"{count}/{len(names)} {verdict.name}: {verdict.reason or 'supported'}", flush=True)
    if given.page:
        given.page.write_text(verdicts.page(verdicts.read(given.rows)), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
