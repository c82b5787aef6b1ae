"""`athenan eval`: matches of one agent against others, with both colours, and what they say."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from athenan_spiel.cli.console import output, print_json, progress, say
from athenan_spiel.cli.durations import parse_duration
from athenan_spiel.cli.eval_tables import comparison_table, conditions, details_table, scores_table, sides_table
from athenan_spiel.cli.exit_codes import BAD_INPUT, DONE, STOPPED
from athenan_spiel.cli.java import LudiiMemory
from athenan_spiel.cli.own_code import AllowCode, AllowProgram, allowed
from athenan_spiel.cli.parsing import parse
from athenan_spiel.cli.workers import Cluster, with_address
from athenan_spiel.config.evaluation import EvaluationRequest
from athenan_spiel.system.stopping import StopRequests

if TYPE_CHECKING:
    from athenan_spiel.arena.evaluation import AgentEvaluation, EvaluationReport, OnGame
    from athenan_spiel.play.series import Series


@dataclass(frozen=True, kw_only=True)
class EvalArguments:
    """Let AGENT play matches against other agents: every random opening twice, colours exchanged. In a game for one
    player each agent plays by itself, and scores are compared.

    An agent is one word: runs/NAME, runs/NAME#640 (its checkpoint after 640 matches), runs/NAME@0.5s (seconds a move),
    runs/NAME@200i (search iterations a move), runs/NAME@60s/match (a match clock), runs/NAME@5m+2s (one with an
    increment), mcts:1000, mcts@0.1s (OpenSpiel's), uct:160 (the papers'), gtp:COMMAND, uci:COMMAND, random;
    docs/using.md has them all. They are loaded before the first match. One that fails later, or chooses no legal move,
    forfeits that match, and the next begins. A match whose process dies or hangs has failed: it counts nowhere else.

    Example: athenan eval runs/connect_four@0.1s --against mcts:100 mcts:1000 --save matches.jsonl
    """

    agent: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="AGENT")]
    """The agent that is measured."""
    against: Annotated[tuple[str, ...], tyro.conf.arg(metavar="AGENT [AGENT ...]")] = ()
    """Its opponents, one series of matches each; in a game for one player there need not be any."""
    matches: int = 100
    """Matches against each opponent, half with each colour; so many are declared, unless --sprt ends a series."""
    opening_plies: int | None = None
    """Random actions at the beginning of a match; by default 2, and in a game for one player none."""
    openings: str | None = None
    """A file with a line of moves for each opening; or `balanced`: random ones that a search finds near equal."""
    judge: str | None = None
    """Who says what is balanced: a run, or alphabeta@200i; by default UBFM over random playouts."""
    limit: str | None = None
    """Thinking a move of all agents that can take it, in place of their own: 0.1s, 200i (iterations) or 5000e."""
    sprt: Annotated[tuple[float, float] | None, tyro.conf.arg(metavar="ELO0 ELO1")] = None
    """Stop a series once a sequential test accepts that the agent is ELO0 or that it is ELO1 points ahead, each wrongly
    with a probability of 5 %; --matches is then the most."""
    save: str | None = None
    """A new file for the matches, a line each, which `athenan replay` shows."""
    game: str | None = None
    """An OpenSpiel game string; not needed where one of the agents is a run."""
    seed: int = 0
    """Of the openings and the agents."""
    allow_code: AllowCode = ()
    """An outcome of yours that a run was trained with; without this, the run's is the gain times its scale."""
    allow_program: AllowProgram = ()
    """Begin no program but this one, for words that come from a file; without it, all that the words name."""
    ludii_memory: LudiiMemory = None
    matches_at_once: int | None = None
    """Matches that are played at once; 1: one after the other. By default, with seconds a move as many as there are
    cores, each in a process of its own (one of Ludii's games, as each process has its own Java); with iterations as
    many as make the networks fast."""
    cluster: Cluster = None
    """Play on a Ray cluster: auto for that which runs on this machine, HOST:PORT for one that it is a node of; without
    ADDRESS a local one. Programs and what agents' words name must be on all its machines."""
    stall_time: Annotated[str, tyro.conf.arg(metavar="TIME")] = "10m"
    """Time without a move or a batch of evaluations after which the process of a match is killed; the match counts as
    failed, and the others go on. The time limits of agents that think alone, as mcts does, are added."""
    check: tyro.conf.FlagCreatePairsOff[bool] = False
    """Only load the agents and draw the openings: what is wrong with them is said, and no match is played."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print one JSON document."""


def run(words: Sequence[str]) -> int:
    """Run `athenan eval` with these words; returns the exit code."""
    arguments = parse(EvalArguments, with_address(words), "athenan eval")
    from athenan_spiel.arena.evaluation import AgentEvaluation, EvaluationReport
    from athenan_spiel.arena.record import MatchWriter

    evaluation = AgentEvaluation(_request(arguments), progress().status)
    if arguments.check:
        say(f"ready to play {evaluation.game}: {', '.join(map(str, evaluation.contestants))}")
        return DONE
    save = None if arguments.save is None else MatchWriter(arguments.save, evaluation.game, arguments.seed)
    report = EvaluationReport()
    with StopRequests() as stops:
        try:
            with stops.droppable(), _progress_bars(evaluation) as on_game:
                evaluation.play(report, on_game, save)
        except BaseException as raised:
            report.failure = raised  # the finished matches are printed before it is raised
        _print_report(evaluation, report, as_json=arguments.json)  # a signal is only noted now
    lines, measured = report.problems()
    for line in lines:
        say(line)
    if report.failure is None:
        return DONE if measured else BAD_INPUT
    if isinstance(report.failure, KeyboardInterrupt):
        say("stopped: the matches that were finished are counted")
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
    """Show a bar for each series, or for each agent that plays alone."""
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
    planned = evaluation.request.matches
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        tasks = [bars.add_task(name, total=planned, result="") for name in names]

        def on_game(index: int, series: Series) -> None:
            if alone:
                result = f"best {max(result.returns[0] for result in series.results):g}"
            else:
                tally = series.tally
                result = f"{tally.wins} won, {tally.draws} drawn, {tally.losses} lost"
            bars.update(tasks[index], completed=len(series.results), result=result)

        yield on_game


def _print_report(evaluation: AgentEvaluation, report: EvaluationReport, *, as_json: bool) -> None:
    """Print what was played until the end or until a failure."""
    results: list[Any] = report.results
    if as_json:
        print_json(evaluation.to_json(report))
    elif not results:
        return
    elif evaluation.openings is None:
        output().print(scores_table(evaluation.game, results))
    else:
        output().print(comparison_table(evaluation.game, results))
        output().print(sides_table(results))
        output().print(details_table(results))
        request = evaluation.request
        print(conditions(request.matches, results, evaluation.openings.told, request.limit, evaluation.unlimited))
