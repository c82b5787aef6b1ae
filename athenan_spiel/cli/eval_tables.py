"""Tables of `athenan eval`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from athenan_spiel.errors import printable

if TYPE_CHECKING:
    import pyspiel

    from athenan_spiel.arena import Comparison, Interval, Scores
    from athenan_spiel.arena.comparison import Effort, SeatComparison


def comparison_table(game: pyspiel.Game, comparisons: Sequence[Comparison]) -> Table:
    """Returns a table with the results against each opponent."""
    table = Table(title=f"{printable(comparisons[0].contender)} at {game}", title_justify="left")
    table.add_column("against")
    confidence = comparisons[0].points.confidence
    for name in ("games", "won", "drawn", "lost", "points", f"{confidence:.0%} interval", "Elo difference"):
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
    """Returns a table with a row for each opponent: results by side, share of draws, games cut off, failed games."""
    table = Table(title="won / drawn / lost by side; games cut by the length limit", title_justify="left")
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
    """Returns a table with a row for each opponent: p-values, times per move, and mean length of games."""
    table = Table(title="p-values; milliseconds per move: mean / 99th percentile / maximum", title_justify="left")
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
    matches: int,
    comparisons: Sequence[Comparison],
    openings: str,
    limit: str | None,
    unlimited: Sequence[str],
    side: str = "",
) -> str:
    """Returns the openings, the number of games or the results of the sequential tests, and the limit as text."""
    tests = [f"{comparison.opponent}: {comparison.test}" for comparison in comparisons if comparison.test is not None]
    lines = [f"openings: {openings}, each with {f'every {side} of both agents' if side else 'both colours'}"]
    lines += tests or [f"length of a series: {matches} games, as declared in advance"]
    if limit is not None:
        lines.append(f"limit: {limit} per move" + (f", except {', '.join(unlimited)}" if unlimited else ""))
    return "\n".join(map(printable, lines))


def _times(effort: Effort) -> str:
    return " / ".join("" if x is None else f"{1000 * x:,.1f}" for x in effort.times().values())


def seats_table(game: pyspiel.Game, comparisons: Sequence[SeatComparison]) -> Table:
    """Returns a table of mean returns: one agent in each seat of a game for n players, n - 1 copies of another in the
    others."""
    from athenan_spiel.arena.tables import return_cell  # imports scipy

    table = Table(title=f"mean returns at {game}, with 95% intervals", title_justify="left")
    players = game.num_players()
    for name in ("one", f"against {players - 1} copies of", "games", "all seats"):
        table.add_column(name, justify="left" if "one" in name or "copies" in name else "right")
    for seat in range(players):
        table.add_column(f"player {seat}", justify="right")
    for comparison in comparisons:
        for one in comparison.alone:
            other = comparison.opponent if one.agent == comparison.contender else comparison.contender
            games = sum(
                (colour >= players) == (one.agent != comparison.contender) for colour in comparison.series.colours
            )
            means = map(return_cell, (one.mean, *one.seats))
            table.add_row(printable(one.agent), printable(other), str(games), *means)
    return table


def scores_table(game: pyspiel.Game, scores: Sequence[Scores]) -> Table:
    """Returns a table of scores in a game for one player, with a row for each agent."""
    table = Table(title=f"scores at {game}", title_justify="left")
    table.add_column("agent")
    for name in ("games", "mean score", f"{scores[0].confidence:.0%} interval", "best", "worst", "cut", "failed"):
        table.add_column(name, justify="right")
    for one in scores:
        mean = one.mean
        interval = f"{mean.low:g} to {mean.high:g}" if math.isfinite(mean.low) else "none: all scores are equal"
        table.add_row(
            printable(one.name),
            str(one.finished),
            f"{mean.estimate:g}",
            interval,
            f"{one.best:g}",
            f"{one.worst:g}",
            str(one.cut),
            str(len(one.failures)),
        )
    return table
