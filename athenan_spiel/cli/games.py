"""`athenan games`: lists the games that can be trained, and the reasons why others cannot."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.table import Table

from athenan_spiel.cli.console import output, print_json
from athenan_spiel.cli.exit_codes import DONE
from athenan_spiel.cli.parsing import parse
from athenan_spiel.errors import ConfigError, shown

if TYPE_CHECKING:
    from athenan_spiel.games import GameInfo


@dataclass(frozen=True, kw_only=True)
class GamesArguments:
    """List the games of OpenSpiel or Ludii that can be trained, and the reasons why others can't.

    --ludii with the full name of a game, as in `athenan games --ludii "Lines of Action"`, shows its options and
    outcomes, and the length and branching factor of random games.

    Example: athenan games chess
    """

    filter: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILTER")] = ""
    """Part of the names of the games to list; default: all games."""
    ludii: tyro.conf.FlagCreatePairsOff[bool] = False
    """List the games of Ludii. The list needs neither Java nor Ludii, but is longer with Ludii's jar. Details of a
    single game need both."""
    why: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print only the reasons for rejections, each with the number of games and their names."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print one JSON document."""


def run(words: Sequence[str]) -> int:
    """Run `athenan games` with these words; returns the exit code."""
    arguments = parse(GamesArguments, words, "athenan games")
    if arguments.ludii:
        from athenan_spiel.cli.ludii_games import rejected, show

        if arguments.why:
            _show_rejections(*rejected(arguments.filter), json=arguments.json)
        else:
            show(arguments.filter, json=arguments.json)
        return DONE
    from athenan_spiel.games import all_games

    wanted = arguments.filter.lower()
    games = [game for game in all_games() if wanted in game.short_name or wanted in game.long_name.lower()]
    if not games:
        raise ConfigError(f"expected a part of a game's name, got {shown(arguments.filter)}: `athenan games` lists all")
    if arguments.why:
        pairs = ((reason, game.short_name) for game in games for reason in game.reasons)
        _show_rejections(pairs, len(games), json=arguments.json)
    elif arguments.json:
        print_json([_document(game) for game in games])
    else:
        output().print(_table(games))
    return DONE


def _show_rejections(rejections: Iterable[tuple[str, str]], games: int, *, json: bool) -> None:
    """Print each reason with its games, the most frequent reason first.

    Args:
        rejections: (reason, name of a game) for each reason of each game.
        games: number of games that match the filter.
    """
    found: dict[str, list[str]] = {}
    for reason, name in rejections:
        found.setdefault(reason, []).append(name)
    rows = sorted(found.items(), key=lambda row: (-len(row[1]), row[0]))
    if json:
        print_json([{"reason": reason, "count": len(names), "games": names} for reason, names in rows])
        return
    if not rows:
        output().print(f"All {games} games can be trained." if games > 1 else "The game can be trained.")
        return
    table = Table(
        title=f"{len({name for _, names in rows for name in names})} of {games} games cannot be trained",
        title_justify="left",
        caption="A game may have several reasons.",
    )
    table.add_column("count", justify="right")
    table.add_column("reason")
    table.add_column("games")
    for reason, names in rows:
        table.add_row(str(len(names)), reason, ", ".join(names))
    output().print(table)


def _document(game: GameInfo) -> dict[str, Any]:
    return {**dataclasses.asdict(game), "parameters": dict(game.parameters), "outcomes": _outcomes(game)}


def _outcomes(game: GameInfo) -> list[str]:
    """Returns the names that `--outcome` accepts for the game."""
    from athenan_spiel.outcomes import outcomes_for

    return outcomes_for(game.short_name, 1 if game.players == (1, 1) else 2) if game.supported else []


def _table(games: Sequence[GameInfo]) -> Table:
    supported = [game for game in games if game.supported]
    table = Table(title=f"{len(supported)} of {len(games)} games can be trained", title_justify="left")
    table.add_column("game", no_wrap=True)
    table.add_column("parameters")
    table.add_column("can be trained")
    table.add_column("additional --outcome")
    for game in [*supported, *(game for game in games if not game.supported)]:
        parameters = ", ".join(f"{name}={default}" for name, default in game.parameters)
        yes = "yes" if game.players != (1, 1) else "yes, for one player: by --outcome score"
        verdict = yes if game.supported else f"no: {'; '.join(game.reasons)}"
        text = f"{verdict}; {game.note}" if game.note else verdict
        counted = ", ".join(name for name in _outcomes(game) if name in ("score", "presence"))
        table.add_row(game.short_name, parameters, text, counted, style=None if game.supported else "dim")
    return table
