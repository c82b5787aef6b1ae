"""`athenan watch`: shows a run in a browser, also while it trains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from athenan_spiel.cli.exit_codes import DONE
from athenan_spiel.cli.options import LudiiMemory
from athenan_spiel.cli.parsing import parse
from athenan_spiel.cli.web import Address, serve_pages


@dataclass(frozen=True, kw_only=True)
class WatchArguments(Address):
    """Show a run in a browser, while it trains or afterwards, and play against its agent.

    The page shows loss, strength with confidence intervals, length of games, speed, CPU use, and the last game of
    self-play.

    Example: athenan watch runs/connect_four
    """

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Run folder."""
    ludii_memory: LudiiMemory = None


def run(words: Sequence[str]) -> int:
    """Run `athenan watch` with these words; returns the exit code."""
    arguments = parse(WatchArguments, words, "athenan watch")
    from athenan_spiel.training.run_folder import RunFolder
    from athenan_spiel.web.site import SiteContent

    RunFolder(arguments.folder).require_run()
    serve_pages(
        SiteContent(runs=arguments.folder),
        arguments.host,
        arguments.port,
        opens=arguments.open,
        memory=arguments.memory,
    )
    return DONE
