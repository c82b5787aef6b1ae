"""Checks for Java and Ludii on this machine, without starting Java."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable
from dataclasses import dataclass

from ludii_bridge import verdicts
from ludii_bridge.catalogue import Catalogue
from ludii_bridge.errors import LudiiError
from ludii_bridge.hashes import said_of, sha256_of
from ludii_bridge.installation import LICENCE, find_jar, find_java, java_memory


@dataclass(frozen=True)
class Finding:
    """A requirement of the bridge: its name, whether it was found, and its location or the remedy."""

    what: str
    found: bool
    text: str


def report() -> list[Finding]:
    """Returns the requirements in the order of their installation."""
    return [_finding("jpype1", _jpype), _finding("Java", _java), _finding("Ludii", _ludii)]


def is_ready(findings: list[Finding]) -> bool:
    """Returns whether all requirements were found."""
    return all(finding.found for finding in findings)


def lines(findings: list[Finding]) -> list[str]:
    """Returns the findings as lines of text."""
    rows = [f"{finding.what:<7} {'found  ' if finding.found else 'MISSING'}  {finding.text}" for finding in findings]
    if is_ready(findings):
        return [*rows, 'Ready: a game is written "ludii(game=Surakarta)"; Ludii\'s licence is', f"  {LICENCE}."]
    return rows


def games_here() -> Catalogue | None:
    """Returns the games of the jar, or None without a jar."""
    try:
        return Catalogue(find_jar().games)
    except LudiiError:
        return None


def all_names() -> list[str]:
    """Returns the sorted names of Ludii's games, of the published sweep and of the jar, if there is one."""
    here = games_here()
    return sorted({*(verdict.name for verdict in verdicts.read()), *(here.names() if here else ())})


def _finding(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(what, True, look())
    except LudiiError as error:
        return Finding(what, False, str(error))


def _jpype() -> str:
    try:
        return f"version {importlib.metadata.version('jpype1')}"
    except importlib.metadata.PackageNotFoundError as error:
        raise LudiiError("it lets Python call Java: `pip install 'athenan-spiel[ludii]'`") from error


def _java() -> str:
    java = find_java()
    source = "set by LUDII_MEMORY" if os.environ.get("LUDII_MEMORY") else "LUDII_MEMORY=4g changes it"
    return f"version {java.version}, from {java.origin}; memory limit {java_memory()} ({source})"


def _ludii() -> str:
    jar = find_jar()
    catalogue = Catalogue(jar.games)
    boards = len(catalogue.names("lud/board/"))
    return (
        f"version {jar.version}, {len(catalogue)} games, {boards} of them board games, at {jar.path}, "
        f"{said_of(sha256_of(jar.path))}"
    )
