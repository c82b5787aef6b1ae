"""`athenan eval`: evaluates an agent in games against others, with both colours."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from athenan_spiel.cli.console import output, print_json, progress, say
from athenan_spiel.cli.eval_tables import (
    comparison_table,
    conditions,
    details_table,
    scores_table,
    seats_table,
    sides_table,
)
from athenan_spiel.cli.exit_codes import BAD_INPUT, DONE, STOPPED
from athenan_spiel.cli.options import AllowProgram, Cluster, allowed, parse_duration, with_address
from athenan_spiel.cli.parsing import parse
from athenan_spiel.cli.series import SeriesOptions
from athenan_spiel.config.evaluation import EvaluationRequest
from athenan_spiel.system.stopping import StopRequests

if TYPE_CHECKING:
    from athenan_spiel.arena.evaluation import AgentEvaluation, EvaluationReport, OnGame
    from athenan_spiel.play.series import Series


@dataclass(frozen=True, kw_only=True)
class EvalArguments(SeriesOptions):
    """Let AGENT play games against other agents: every opening is played with both colours. In a single-player game
    each agent plays alone, and scores are compared.

    Agents are given as spec strings: runs/NAME, runs/NAME#640 (its checkpoint after 640 games), runs/NAME@0.5s (time
    per move), runs/NAME@200i (search iterations per move), runs/NAME@60s/match (time per game), runs/NAME@5m+2s (with
    an increment), mcts:1000, mcts@0.1s (OpenSpiel's), uct:160 (the papers'), gtp:COMMAND, uci:COMMAND, random;
    docs/using.md lists all. They are loaded before the first game. An agent that fails later, or chooses an illegal
    move, forfeits that game. A game whose process dies or hangs is counted only as failed.

    Example: athenan eval runs/connect_four@0.1s --against mcts:100 mcts:1000 --save matches.jsonl
    """

    agent: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="AGENT")]
    """Agent to evaluate."""
    against: Annotated[tuple[str, ...], tyro.conf.arg(metavar="AGENT [AGENT ...]")] = ()
    """Opponents, one series of games each; optional in a single-player game."""
    matches: int = 100
    """Games against each opponent, half with each colour; with n > 2 players rounded up to a multiple of 2n."""
    save: str | None = None
    """New file for the games, one per line, which `athenan replay` shows."""
    seed: int = 0
    """Random seed of the openings, the rolls and the agents."""
    allow_program: AllowProgram = ()
    """Only program that may be started, for agents that come from a file. Without this option all are allowed."""
    cluster: Cluster = None
    """Address of a Ray cluster that plays: auto for the one of this machine, HOST:PORT for one that this machine is a
    node of; without ADDRESS a local one. All its machines need the programs and files that the agents name."""


def run(words: Sequence[str]) -> int:
    """Run `athenan eval` with these arguments; returns the exit code."""
    arguments = parse(EvalArguments, with_address(words), "athenan eval")
    from athenan_spiel.arena.evaluation import AgentEvaluation, EvaluationReport
    from athenan_spiel.arena.record import new_match_file

    evaluation = AgentEvaluation(_request(arguments), progress().status)
    if arguments.check:
        say(f"ready to play {evaluation.game}: {', '.join(map(str, evaluation.contestants))}")
        return DONE
    save = None if arguments.save is None else new_match_file(arguments.save)
    report = EvaluationReport()
    with StopRequests() as stops:
        try:
            with stops.droppable(), _progress_bars(evaluation) as on_game:
                evaluation.play(report, on_game, save)
        except BaseException as raised:
            report.failure = raised  # it is raised after the finished games are printed
        _print_report(evaluation, report, as_json=arguments.json)  # a signal no longer interrupts
    lines, measured = report.problems()
    for line in lines:
        say(line)
    if report.failure is None:
        return DONE if measured else BAD_INPUT
    if isinstance(report.failure, KeyboardInterrupt):
        say("stopped; the finished games are counted")
        return STOPPED
    raise report.failure


def _request(arguments: EvalArguments) -> EvaluationRequest:
    return EvaluationRequest(
        agent=arguments.agent,
        opponents=arguments.against,
        game=arguments.game,
        matches=arguments.matches,
        opening_plies=arguments.opening_plies,
        openings=arguments.openings,
        judge=arguments.judge,
        limit=arguments.limit,
        sprt=arguments.sprt,
        seed=arguments.seed,
        allow_code=allowed(arguments.allow_code),
        allow_programs=arguments.allow_program or None,
        matches_at_once=arguments.matches_at_once,
        stall_seconds=parse_duration(arguments.stall_time),
        cluster=arguments.cluster,
    )


@contextlib.contextmanager
def _progress_bars(evaluation: AgentEvaluation) -> Iterator[OnGame]:
    """Show a progress bar for each series, or for each agent that plays alone."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[result]}", markup=False),
        TimeRemainingColumn(),
    )
    console, alone = progress(), evaluation.is_single_player
    contender, *opponents = evaluation.contestants
    names = [str(contender), *map(str, opponents)] if alone else [f"against {opponent}" for opponent in opponents]
    planned = evaluation.matches
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        tasks = [bars.add_task(name, total=planned, result="") for name in names]

        def on_game(index: int, series: Series) -> None:
            if evaluation.game.num_players() > 2:
                result = ""
            elif alone:
                result = f"best {max(result.returns[0] for result in series.results):g}"
            else:
                tally = series.tally
                result = f"{tally.wins} won, {tally.draws} drawn, {tally.losses} lost"
            bars.update(tasks[index], completed=len(series.results), result=result)

        yield on_game


def _print_report(evaluation: AgentEvaluation, report: EvaluationReport, *, as_json: bool) -> None:
    """Print the finished games."""
    results: list[Any] = report.results
    if as_json:
        print_json(evaluation.to_json(report))
    elif not results:
        return
    elif evaluation.openings is None:
        output().print(scores_table(evaluation.game, results))
    elif evaluation.game.num_players() > 2:
        output().print(seats_table(evaluation.game, results))
        request = evaluation.request
        print(conditions(evaluation.matches, (), evaluation.openings.told, request.limit, evaluation.unlimited, "seat"))
    else:
        output().print(comparison_table(evaluation.game, results))
        output().print(sides_table(results))
        output().print(details_table(results))
        request = evaluation.request
        print(conditions(request.matches, results, evaluation.openings.told, request.limit, evaluation.unlimited))
