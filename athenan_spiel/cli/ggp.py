"""`athenan ggp`: trains an agent for each of many games, and reports how it does against standard opponents."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import tyro
from rich.live import Live
from rich.table import Table

from athenan_spiel.cli.console import as_word, output, print_json, progress, say
from athenan_spiel.cli.exit_codes import DONE, STOPPED
from athenan_spiel.cli.options import Cluster, LudiiMemory, Memory, parse_duration, parse_memory, with_address
from athenan_spiel.cli.parsing import parse
from athenan_spiel.errors import ConfigError
from athenan_spiel.system.machine import cores
from athenan_spiel.training.new_folder import RUNS

if TYPE_CHECKING:
    from athenan_spiel.ggp import GgpSettings
    from athenan_spiel.ggp.report import GgpReport
    from athenan_spiel.ggp.task import GameProgress

MAX_LIVE_GAMES = 20
"""Maximum number of games in the table of a terminal."""


@dataclass(frozen=True, kw_only=True)
class GgpArguments:
    """Train an agent for each of many games with settings fitted to the game, and play against standard opponents.

    The arguments are a TOML file (docs/ggp.md) or games. Ctrl-C saves and stops; the same command continues, also
    after a kill, and repeats no finished game. A game that fails becomes a row with its reason.

    Example: athenan ggp connect_four "hex(board_size=7)" --time 3m --folder runs/two
    """

    games: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FILE|GAME [GAME ...]")] = ()
    """TOML file, or OpenSpiel game strings."""
    sample: int | None = None
    """Number of games drawn from those that can be trained, in addition to the given ones."""
    sources: Annotated[
        tuple[Literal["openspiel", "ludii"], ...], tyro.conf.arg(name="from", metavar="SOURCE [SOURCE ...]")
    ] = ()
    """Sources of --sample, openspiel or ludii; default: both. Each supplies the same number of games, or all that it
    has."""
    time: str | None = None
    """Training time of each game, such as 90s or 3m; default: the file's, or 3m."""
    matches: int | None = None
    """Games against each opponent, half with each colour; default: the file's, or 20."""
    move_time: str | None = None
    """Time per move of the trained agents and the usual opponents, such as 0.1s; default: the file's, or 0.1s."""
    opponents: Annotated[tuple[str, ...], tyro.conf.arg(metavar="AGENT [...]")] = ()
    """Opponents as for `athenan eval`, such as mcts:1000; default: the file's, or OpenSpiel's MCTS with the same time
    per move; in Ludii's games Ludii's UCT, and the AI that Ludii recommends, if that is another one."""
    seed: int | None = None
    """Random seed of the sample, the trainings and the openings; default: the file's, or 0."""
    folder: str | None = None
    """Folder of the results; default: runs/NAME, with the name in the file, or runs/ggp."""
    processes: int | None = None
    """Number of games at the same time. It affects the speed of each training, so keep it for the whole series;
    default: one per core."""
    cluster: Cluster = None
    """Address of a Ray cluster that runs the games: auto for the one of this machine, HOST:PORT for one that this
    machine is a node of; without ADDRESS a local one. All its machines must see the folder. --processes is then by
    default the number of its cores."""
    memory: Memory = None
    """Memory budget of each training, such as 800m or 4g. A training whose process needs 1.25 times as much fails;
    default: no budget, and a training fails if it needs more than the machine's memory / processes."""
    retry: tyro.conf.FlagCreatePairsOff[bool] = False
    """Run the games again that failed, and play the games against opponents that had no result."""
    check: tyro.conf.FlagCreatePairsOff[bool] = False
    """Only load the games, and print those that cannot be trained. It loads only one of Ludii's tested games."""
    report: tyro.conf.FlagCreatePairsOff[bool] = False
    """Only write the report of the folder's games again, finished or not."""
    ludii_memory: LudiiMemory = None
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print the results as one JSON document."""


def run(words: Sequence[str]) -> int:
    """Run `athenan ggp` with these arguments; returns the exit code."""
    arguments = parse(GgpArguments, with_address(words), "athenan ggp")
    if arguments.check and arguments.report:
        raise ConfigError("expected --check or --report, got both")
    with progress().status("reading the games"):
        settings = _settings(arguments)
    if arguments.check:
        return _check(settings)
    folder = Path(arguments.folder) if arguments.folder is not None else RUNS / settings.name
    from athenan_spiel.ggp import report_ggp, run_ggp

    try:
        if arguments.report:
            report = report_ggp(settings, folder)
        else:
            from athenan_spiel.experiments.run import MOST_PROCESSES
            from athenan_spiel.training.actors.placement import join_for_games

            processes = cores() if arguments.processes is None else arguments.processes
            with join_for_games(arguments.cluster, ()) as cluster, _View(settings) as view:
                if cluster is not None and arguments.processes is None:
                    processes = min(MOST_PROCESSES, cluster.processors)
                report = run_ggp(
                    settings,
                    folder,
                    processes=processes,
                    on_progress=view.update,
                    retry=arguments.retry,
                    cluster=cluster,
                )
    except KeyboardInterrupt:
        say(f"stopped; continue with: athenan ggp {' '.join(map(as_word, words))}")
        return STOPPED
    _print(report, folder, as_json=arguments.json)
    return DONE


def _settings(arguments: GgpArguments) -> GgpSettings:
    from athenan_spiel.ggp import GgpSettings, drawn_games, read_ggp
    from athenan_spiel.ggp.draw import SOURCES

    games: tuple[str, ...] = arguments.games
    options: dict[str, Any] = {
        "seconds": None if arguments.time is None else parse_duration(arguments.time),
        "matches": arguments.matches,
        "move_seconds": None if arguments.move_time is None else parse_duration(arguments.move_time),
        "opponents": arguments.opponents or None,
        "seed": arguments.seed,
        "memory": None if arguments.memory is None else parse_memory(arguments.memory),
    }
    given = {name: value for name, value in options.items() if value is not None}
    if arguments.sources and arguments.sample is None:
        raise ConfigError("--from names the sources of --sample, which is missing")
    if len(games) == 1 and games[0].endswith(".toml"):
        if arguments.sample is not None:
            raise ConfigError("--sample is for games on the command line: a file has the table [draw]")
        return dataclasses.replace(read_ggp(games[0]), **given)
    if arguments.sample is not None:
        sources = arguments.sources or SOURCES
        games = tuple(dict.fromkeys([*games, *drawn_games(arguments.sample, sources, arguments.seed or 0)]))
    if not games:
        raise ConfigError("expected a file, games or --sample, got none of them")
    return GgpSettings(name="ggp", games=games, **given)


def _check(settings: GgpSettings) -> int:
    from athenan_spiel.games import load_game
    from athenan_spiel.ggp.draw import tested_ludii_games

    tested = tested_ludii_games() if any(game.startswith("ludii(") for game in settings.games) else []
    known = [game for game in settings.games if game in tested]  # the first shows that Ludii works
    bad = 0
    for game in settings.games:
        if game in known[1:]:
            continue
        try:
            load_game(game)
        except Exception as error:
            bad += 1
            say(f"{game}: {error}")
    say(f"{len(settings.games) - bad} of {len(settings.games)} games can be trained")
    return DONE


def _print(report: GgpReport, folder: Path, *, as_json: bool) -> None:
    if as_json:
        print_json(report.to_json())
    else:
        output().print(report.table() if report.results else "no game is finished", soft_wrap=True)
    for row in report.failures:
        say(f"{row['game']}: {row['reason']}")
    say(f"report: {folder / 'report.md'}" + ("" if report.complete else " (not finished: some games are missing)"))


class _View:
    """A live table of the games in progress on a terminal; elsewhere a line for each change of phase."""

    def __init__(self, settings: GgpSettings) -> None:
        self._states: dict[str, GameProgress | None] = dict.fromkeys(settings.games)
        console = progress()
        self._live = Live(console=console, transient=True, get_renderable=self._table) if console.is_terminal else None

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live is not None:
            self._live.stop()

    def update(self, game: str, state: GameProgress) -> None:
        """Show the progress of a game."""
        before = self._states[game]
        if before is not None and before.phase != state.phase:
            del self._states[game]  # the last one to change its phase becomes the last one
        self._states[game] = state
        if self._live is None and (before is None or before.phase != state.phase):
            say(f"{game}: {state.phase}{f' ({state.reason})' if state.reason else ''}")

    def _table(self) -> Table:
        ended = [
            state for state in self._states.values() if state is not None and state.phase in ("finished", "failed")
        ]
        from athenan_spiel.ggp.report import cells

        table = Table(title=f"{len(ended)} of {len(self._states)} games finished", title_justify="left")
        table.add_column("game", no_wrap=True, overflow="ellipsis", max_width=40)
        for name in ("phase", "done", "time left", "points"):
            table.add_column(name, justify="left" if name == "phase" else "right")
        known = [(game, state) for game, state in self._states.items() if state is not None]
        running = [(game, state) for game, state in known if state not in ended]
        latest = [(game, state) for game, state in reversed(known) if state in ended]
        for game, state in (running + latest)[:MAX_LIVE_GAMES]:
            table.add_row(game, *cells(state))
        return table
