"""`athenan ludii sweep`: checks Ludii's games against the laws of games (`games.laws`) by random games."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from athenan_spiel.cli.exit_codes import DONE
from athenan_spiel.cli.parsing import parse
from athenan_spiel.cli.waiting import Waiting
from athenan_spiel.errors import ConfigError, shown

if TYPE_CHECKING:
    import pyspiel

    from athenan_spiel.games.laws import CheckedGame

MOST_MATCHES = 1000
"""Maximum number of random games of each game."""
MOST_PROCESSES = 64
MAX_SECONDS = 86_400.0
"""Maximum time for each game, in seconds."""


@dataclass(frozen=True, kw_only=True)
class SweepArguments:
    """Check Ludii's board games against the laws of games by random games, and write a row for each into FILE.

    Games that have a row are skipped, so the same command continues a stopped sweep.

    Example: athenan ludii sweep games.csv --only chess
    """

    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """CSV file, new or of an earlier sweep."""
    all: tyro.conf.FlagCreatePairsOff[bool] = False
    """Check all games, not only board games."""
    only: str = ""
    """Part of the names of the games to check; default: all."""
    matches: int = 1
    """Number of random games of each game."""
    length: int = 1000
    """Number of moves after which a game is a draw."""
    seconds: float = 60.0
    """Time limit for each game, in seconds. With 0 there is no limit, and games run in this process."""
    processes: int = 1
    """Number of games checked at once, each in a process with its own Java."""
    page: Annotated[str | None, tyro.conf.arg(metavar="FILE")] = None
    """Markdown file for a summary of the rows; default: not written."""


def run(words: Sequence[str]) -> int:
    """Run `athenan ludii sweep` with these words; returns the exit code."""
    arguments = parse(SweepArguments, words, "athenan ludii sweep")
    _require(1 <= arguments.matches <= MOST_MATCHES, "matches", f"from 1 to {MOST_MATCHES}", arguments.matches)
    _require(
        1 <= arguments.processes <= MOST_PROCESSES, "processes", f"from 1 to {MOST_PROCESSES}", arguments.processes
    )
    _require(arguments.length >= 1, "length", "at least 1", arguments.length)
    _require(0 <= arguments.seconds <= MAX_SECONDS, "seconds", f"from 0 to {MAX_SECONDS:g}", arguments.seconds)
    from ludii_bridge import verdicts
    from ludii_bridge.connection import connect
    from ludii_bridge.sweep import sweep

    rows = Path(arguments.file)
    done = {verdict.name for verdict in verdicts.read(rows)}
    verdicts.begin(rows)
    with Waiting("asking Ludii for its games"):
        found = connect().catalogue.names("" if arguments.all else "lud/board/")
    names = [name for name in found if arguments.only.lower() in name.lower() and name not in done]
    limits = arguments.matches, arguments.length, arguments.seconds, arguments.processes
    start, swept = time.monotonic(), iter(sweep(names, held_to_laws, *limits))
    for count in itertools.count(1):
        with Waiting(_left(min(count, len(names)), len(names), time.monotonic() - start)):
            verdict = next(swept, None)
        if verdict is None:
            break
        verdicts.append(verdict, rows)
        print(f"{count}/{len(names)} {verdict.name}: {verdict.reason or 'supported'}", flush=True)
    if arguments.page is not None:
        Path(arguments.page).write_text(verdicts.page(verdicts.read(rows)), encoding="utf-8")
    return DONE


def _left(number: int, total: int, seconds: float) -> str:
    """Returns the number of the current game and the estimated remaining time as text."""
    text = f"game {number:,} of {total:,}"
    if number == 1:
        return text
    minutes = round(seconds / (number - 1) * (total - number + 1) / 60)
    return f"{text}, about {minutes // 60}:{minutes % 60:02} h left"


def held_to_laws(game: pyspiel.Game, rng: random.Random, left: Callable[[], float]) -> CheckedGame:
    """Calls `games.laws.check_match` for the sweep of the bridge to Ludii.

    Raises:
        LudiiError: the game breaks a law.
    """
    from athenan_spiel.games.laws import BrokenLawError, check_match
    from ludii_bridge.errors import LudiiError

    try:
        return check_match(game, rng, left)
    except BrokenLawError as error:
        raise LudiiError(f"it breaks law {error.law}: {error.found}, after {len(error.history)} moves") from error


def _require(holds: bool, option: str, expected: str, got: float) -> None:
    if not holds:
        raise ConfigError(f"--{option} must be {expected}, got {shown(got)}")
