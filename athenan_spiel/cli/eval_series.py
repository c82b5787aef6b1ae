"""`athenan eval` in a game for two players: a series against each opponent, and the tables of what came of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from athenan_spiel.cli.console import progress
from athenan_spiel.errors import printable

if TYPE_CHECKING:
    import pyspiel

    from athenan_spiel.arena import Comparison, Interval
    from athenan_spiel.arena.contestant import Contestant
    from athenan_spiel.arena.effort import Effort
    from athenan_spiel.arena.opening_sets import OpeningSet
    from athenan_spiel.arena.record import MatchWriter
    from athenan_spiel.arena.sprt import Sprt
    from athenan_spiel.system.cluster import Site


def play_all_series(
    game: pyspiel.Game,
    contestants: Sequence[Contestant],
    openings: OpeningSet,
    at_once: int | None,
    found: list[Comparison],
    unplayed: list[tuple[str, Sequence[str]]],
    sprt: Sprt | None,
    save: MatchWriter | None,
    silent_seconds: float,
    site: Site | None = None,
) -> None:
    """Add to `found` a comparison with each opponent; that of a series which fails or is stopped, too.

    Args:
        unplayed: gets the series of which all matches have failed, and why.
        silent_seconds: as for `play_everywhere`.
        sprt: what ends a series before all openings are played.
        save: where each match is written as it ends.
        site: the cluster on which they are played; none: they are played here.
    """
    from athenan_spiel.arena import Comparison
    from athenan_spiel.arena.processes import Encounter, play_all
    from athenan_spiel.arena.sprt import SequentialTest
    from athenan_spiel.games.given import mover_of
    from athenan_spiel.play.match import MatchResult
    from athenan_spiel.play.series import Fixture, Played, fixtures_of, sides_of

    contender, *opponents = contestants
    planned = fixtures_of(openings.openings)
    first = mover_of(game.new_initial_state())
    played = [Played() for _ in opponents]
    tests = [None if sprt is None else SequentialTest(sprt) for _ in opponents]
    encounters = [Encounter(game, sides_of(contender.bot, opponent.bot), planned) for opponent in opponents]
    with _bar() as bar:
        rows = [bar.add_task(f"against {opponent}", total=len(planned), tally="") for opponent in opponents]

        def on_result(index: int, fixture: Fixture, result: MatchResult) -> None:
            if save is not None:
                save.add([contender.word.text, opponents[index].word.text], fixture, result)
            played[index].add(fixture, result)
            if (test := tests[index]) is not None:
                test.add(fixture.number, result.points(fixture.colour))
            tally = played[index].series().tally
            won = f"{tally.wins} won, {tally.draws} drawn, {tally.losses} lost"
            bar.update(rows[index], completed=tally.matches, tally=won)

        def on_failure(index: int, fixture: Fixture, reason: str) -> None:
            played[index].fail(fixture, reason)
            if (test := tests[index]) is not None:
                test.drop(fixture.number)

        def wanted(index: int) -> bool:
            test = tests[index]
            return test is None or test.verdict is None

        try:
            play_all(
                encounters,
                on_result,
                forfeits=True,
                at_once=at_once,
                wanted=wanted,
                site=site,
                on_failure=on_failure,
                silent_seconds=silent_seconds,
            )
        finally:
            for opponent, one, test in zip(opponents, played, tests, strict=True):
                if (series := one.series()).results:
                    found.append(Comparison(str(contender), str(opponent), series, test=test, first_mover=first))
                elif series.failures:
                    unplayed.append((f"{contender} against {opponent}", series.failures))


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


def comparison_table(game: pyspiel.Game, comparisons: Sequence[Comparison]) -> Table:
    """One row for each opponent: what came out."""
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


def sides_table(comparisons: Sequence[Comparison]) -> Table:
    """One row for each opponent: results by side, the share of draws, and matches that did not end by the rules."""
    table = Table(title="won / drawn / lost by side; matches cut by the length limit", title_justify="left")
    table.add_column("against")
    for name in ("agent moves first", "agent moves second", "share of draws", "cut", "failed"):
        table.add_column(name, justify="right")
    for comparison in comparisons:
        series = comparison.series
        sides = comparison.moving_first, comparison.moving_second
        table.add_row(
            printable(comparison.opponent),
            *(f"{side.wins} / {side.draws} / {side.losses}" for side in sides),
            f"{series.draws / series.tally.matches:.1%}",
            str(series.cut),
            str(len(series.failures)),
        )
    return table


def _elo(elo: Interval) -> str:
    def signed(value: float) -> str:
        return f"{value:+.0f}" if math.isfinite(value) else ("+∞" if value > 0 else "-∞")

    return f"{signed(elo.estimate)} ({signed(elo.low)} to {signed(elo.high)})"


def details_table(comparisons: Sequence[Comparison]) -> Table:
    """One row for each opponent: how probable such a result is between equals, and how long moves and matches took."""
    table = Table(title="p-values, and milliseconds a move: mean, 99 % below, longest", title_justify="left")
    table.add_column("against")
    for name in ("sign test", "Wilcoxon", "agent's moves", "opponent's moves", "plies"):
        table.add_column(name, justify="right")
    for comparison in comparisons:
        lengths = [len(result.history) for result in comparison.series.results]
        table.add_row(
            printable(comparison.opponent),
            f"{comparison.binomial_p:.2g}",
            f"{comparison.wilcoxon_p:.2g}",
            *map(_times, comparison.efforts()),
            f"{sum(lengths) / len(lengths):.1f}",
        )
    return table


def conditions(
    matches: int, comparisons: Sequence[Comparison], openings: str, limit: str | None, unlimited: Sequence[str]
) -> str:
    """How the matches began, when a series ended, and under what limit."""
    tests = [f"{comparison.opponent}: {comparison.test}" for comparison in comparisons if comparison.test is not None]
    lines = [f"openings: {openings}, each with both colours"]
    lines += tests or [f"declared: {matches} matches against each"]
    if limit is not None:
        lines.append(f"limit: {limit} a move" + (f", but for {', '.join(unlimited)}" if unlimited else ""))
    return "\n".join(map(printable, lines))


def _times(effort: Effort) -> str:
    return " / ".join("" if x is None else f"{1000 * x:,.1f}" for x in effort.times().values())
