"""`athenan web`: shows the runs of a folder in a browser."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from athenan_spiel.cli.console import say
from athenan_spiel.cli.exit_codes import DONE
from athenan_spiel.cli.options import LudiiMemory, Memory, parse_memory
from athenan_spiel.cli.parsing import parse
from athenan_spiel.cli.waiting import Waiting
from athenan_spiel.errors import ConfigError, shown

if TYPE_CHECKING:
    from athenan_spiel.web.site import SiteContent


@dataclass(frozen=True, kw_only=True)
class Address:
    """Options of all commands that serve pages."""

    host: str = "127.0.0.1"
    """Address of the pages. If other machines can reach it, as with 0.0.0.0, visitors need the printed token."""
    port: int = 8000
    """Port of the pages."""
    open: tyro.conf.FlagCreatePairsOff[bool] = False
    """Open the page in the browser of this machine."""
    memory: Memory = None
    """Memory limit of this process, such as 2g. To stay within it, searches end earlier, and the least recently used
    search trees are freed; default: half of the available memory."""


@dataclass(frozen=True, kw_only=True)
class WebArguments(Address):
    """Show the runs of a folder in a browser: a table of their state and strength, curves to compare, play against
    their agents, and the reports of experiments and tournaments.

    Example: athenan web runs
    """

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")] = Path("runs")
    """Folder of the runs."""
    ludii_memory: LudiiMemory = None


def run(words: Sequence[str]) -> int:
    """Run `athenan web` with these words; returns the exit code."""
    arguments = parse(WebArguments, words, "athenan web")
    if not arguments.folder.is_dir():
        raise ConfigError(
            f"expected a folder of runs, got {shown(str(arguments.folder))}: train one, or name its folder"
        )
    from athenan_spiel.web.site import SiteContent

    serve_pages(
        SiteContent(runs=arguments.folder),
        arguments.host,
        arguments.port,
        opens=arguments.open,
        memory=arguments.memory,
    )
    return DONE


def serve_pages(site: SiteContent, host: str, port: int, *, opens: bool, memory: str | None) -> None:
    """Serve pages until Ctrl-C, and print their address.

    Args:
        memory: memory limit of this process, as for `--memory`.

    Raises:
        ConfigError: NiceGUI is missing, the address cannot be used, or the limit is invalid or too small.
    """
    limit = None if memory is None else parse_memory(memory)
    from athenan_spiel.web.server import require_free, require_web, serve

    require_web()
    require_free(host, port)
    with Waiting("starting the pages"):
        importlib.import_module("athenan_spiel.web.pages")  # takes some seconds
    serve(site, host, port, opens=opens, tell=say, memory=limit)
