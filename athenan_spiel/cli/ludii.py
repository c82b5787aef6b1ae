"""`athenan ludii`: checks Java and Ludii, and installs Ludii's jar; `athenan ludii sweep` tests its games."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import tyro

from athenan_spiel.cli.console import print_json
from athenan_spiel.cli.exit_codes import DONE, MISSING
from athenan_spiel.cli.parsing import parse
from athenan_spiel.cli.waiting import Waiting
from athenan_spiel.errors import ConfigError, nearest

ACTIONS = ("show", "install", "sweep")


@dataclass(frozen=True, kw_only=True)
class LudiiArguments:
    """Check Java and Ludii, install Ludii's jar, or test its games (`athenan ludii sweep --help`).

    Example: athenan ludii install --file Ludii-1.3.12.jar
    """

    action: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="show|install|sweep")] = "show"
    """Action; `install` downloads the jar from Ludii's site, by which you accept its licence."""
    file: Annotated[str | None, tyro.conf.arg(metavar="JAR")] = None
    """Downloaded jar to install; default: the jar of Ludii's site."""
    sha256: Annotated[str | None, tyro.conf.arg(metavar="HASH")] = None
    """SHA-256 of the jar, required for a download of an unknown version; default: the known hash."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print one JSON document."""


def run(words: Sequence[str]) -> int:
    """Run `athenan ludii` with these words; returns the exit code."""
    if words and words[0] == "sweep":
        from athenan_spiel.cli import ludii_sweep

        return ludii_sweep.run(words[1:])
    arguments = parse(LudiiArguments, words, "athenan ludii")
    if arguments.action not in ACTIONS:
        got = f"{arguments.action!r}{nearest(arguments.action, ACTIONS)}"
        raise ConfigError(f"expected {', '.join(ACTIONS[:-1])} or {ACTIONS[-1]}, got {got}")
    for option in ("file", "sha256"):
        if getattr(arguments, option) is not None and arguments.action != "install":
            raise ConfigError(f"--{option} is for `athenan ludii install`, got it with {arguments.action!r}")
    from ludii_bridge.errors import LudiiError
    from ludii_bridge.installation import LICENCE, install
    from ludii_bridge.report import is_ready, lines, report

    if arguments.action == "install":
        try:
            with Waiting("installing Ludii's jar", quiet=arguments.json):
                jar = install(arguments.file, sha256=arguments.sha256)
        except LudiiError as error:
            raise ConfigError(str(error)) from error
        if not arguments.json:
            print(f"Ludii {jar.version} is installed at {jar.path}; its licence is {LICENCE}.")
    with Waiting("looking for Java and Ludii", quiet=arguments.json):
        findings = report()
    if arguments.json:
        print_json([dataclasses.asdict(finding) for finding in findings])
    else:
        print("\n".join(lines(findings)))
    return DONE if arguments.action == "install" or is_ready(findings) else MISSING
