"""`athenan web`: the runs of a folder in a browser."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from athenan_spiel.cli.console import say
from athenan_spiel.cli.exit_codes import DONE
from athenan_spiel.cli.java import LudiiMemory
from athenan_spiel.cli.memory import Memory, parse_memory
from athenan_spiel.cli.parsing import parse
from athenan_spiel.cli.waiting import Waiting
from athenan_spiel.errors import ConfigError, shown

if TYPE_CHECKING:
    from athenan_spiel.web.site import Site


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
    memory: Memory = None
    """Memory limit of this process, such as 2g (default: half of what it may use). To stay within it, searches end
    sooner, and search trees unused longest are freed."""


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
    from athenan_spiel.web.site import Site

    serve_pages(
        Site(runs=arguments.folder), arguments.host, arguments.port, opens=arguments.open, memory=arguments.memory
    )
    return DONE


def serve_pages(site: Site, host: str, port: int, *, opens: bool, memory: str | None) -> None:
    """Serve pages until Ctrl-C, and say where they are.

    Args:
        memory: Memory limit of this process, as `--memory` gives it.

    Raises:
        ConfigError: NiceGUI is missing, the address cannot be listened at, or the limit is no size or too small.
    """
    limit = None if memory is None else parse_memory(memory)
    from athenan_spiel.web.server import require_free, require_web, serve

    require_web()
    require_free(host, port)
    with Waiting("starting the pages"):
        importlib.import_module("athenan_spiel.web.pages")  # which takes a while
    serve(site, host, port, opens=opens, tell=say, memory=limit)
