"""`athenan games`: which games can be trained here, and why not where they cannot."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.markup import escape
from rich.table import Table

from athenan_spiel.cli.console import output, print_json
from athenan_spiel.cli.exit_codes import DONE
from athenan_spiel.cli.parsing import parse
from athenan_spiel.errors import ConfigError

if TYPE_CHECKING:
    from athenan_spiel.games import GameInfo
    from ludii_bridge.verdicts import Verdict


@dataclass(frozen=True, kw_only=True)
class GamesArguments:
    """List OpenSpiel's games, or Ludii's: which can be trained, and why not where they cannot.

    Example: athenan games chess
    """

    filter: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILTER")] = ""
    """Only games with this in their name."""
    ludii: tyro.conf.FlagCreatePairsOff[bool] = False
    """The board games of Ludii, as they were tried; this needs neither Java nor Ludii."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print one JSON document."""


def run(words: Sequence[str]) -> int:
    """Run `athenan games` with these words; returns the exit code."""
    arguments = parse(GamesArguments, words, "athenan games")
    if arguments.ludii:
        return _run_ludii(arguments)
    from athenan_spiel.games import all_games

    wanted = arguments.filter.lower()
    games = [game for game in all_games() if wanted in game.short_name or wanted in game.long_name.lower()]
    if not games:
        raise ConfigError(f"expected a part of a game's name, got {arguments.filter!r}: `athenan games` lists all")
    if arguments.json:
        print_json([_document(game) for game in games])
    else:
        output().print(_table(games))
    return DONE


def _run_ludii(arguments: GamesArguments) -> int:
    """The sweep that the bridge brings along."""
    from ludii_bridge.verdicts import read

    tried = read()
    verdicts = [verdict for verdict in tried if arguments.filter.lower() in verdict.name.lower()]
    if not verdicts:
        raise ConfigError(
            f"expected a part of the name of one of Ludii's {len(tried)} board games, got {arguments.filter!r}: "
            "`athenan games --ludii` lists all"
        )
    if arguments.json:
        print_json([dataclasses.asdict(verdict) | {"supported": not verdict.reason} for verdict in verdicts])
    else:
        output().print(_ludii_table(verdicts))
    return DONE


def _ludii_table(verdicts: Sequence[Verdict]) -> Table:
    supported = [verdict for verdict in verdicts if not verdict.reason]
    versions = " and ".join(sorted({verdict.version for verdict in verdicts}))
    title = f"{len(supported)} of {len(verdicts)} board games of Ludii {versions} can be trained"
    table = Table(title=title, title_justify="left")
    table.add_column("game", no_wrap=True)
    table.add_column("can be trained")
    table.add_column("tensor")
    table.add_column("most moves met", justify="right")
    for verdict in [*supported, *(verdict for verdict in verdicts if verdict.reason)]:
        shape = " x ".join(map(str, verdict.shape))
        facts = ("yes", shape, str(verdict.branching)) if not verdict.reason else (f"no: {verdict.reason}", "", "")
        table.add_row(escape(verdict.name), *facts, style=None if not verdict.reason else "dim")
    return table


def _document(game: GameInfo) -> dict[str, Any]:
    return {**dataclasses.asdict(game), "parameters": dict(game.parameters), "outcomes": _outcomes(game)}


def _outcomes(game: GameInfo) -> list[str]:
    """The names that `--outcome` takes for the game."""
    from athenan_spiel.outcomes import outcomes_for

    return outcomes_for(game.short_name, 1 if game.players == (1, 1) else 2) if game.supported else []


def _table(games: Sequence[GameInfo]) -> Table:
    supported = [game for game in games if game.supported]
    table = Table(title=f"{len(supported)} of {len(games)} games can be trained", title_justify="left")
    table.add_column("game", no_wrap=True)
    table.add_column("parameters")
    table.add_column("can be trained")
    table.add_column("also --outcome")
    for game in [*supported, *(game for game in games if not game.supported)]:
        parameters = ", ".join(f"{name}={default}" for name, default in game.parameters)
        yes = "yes" if game.players != (1, 1) else "yes, for one player: by --outcome score"
        verdict = yes if game.supported else f"no: {'; '.join(game.reasons)}"
        text = f"{verdict}; {game.note}" if game.note else verdict
        counted = ", ".join(name for name in _outcomes(game) if name in ("score", "presence"))
        table.add_row(game.short_name, parameters, text, counted, style=None if game.supported else "dim")
    return table
