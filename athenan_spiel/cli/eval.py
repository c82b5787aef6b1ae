"""`athenan eval`: matches of one agent against others, with both colours, and what they say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from athenan_spiel.cli.console import output, print_json, progress, say
from athenan_spiel.cli.eval_alone import play_alone, table_of
from athenan_spiel.cli.exit_codes import DONE, STOPPED
from athenan_spiel.cli.parsing import parse
from athenan_spiel.errors import ConfigError

if TYPE_CHECKING:
    import pyspiel

    from agents import AgentWord
    from athenan_spiel.arena import Comparison, Interval
    from athenan_spiel.matches import Series


@dataclass(frozen=True, kw_only=True)
class EvalArguments:
    """Let AGENT play matches against other agents: every random opening twice, colours exchanged. In a game for one
    player each agent plays by itself, and scores are compared.

    An agent is one word: runs/NAME, runs/NAME@0.5s (seconds a move), runs/NAME@200i (search iterations a move),
    mcts:1000 (OpenSpiel's, simulations a move), random.

    Example: athenan eval runs/connect_four@0.1s --against mcts:100 mcts:1000
    """

    agent: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="AGENT")]
    """The agent that is measured."""
    against: Annotated[tuple[str, ...], tyro.conf.arg(metavar="AGENT [AGENT ...]")] = ()
    """Its opponents, one series of matches each; in a game for one player there need not be any."""
    matches: int = 100
    """Matches against each opponent, half with each colour."""
    opening_plies: int | None = None
    """Random actions at the beginning of a match; by default 2, and in a game for one player none."""
    game: str | None = None
    """An OpenSpiel game string; not needed where one of the agents is a run."""
    seed: int = 0
    """Of the openings and the agents."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print one JSON document."""


def run(words: Sequence[str]) -> int:
    """Run `athenan eval` with these words; returns the exit code."""
    arguments = parse(EvalArguments, words, "athenan eval")
    from agents import parse_word

    contender = parse_word(arguments.agent)
    opponents = [parse_word(word) for word in arguments.against]
    for word in (contender, *opponents):
        if word.is_human:
            raise ConfigError(f"expected agents that play by themselves, got {word.text!r}: use `athenan play`")
    game = _game(arguments.game, [contender, *opponents])
    table: Table | None
    if game.num_players() == 1:
        plies = 0 if arguments.opening_plies is None else arguments.opening_plies
        scores, finished = play_alone(game, [contender, *opponents], arguments.matches, plies, arguments.seed)
        results: dict[str, list[Any]] = {"scores": [one.to_json() for one in scores]}
        table = table_of(game, scores) if scores else None
    else:
        if not opponents:
            raise ConfigError("expected at least one agent after --against, got none")
        plies = 2 if arguments.opening_plies is None else arguments.opening_plies
        comparisons, finished = _play(game, contender, opponents, arguments, plies)
        results = {"comparisons": [comparison.to_json() for comparison in comparisons]}
        table = _table(game, contender, comparisons) if comparisons else None
    if arguments.json:
        about = {"game": str(game), "opening_plies": plies, "seed": arguments.seed, "finished": finished}
        print_json({**about, **results})
    elif table is not None:
        output().print(table)
    if finished:
        return DONE
    say("stopped: the matches that were finished are counted")
    return STOPPED


def _game(spec: str | None, words: Sequence[AgentWord]) -> pyspiel.Game:
    """The game named on the command line, else that of the first run among the agents."""
    from athenan_spiel.games import load_game

    if spec is not None:
        return load_game(spec)
    folders = [str(word.params["checkpoint"]) for word in words if "checkpoint" in word.params]
    if not folders:
        raise ConfigError("expected a game, as no agent is a run: add one such as --game connect_four")
    from athenan_spiel.training.run_folder import RunFolder

    return load_game(RunFolder(folders[0]).require_run().settings()[0])


def _play(
    game: pyspiel.Game, contender: AgentWord, opponents: Sequence[AgentWord], arguments: EvalArguments, plies: int
) -> tuple[list[Comparison], bool]:
    """A comparison with each opponent, and whether all matches were played: Ctrl-C ends them early."""
    from athenan_spiel.arena import Comparison

    comparisons = []
    with _bar() as bar:
        for opponent in opponents:
            series, finished = _series(game, contender, opponent, arguments, plies, bar)
            if series.results:
                comparisons.append(Comparison(contender.text, opponent.text, series))
            if not finished:
                return comparisons, False
    return comparisons, True


def _series(
    game: pyspiel.Game, contender: AgentWord, opponent: AgentWord, arguments: EvalArguments, plies: int, bar: Progress
) -> tuple[Series, bool]:
    from agents import make_bot
    from athenan_spiel.matches import Series, play_series

    played = Series()
    task = bar.add_task(f"against {opponent}", total=arguments.matches, tally="")

    def on_match(series: Series) -> None:
        nonlocal played
        played = series
        tally = f"{series.wins} won, {series.draws} drawn, {series.losses} lost"
        bar.update(task, completed=series.tally.matches, tally=tally)

    try:
        play_series(
            game,
            lambda player: make_bot(contender, game, player, arguments.seed),
            lambda player: make_bot(opponent, game, player, arguments.seed + 1),
            arguments.matches,
            opening_plies=plies,
            seed=arguments.seed,
            on_match=on_match,
        )
    except KeyboardInterrupt:
        return played, False
    return played, True


def _bar() -> Progress:
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[tally]}", markup=False),
        TimeRemainingColumn(),
    )
    console = progress()
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _table(game: pyspiel.Game, contender: AgentWord, comparisons: Sequence[Comparison]) -> Table:
    table = Table(title=f"{contender} at {game}", title_justify="left")
    table.add_column("against")
    confidence = comparisons[0].points.confidence
    for name in ("matches", "won", "drawn", "lost", "points", f"{confidence:.0%} interval", "Elo difference"):
        table.add_column(name, justify="right")
    for comparison in comparisons:
        tally, points = comparison.series.tally, comparison.points
        table.add_row(
            comparison.opponent,
            *map(str, (tally.matches, tally.wins, tally.draws, tally.losses)),
            f"{points.estimate:.1%}",
            f"{points.low:.1%} to {points.high:.1%}",
            _elo(comparison.elo),
        )
    return table


def _elo(elo: Interval) -> str:
    def signed(value: float) -> str:
        return f"{value:+.0f}" if math.isfinite(value) else ("+∞" if value > 0 else "-∞")

    return f"{signed(elo.estimate)} ({signed(elo.low)} to {signed(elo.high)})"
