"""`athenan watch`: shows a run in a browser, also while it trains."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from athenan_spiel.cli.console import say
from athenan_spiel.cli.exit_codes import DONE
from athenan_spiel.cli.options import LudiiMemory
from athenan_spiel.cli.parsing import parse
from athenan_spiel.cli.web import Address, serve_pages
from athenan_spiel.errors import CheckpointError, shown


@dataclass(frozen=True, kw_only=True)
class WatchArguments(Address):
    """Show a run in a browser, before it starts, while it trains or afterwards, and play against its agent.

    The page shows loss, strength with confidence intervals, length of games, speed, CPU use, settings, checkpoints, and
    games of self-play.

    Example: athenan watch runs/connect_four
    """

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Run folder; if it does not exist yet, the page waits for it."""
    ludii_memory: LudiiMemory = None


def run(words: Sequence[str]) -> int:
    """Run `athenan watch` with these words; returns the exit code."""
    arguments = parse(WatchArguments, words, "athenan watch")
    from athenan_spiel.training.run_folder import RunFolder
    from athenan_spiel.web.site import SiteContent

    if not is_awaited(arguments.folder):
        RunFolder(arguments.folder).require_run()
    else:
        folder = str(arguments.folder)
        say(f"waiting for a run in {shown(folder)}: start it with athenan train GAME --folder {shlex.quote(folder)}")
    serve_pages(
        SiteContent(runs=arguments.folder, waits=True),
        arguments.host,
        arguments.port,
        opens=arguments.open,
        memory=arguments.memory,
    )
    return DONE


def is_awaited(folder: Path) -> bool:
    """Whether `folder` doesn't exist yet, or is an empty folder, in which a run may start."""
    from athenan_spiel.training.run_folder import RunFolder

    if not folder.is_dir():
        return not os.path.lexists(folder)
    try:
        RunFolder(folder).require_new()
    except CheckpointError:
        return False
    return True
