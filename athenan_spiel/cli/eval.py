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
from athenan_spiel.cli.exit_codes import BAD_INPUT, DONE, STOPPED
from athenan_spiel.cli.java import LudiiMemory
from athenan_spiel.cli.own_code import AllowCode, allowed
from athenan_spiel.cli.parsing import parse
from athenan_spiel.cli.start import game_for
from athenan_spiel.errors import ConfigError, printable, shown

if TYPE_CHECKING:
    import pyspiel

    from athenan_spiel.arena import Comparison, Interval
    from athenan_spiel.arena.contestant import Contestant


MOST_MATCHES = 100_000
"""Of a series: more are not what was meant."""
MOST_AT_ONCE = 256
"""Matches at once."""


@dataclass(frozen=True, kw_only=True)
class EvalArguments:
    """Let AGENT play matches against other agents: every random opening twice, colours exchanged. In a game for one
    player each agent plays by itself, and scores are compared.

    An agent is one word: runs/NAME, runs/NAME#640 (its checkpoint after 640 matches), runs/NAME@0.5s (seconds a move),
    runs/NAME@200i (search iterations a move), runs/NAME@60s/match (a match clock), mcts:1000, mcts@0.1s (OpenSpiel's),
    uct:160 (the papers'), gtp:COMMAND, uci:COMMAND, random; docs/using.md has them all. They are loaded before the
    first match. One that fails later, or chooses no legal move, forfeits that match, and the next begins.

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
    allow_code: AllowCode = ()
    """An outcome of yours that a run was trained with; without this, the run's is the gain times its scale."""
    ludii_memory: LudiiMemory = None
    """The most that Java takes for a game of Ludii\'s, such as 4g; by default as LUDII_MEMORY says, else 2g."""
    matches_at_once: int | None = None
    """Matches that are played at once; 1: one after the other. By default, with seconds a move as many as there are
    cores, each in a process of its own (one of Ludii's games, as each process has its own Java); with iterations as
    many as make the networks fast."""
    check: tyro.conf.FlagCreatePairsOff[bool] = False
    """Only load the agents and draw the openings: what is wrong with them is said, and no match is played."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print one JSON document."""


def run(words: Sequence[str]) -> int:
    """Run `athenan eval` with these words; returns the exit code."""
    arguments = parse(EvalArguments, words, "athenan eval")
    from agents import parse_word
    from athenan_spiel.arena.contestant import Contestant

    code = allowed(arguments.allow_code)
    agents = [parse_word(word).allowing(code) for word in (arguments.agent, *arguments.against)]
    for word in agents:
        if word.is_human:
            raise ConfigError(f"expected agents that play by themselves, got {word.text!r}: use `athenan play`")
    game = game_for(arguments.game, agents)
    alone = game.num_players() == 1
    if not alone and not arguments.against:
        raise ConfigError("expected at least one agent after --against, got none")
    plies = _checked_opening_plies(game, arguments)
    with progress().status("loading the agents"):
        contestants = [Contestant(word, game, arguments.seed + (i > 0 and not alone)) for i, word in enumerate(agents)]

    if arguments.check:
        say(f"ready to play {game}: {', '.join(map(str, contestants))}")
        return DONE
    results: list[Any] = []
    failure: BaseException | None = None
    try:
        (play_alone if alone else _play)(
            game, contestants, arguments.matches, plies, arguments.seed, arguments.matches_at_once, results
        )
    except BaseException as raised:
        failure = raised  # whatever it is, what was played is told first
    _report(game, arguments, plies, results, failure)
    if failure is None:
        return DONE if alone or _all_measured(results) else BAD_INPUT
    if isinstance(failure, KeyboardInterrupt):
        say("stopped: the matches that were finished are counted")
        return STOPPED
    raise failure


def _all_measured(comparisons: Sequence[Comparison]) -> bool:
    """Say who forfeited matches and why; False where a whole series says nothing of play, as all its matches were."""
    measured = True
    for comparison in comparisons:
        count = comparison.series.tally.matches
        for name, forfeited, reason in comparison.forfeited():
            measured &= forfeited < count
            versus = f"{comparison.contender} against {comparison.opponent}"
            say(f"{versus}: {name} forfeited {forfeited} of {count} matches, the first as {reason}")
    return measured


def _report(
    game: pyspiel.Game, arguments: EvalArguments, plies: int, results: Sequence[Any], failure: BaseException | None
) -> None:
    """Print what was played until the end or until `failure`: `Comparison`s, in a game for one player `Scores`."""
    alone = game.num_players() == 1
    if arguments.json:
        reason = "stopped" if isinstance(failure, KeyboardInterrupt) else str(failure) or type(failure).__name__
        print_json(
            {
                "game": str(game),
                "opening_plies": plies,
                "seed": arguments.seed,
                "finished": failure is None,
                "reason": None if failure is None else reason,
                "scores" if alone else "comparisons": [one.to_json() for one in results],
            }
        )
    elif results:
        output().print((table_of if alone else _table)(game, results))


def _checked_opening_plies(game: pyspiel.Game, arguments: EvalArguments) -> int:
    """How many plies the openings have, in a game that has enough different ones."""
    from athenan_spiel.play.openings import lone_openings, series_openings

    if arguments.matches > MOST_MATCHES:
        raise ConfigError(f"matches must be at most {MOST_MATCHES}, got {shown(arguments.matches)}")
    at_once = arguments.matches_at_once
    if at_once is not None and not 1 <= at_once <= MOST_AT_ONCE:
        raise ConfigError(f"--matches-at-once must be from 1 to {MOST_AT_ONCE}, got {shown(at_once)}")
    alone = game.num_players() == 1
    plies = arguments.opening_plies if arguments.opening_plies is not None else 0 if alone else 2
    (lone_openings if alone else series_openings)(game, arguments.matches, plies, arguments.seed)
    return plies


def _play(
    game: pyspiel.Game,
    contestants: Sequence[Contestant],
    matches: int,
    plies: int,
    seed: int,
    at_once: int | None,
    found: list[Comparison],
) -> None:
    """Add to `found` a comparison with each opponent; that of a series which fails or is stopped, too."""
    from athenan_spiel.arena import Comparison
    from athenan_spiel.arena.processes import play_everywhere
    from athenan_spiel.play.match import MatchResult
    from athenan_spiel.play.series import Fixture, Played, fixtures, sides_of

    contender, *opponents = contestants
    planned = fixtures(game, matches, plies, seed)
    with _bar() as bar:
        for opponent in opponents:
            played = Played()
            task = bar.add_task(f"against {opponent}", total=matches, tally="")

            def on_result(fixture: Fixture, result: MatchResult, task: Any = task, played: Played = played) -> None:
                played.add(fixture, result)
                tally = played.series().tally
                won = f"{tally.wins} won, {tally.draws} drawn, {tally.losses} lost"
                bar.update(task, completed=tally.matches, tally=won)

            try:
                play_everywhere(
                    game,
                    sides_of(contender.bot, opponent.bot),
                    planned,
                    on_result,
                    forfeits=True,
                    at_once=at_once,
                )
            finally:
                if (series := played.series()).results:
                    found.append(Comparison(str(contender), str(opponent), series))


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


def _table(game: pyspiel.Game, comparisons: Sequence[Comparison]) -> Table:
    table = Table(title=f"{printable(comparisons[0].contender)} at {game}", title_justify="left")
    table.add_column("against")
    confidence = comparisons[0].points.confidence
    for name in ("matches", "won", "drawn", "lost", "points", f"{confidence:.0%} interval", "Elo difference"):
        table.add_column(name, justify="right")
    for comparison in comparisons:
        tally, points = comparison.series.tally, comparison.points
        table.add_row(
            printable(comparison.opponent),
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
