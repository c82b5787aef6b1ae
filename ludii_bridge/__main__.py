"""`python -m ludii_bridge`: what is found of Java and Ludii; `install` puts Ludii's jar in place."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ludii_bridge.errors import LudiiError
from ludii_bridge.installation import LICENCE, install
from ludii_bridge.report import lines, report


def main(arguments: Sequence[str] | None = None) -> int:
    """Run with these words (those of the command line if none are given); return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m ludii_bridge", description="Java and Ludii on this machine.")
    commands = parser.add_subparsers(dest="command", metavar="install")
    installing = commands.add_parser("install", help="put Ludii's jar where the bridge looks for it")
    installing.add_argument("--file", metavar="JAR", help="a jar that was downloaded already")
    given = parser.parse_args(arguments)
    try:
        if given.command == "install":
            jar = install(given.file)
            print(f"Ludii {jar.version} is installed at {jar.path}; its licence is {LICENCE}.")
        else:
            print("\n".join(lines(report())))
    except LudiiError as error:
        print(f"ludii_bridge: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
