"""`python -m ludii_bridge`: checks Java and Ludii, or installs the jar."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ludii_bridge.errors import LudiiError
from ludii_bridge.installation import LICENCE, install
from ludii_bridge.report import is_ready, lines, report


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command with these arguments, by default those of the process, and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m ludii_bridge", description="Java and Ludii on this machine.")
    commands = parser.add_subparsers(dest="command", metavar="install")
    installing = commands.add_parser("install", help="install Ludii's jar")
    installing.add_argument("--file", metavar="JAR", help="downloaded jar to install")
    installing.add_argument("--sha256", metavar="HASH", help="required SHA-256 of the jar")
    given = parser.parse_args(arguments)
    try:
        if given.command == "install":
            jar = install(given.file, sha256=given.sha256)
            print(f"Ludii {jar.version} is installed at {jar.path}; its licence is {LICENCE}.")
        else:
            findings = report()
            print("\n".join(lines(findings)))
            return 0 if is_ready(findings) else 3
    except LudiiError as error:
        print(f"ludii_bridge: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"ludii_bridge: {error.strerror}: {str(error.filename)!r}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("ludii_bridge: stopped", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
