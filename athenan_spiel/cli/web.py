"""`athenan web`: the runs of a folder in a browser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from athenan_spiel.cli.console import say
from athenan_spiel.cli.exit_codes import DONE
from athenan_spiel.cli.java import LudiiMemory
from athenan_spiel.cli.parsing import parse
from athenan_spiel.errors import ConfigError, shown


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where pages are served; the options of all commands that serve some."""

    host: str = "127.0.0.1"
    """Where the pages are served: this machine alone by default; at any other address, such as 0.0.0.0, only to those
    who bring the token that is printed."""
    port: int = 8000
    """The port of the address."""
    open: tyro.conf.FlagCreatePairsOff[bool] = False
    """Open the page in this machine's browser."""


@dataclass(frozen=True, kw_only=True)
class WebArguments(Address):
    """Look at all runs of a folder in a browser: their curves, side by side, live; play against them; read the reports
    of experiments and tournaments beside them.

    Example: athenan web runs
    """

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")] = Path("runs")
    """The folder of the runs."""
    ludii_memory: LudiiMemory = None


def run(words: Sequence[str]) -> int:
    """Run `athenan web` with these words; returns the exit code."""
    arguments = parse(WebArguments, words, "athenan web")
    if not arguments.folder.is_dir():
        raise ConfigError(
            f"expected a folder of runs, got {shown(str(arguments.folder))}: train one, or name its folder"
        )
    from athenan_spiel.web.server import require_web, serve
    from athenan_spiel.web.site import Site

    require_web()
    serve(Site(runs=arguments.folder), arguments.host, arguments.port, opens=arguments.open, tell=say)
    return DONE
