"""`athenan tournament`: a round robin of agents with ratings, tables and a plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from athenan_spiel.cli.console import as_word, output, print_json, progress, say
from athenan_spiel.cli.exit_codes import DONE, STOPPED
from athenan_spiel.cli.options import AllowProgram, allowed, parse_duration
from athenan_spiel.cli.parsing import parse
from athenan_spiel.cli.series import ProgressView, SeriesOptions
from athenan_spiel.errors import ConfigError, shown

if TYPE_CHECKING:
    from athenan_spiel.arena.standings import Standings
    from athenan_spiel.arena.tournament_settings import Tournament

RUNS = Path("runs") / "tournaments"
FILE_SETTINGS = (
    "pool",
    "game",
    "name",
    "matches",
    "opening_plies",
    "openings",
    "judge",
    "limit",
    "sprt",
    "anchor",
    "seed",
)
"""Options that a tournament file sets instead."""


@dataclass(frozen=True, kw_only=True)
class TournamentArguments(SeriesOptions):
    """Run a round robin, or games against a pool of opponents; every opening is played with both colours. With n > 2
    players each agent plays every seat alone against n - 1 copies of its opponent, and mean returns rank the agents.
    Ratings, tables, a plot and all games are written to a folder.

    The arguments are a TOML file (docs/arena.md) or agents. Ctrl-C stops. The same command continues, also after a
    kill, and repeats no finished game. An agent that fails loses that game. A game whose process dies or hangs is
    played again by the same command.

    Example: athenan tournament runs/c4@200i mcts:100 mcts:1000 random --matches 20
    """

    agents: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FILE|AGENT [AGENT ...]")]
    """TOML file, or agents as for `athenan eval`."""
    pool: Annotated[tuple[str, ...], tyro.conf.arg(metavar="AGENT [AGENT ...]")] = ()
    """Fixed opponents; if given, the agents play only against these."""
    name: str | None = None
    """Name of the tournament; default: the name of the game."""
    matches: int | None = None
    """Games of each pair, half with each colour; with n > 2 players a multiple of 2n. Default: 100, for n > 2 rounded
    up."""
    anchor: str | None = None
    """Agent with rating 0; default: the mean rating is 0."""
    seed: int | None = None
    """Random seed of the openings, the rolls and the agents; default: 0."""
    folder: str | None = None
    """Folder of the results; default: runs/tournaments/NAME."""
    report: tyro.conf.FlagCreatePairsOff[bool] = False
    """Only write the report of the folder's games again, finished or not."""
    allow_program: AllowProgram = ()
    """Command of an engine that the file names, exactly as in the file."""


def run(words: Sequence[str]) -> int:
    """Run `athenan tournament` with these arguments; returns the exit code."""
    arguments = parse(TournamentArguments, words, "athenan tournament")
    if arguments.check and arguments.report:
        raise ConfigError("expected --check or --report, got both")
    if arguments.matches_at_once is not None and not 1 <= arguments.matches_at_once <= 256:
        raise ConfigError(f"--matches-at-once must be from 1 to 256, got {shown(arguments.matches_at_once)}")
    stall_seconds = parse_duration(arguments.stall_time)
    code = allowed(arguments.allow_code)
    with progress().status("loading the agents"):
        from athenan_spiel.arena.tournament import report_tournament, run_tournament

        tournament = tournament_for(arguments)
    folder = Path(arguments.folder) if arguments.folder is not None else RUNS / tournament.name
    if arguments.report:
        return _print(report_tournament(tournament, folder, code), folder, as_json=arguments.json)
    try:
        with ProgressView() as view:
            standings = run_tournament(
                tournament,
                folder,
                matches_at_once=arguments.matches_at_once,
                progress=view.matches,
                allow_code=code,
                allow_programs=arguments.allow_program if _is_file(arguments) else None,
                check=arguments.check,
                stall_seconds=stall_seconds,
            )
    except KeyboardInterrupt:
        say(f"stopped; continue with: athenan tournament {' '.join(map(as_word, words))}")
        return STOPPED
    if standings is None:
        say(f"ready to play {tournament.match_count():,} games: {', '.join(tournament.specs)}")
        return DONE
    return _print(standings, folder, as_json=arguments.json)


def tournament_for(arguments: TournamentArguments) -> Tournament:
    """Returns the tournament that the command line or its file describes.

    Raises:
        ConfigError: the options are inconsistent, or one is a setting of the file.
    """
    from agents import parse_spec
    from agents.specs import game_for
    from athenan_spiel.arena.sprt import Sprt
    from athenan_spiel.arena.toml_tables import folder_name_problem
    from athenan_spiel.arena.tournament_settings import (
        OpeningsConfig,
        Tournament,
        named,
        openings_from,
        read_tournament,
    )
    from athenan_spiel.play.openings import games_per_opening

    if _is_file(arguments):
        if given := [name for name in FILE_SETTINGS if getattr(arguments, name) not in (None, ())]:
            option = "--" + given[0].replace("_", "-")
            raise ConfigError(
                f"{option} is a setting of the file, got both: leave it out, or write it into {arguments.agents[0]}"
            )
        return read_tournament(arguments.agents[0])
    if not arguments.agents:
        raise ConfigError("expected a TOML file or agents, got none: name some, such as mcts:100 random")
    agents, pool = named(arguments.agents), named(arguments.pool)
    game = game_for(arguments.game, [parse_spec(text) for text in (*agents, *pool)])
    plies = OpeningsConfig.plies if arguments.opening_plies is None else arguments.opening_plies
    name = arguments.name if arguments.name is not None else game.get_type().short_name
    if problem := folder_name_problem(name):
        raise ConfigError(f"name {problem}")
    each = games_per_opening(game)
    options = {"matches": -(-Tournament.matches // each) * each}
    options |= {key: value for key in ("matches", "seed") if (value := getattr(arguments, key)) is not None}
    return Tournament(
        name=name,
        games=(str(game),),
        agents=agents,
        pool=pool,
        openings=openings_from(arguments.openings, arguments.judge, plies),
        sequential=Sprt.of(arguments.sprt),
        limit=arguments.limit,
        anchor=arguments.anchor,
        **options,
    )


def _is_file(arguments: TournamentArguments) -> bool:
    """Whether a file describes the tournament."""
    return len(arguments.agents) == 1 and arguments.agents[0].endswith(".toml")


def _print(standings: Standings, folder: Path, *, as_json: bool) -> int:
    from athenan_spiel.arena.tournament_report import ratings_table, to_json

    if as_json:
        print_json(to_json(standings))
    else:
        for game in standings.tournament.games:
            if results := [result for result in standings.agents if result.game == game]:
                output().print(f"{game}\n{ratings_table(results)}", soft_wrap=True)
    for name, (count, reason) in standings.reasons.items():
        say(f"{name} forfeited {count} games, the first as {reason}")
    if standings.failures:
        say(f"{len(standings.failures)} games failed, the first: {standings.failures[0]}")
    if standings.without_limit:
        say(f"without --limit, which they do not accept: {', '.join(standings.without_limit)}")
    say(f"report: {folder / 'report.md'}" + ("" if standings.complete else " (not finished: some games are missing)"))
    return DONE
