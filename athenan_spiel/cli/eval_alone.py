"""`athenan eval` in a game for one player: what each agent scores, by itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from athenan_spiel.cli.console import progress
from athenan_spiel.errors import printable

if TYPE_CHECKING:
    import pyspiel

    from athenan_spiel.arena import Scores
    from athenan_spiel.arena.contestant import Contestant
    from athenan_spiel.arena.record import MatchWriter
    from athenan_spiel.system.cluster import Site


def play_alone(
    game: pyspiel.Game,
    agents: Sequence[Contestant],
    matches: int,
    opening_plies: int,
    seed: int,
    at_once: int | None,
    found: list[Scores],
    unplayed: list[tuple[str, Sequence[str]]],
    save: MatchWriter | None,
    silent_seconds: float,
    site: Site | None = None,
) -> None:
    """Add to `found` each agent's scores over the same openings; those of an agent that fails or is stopped, too.

    Args:
        unplayed: gets the agents of which all matches have failed, and why.
        silent_seconds: as for `play_everywhere`.
    """
    from athenan_spiel.arena import Scores
    from athenan_spiel.arena.processes import play_everywhere
    from athenan_spiel.play.match import MatchResult
    from athenan_spiel.play.series import Fixture, Played, lone_fixtures

    planned = lone_fixtures(game, matches, opening_plies, seed)
    with _bar() as bar:
        for agent in agents:
            task = bar.add_task(str(agent), total=matches, best="")
            played = Played()

            def on_result(
                fixture: Fixture,
                result: MatchResult,
                task: Any = task,
                played: Played = played,
                agent: Contestant = agent,
            ) -> None:
                if save is not None:
                    save.add([agent.word.text], fixture, result)
                played.add(fixture, result)
                results = played.series().results
                best = max(result.returns[0] for result in results)
                bar.update(task, completed=len(results), best=f"best {best:g}")

            try:
                play_everywhere(
                    game,
                    [[agent.bot(0)]],
                    planned,
                    on_result,
                    forfeits=False,
                    at_once=at_once,
                    site=site,
                    on_failure=played.fail,
                    silent_seconds=silent_seconds,
                )
            finally:
                series = played.series()
                if series.results:
                    found.append(Scores(str(agent), series.results, series.failures))
                elif series.failures:
                    unplayed.append((str(agent), series.failures))


def table_of(game: pyspiel.Game, scores: Sequence[Scores]) -> Table:
    """One row for each agent."""
    table = Table(title=f"scores at {game}", title_justify="left")
    table.add_column("agent")
    for name in ("matches", "mean score", f"{scores[0].confidence:.0%} interval", "best", "worst", "cut", "failed"):
        table.add_column(name, justify="right")
    for one in scores:
        mean = one.mean
        interval = f"{mean.low:.4g} to {mean.high:.4g}" if math.isfinite(mean.low) else "none: all scores are equal"
        table.add_row(
            printable(one.agent),
            str(len(one.results)),
            f"{mean.estimate:.4g}",
            interval,
            f"{one.best:g}",
            f"{one.worst:g}",
            str(one.cut),
            str(len(one.failures)),
        )
    return table


def _bar() -> Progress:
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[best]}", markup=False),
        TimeRemainingColumn(),
    )
    console = progress()
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
