"""`athenan tournament`: many agents meet, from a file or from words, to ratings, tables and a plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from athenan_spiel.cli.console import as_word, output, print_json, progress, say
from athenan_spiel.cli.durations import parse_duration
from athenan_spiel.cli.exit_codes import DONE, STOPPED
from athenan_spiel.cli.java import LudiiMemory
from athenan_spiel.cli.own_code import AllowCode, AllowProgram, allowed
from athenan_spiel.cli.parsing import parse
from athenan_spiel.errors import ConfigError, shown

if TYPE_CHECKING:
    from athenan_spiel.arena.standings import Standings
    from athenan_spiel.arena.tournament_settings import Tournament

RUNS = Path("runs") / "tournaments"
OF_WORDS = ("pool", "game", "name", "matches", "opening_plies", "openings", "judge", "limit", "sprt", "anchor", "seed")
"""Options that a file says itself."""


@dataclass(frozen=True, kw_only=True)
class TournamentArguments:
    """Let agents meet: all each other, or those of a pool alone; every opening with both colours. Ratings, tables and a
    plot go into a folder, and so does every match.

    What takes part is a TOML file, which docs/arena.md describes, or the agents' words. Ctrl-C stops; the same command
    goes on, also after a kill, and plays no match twice. An agent that fails loses that match.

    Example: athenan tournament runs/c4@200i mcts:100 mcts:1000 random --matches 20
    """

    agents: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FILE|AGENT [AGENT ...]")]
    """A TOML file, or agents as `athenan eval` takes them."""
    pool: Annotated[tuple[str, ...], tyro.conf.arg(metavar="AGENT [AGENT ...]")] = ()
    """Agents whom the others meet, in place of each other: fixed opponents, for new agents to be measured by."""
    game: str | None = None
    """An OpenSpiel game string; not needed where one of the agents is a run."""
    name: str | None = None
    """Of the tournament; by default that of the game."""
    matches: int | None = None
    """Matches of each pair, half with each colour; 100 by default."""
    opening_plies: int | None = None
    """Random actions at the beginning of a match; 2 by default."""
    openings: str | None = None
    """A file with a line of moves for each opening; or `balanced`: random ones that a search finds near equal."""
    judge: str | None = None
    """Who says what is balanced: a run, or alphabeta@200i; by default UBFM over random playouts."""
    limit: str | None = None
    """Thinking a move of all agents that can take it: 0.1s, 200i (iterations) or 5000e (states valued)."""
    sprt: Annotated[tuple[float, float] | None, tyro.conf.arg(metavar="ELO0 ELO1")] = None
    """Stop a pair once a sequential test accepts that its first agent is ELO0 or that it is ELO1 points ahead."""
    anchor: str | None = None
    """The agent whose rating is 0; by default the mean of all is."""
    seed: int | None = None
    """Of the openings and the agents; 0 by default."""
    folder: str | None = None
    """Where results go; by default runs/tournaments and the tournament's name."""
    matches_at_once: int | None = None
    """Matches that are played at once, in processes of their own; by default as for `athenan eval`."""
    check: tyro.conf.FlagCreatePairsOff[bool] = False
    """Only look for what is wrong: the agents are loaded, and no match is played."""
    report: tyro.conf.FlagCreatePairsOff[bool] = False
    """Only make the report again from what the folder holds, finished or not."""
    allow_code: AllowCode = ()
    """An outcome of yours that a run was trained with; without this, the run's is the gain times its scale."""
    allow_program: AllowProgram = ()
    """The command of an engine that the file names, as it stands there."""
    stall_time: Annotated[str, tyro.conf.arg(metavar="TIME")] = "10m"
    """Time without a move or a batch of evaluations after which the process of a match is killed; the match counts as
    failed, the others go on, and the same command plays it again. The time limits of agents that think alone, as mcts
    does, are added."""
    ludii_memory: LudiiMemory = None
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print the results as one JSON document."""


def run(words: Sequence[str]) -> int:
    """Run `athenan tournament` with these words; returns the exit code."""
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
        with _View() as view:
            standings = run_tournament(
                tournament,
                folder,
                matches_at_once=arguments.matches_at_once,
                progress=view.show,
                allow_code=code,
                allow_programs=arguments.allow_program if _is_file(arguments) else None,
                check=arguments.check,
                stall_seconds=stall_seconds,
            )
    except KeyboardInterrupt:
        say(f"stopped; go on with: athenan tournament {' '.join(map(as_word, words))}")
        return STOPPED
    if standings is None:
        say(f"ready to play {tournament.match_count():,} matches: {', '.join(tournament.words)}")
        return DONE
    return _print(standings, folder, as_json=arguments.json)


def tournament_for(arguments: TournamentArguments) -> Tournament:
    """The tournament that the words of the command line, or the file that they name, describe.

    Raises:
        ConfigError: they do not make one; with a file, what it says itself is given here.
    """
    from agents import parse_word
    from agents.words import game_for
    from athenan_spiel.arena.tournament_file import named, read_tournament, usable_name
    from athenan_spiel.arena.tournament_settings import OpeningsConfig, SequentialConfig, Tournament, openings_from

    if _is_file(arguments):
        if said := [name for name in OF_WORDS if getattr(arguments, name) not in (None, ())]:
            option = "--" + said[0].replace("_", "-")
            raise ConfigError(
                f"{option} is said in the file, got both: leave it out, or write it into {arguments.agents[0]}"
            )
        return read_tournament(arguments.agents[0])
    if not arguments.agents:
        raise ConfigError("expected a TOML file or agents, got none: name some, such as mcts:100 random")
    agents, pool = named(arguments.agents), named(arguments.pool)
    game = game_for(arguments.game, [parse_word(word) for word in (*agents, *pool)])
    plies = OpeningsConfig.plies if arguments.opening_plies is None else arguments.opening_plies
    sequential = None if arguments.sprt is None else SequentialConfig(elo0=arguments.sprt[0], elo1=arguments.sprt[1])
    given = {name: value for name in ("matches", "seed") if (value := getattr(arguments, name)) is not None}
    return Tournament(
        name=usable_name(arguments.name if arguments.name is not None else game.get_type().short_name),
        games=(str(game),),
        agents=agents,
        pool=pool,
        openings=openings_from(arguments.openings, arguments.judge, plies),
        sequential=sequential,
        limit=arguments.limit,
        anchor=arguments.anchor,
        **given,
    )


def _is_file(arguments: TournamentArguments) -> bool:
    """Whether the tournament is described by a file."""
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
        say(f"{name} forfeited {count} matches, the first as {reason}")
    if standings.failures:
        say(f"{len(standings.failures)} matches failed, the first: {standings.failures[0]}")
    if standings.without_limit:
        say(f"without --limit, which they do not take: {', '.join(standings.without_limit)}")
    say(f"report: {folder / 'report.md'}" + ("" if standings.complete else " (not finished: some matches are missing)"))
    return DONE


class _View:
    """A bar on a terminal, lines elsewhere."""

    def __init__(self) -> None:
        console = progress()
        self._lines = not console.is_terminal
        columns = (TextColumn("matches"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=console, transient=True, disable=self._lines)
        self._task = self._bar.add_task("matches", total=None)
        self._said = -1

    def __enter__(self) -> _View:
        self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.stop()

    def show(self, done: int, total: int) -> None:
        """Show how many matches are played; of lines one at each tenth."""
        self._bar.update(self._task, completed=done, total=total)
        tenth = 10 * done // max(1, total)
        if self._lines and tenth != self._said:
            self._said = tenth
            say(f"matches: {done:,} of {total:,}")
