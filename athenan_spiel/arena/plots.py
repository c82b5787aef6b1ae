"""Plots as PNG: helpers for tournaments and experiments, and the ratings or mean returns of a tournament."""

from __future__ import annotations

import functools
import io
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from athenan_spiel.arena.standings import AgentResult, Standings
from athenan_spiel.arena.tournament_settings import Tournament
from athenan_spiel.drawing.charts import plot_text, short_name
from athenan_spiel.play.intervals import Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
"""Okabe and Ito's palette for color-blind readers, in order of contrast."""
MARKERS = "osD^vP*X"
DOTS_PER_INCH = 130
MAX_PIXELS = 2**15
"""Maximum width and height of a picture, in pixels."""


def _png(figure: Figure) -> bytes:
    """Returns the picture, at a lower resolution if it would exceed `MAX_PIXELS`."""
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=min(DOTS_PER_INCH, MAX_PIXELS / max(figure.get_size_inches())))
    return data.getvalue()


def drawn(figures: Mapping[str, Callable[[], Figure]]) -> dict[str, bytes]:
    """Returns figures as PNG by file name.

    The style is matplotlib's default; a `matplotlibrc` in the current folder could run texts through LaTeX.
    """
    from matplotlib import style

    with style.context("default"):
        return {name: _png(figure()) for name, figure in figures.items()}


def error_bar(interval: Interval | None, scale: float = 1.0) -> list[list[float]] | None:
    """Returns the distances from the estimate to the ends of its interval; None without one."""
    if interval is None:
        return None
    return [[scale * (interval.estimate - interval.low)], [scale * (interval.high - interval.estimate)]]


def plot_files(standings: Standings) -> dict[str, bytes]:
    """Returns the contents of ratings-1.png, ..., one for each game with ratings; raises as `drawn`.

    A game for more than two players has returns-1.png, ... instead: mean returns.
    """
    figures = {}
    for number, game in enumerate(standings.tournament.games, 1):
        results = [result for result in standings.agents if result.game == game]
        if standings.players[game] > 2:
            results = [r for r in results if r.returns is not None and not math.isnan(r.returns.mean.estimate)]
            name, figure = f"returns-{number}.png", returns_figure
        else:
            results = [result for result in results if result.rating.elo is not None]
            name, figure = f"ratings-{number}.png", ratings_figure
        if results:
            figures[name] = functools.partial(figure, standings, game, results)
    return drawn(figures)


def ratings_figure(standings: Standings, game: str, results: Sequence[AgentResult]) -> Figure:
    """Returns a figure with one row per agent, the strongest first: rating and interval, the pool in another color."""
    tournament = standings.tournament
    zero = "the mean" if tournament.anchor is None else short_name(tournament.anchor)
    rows = [(result.agent, result.rating.elo or 0.0, result.rating.interval) for result in results]
    return _interval_figure(tournament, game, rows, f"rating in Elo points, {zero} is 0", "+.0f")


def returns_figure(standings: Standings, game: str, results: Sequence[AgentResult]) -> Figure:
    """Returns a figure as `ratings_figure`, with mean returns."""
    means = [(result.agent, result.returns.mean) for result in results if result.returns is not None]
    rows = [(agent, mean.estimate, mean if math.isfinite(mean.low) else None) for agent, mean in means]
    copies = f"{standings.players[game] - 1} copies of each opponent"
    return _interval_figure(standings.tournament, game, rows, f"mean return, alone against {copies}", "+.2f")


def _interval_figure(
    tournament: Tournament, game: str, rows: Sequence[tuple[str, float, Interval | None]], measure: str, form: str
) -> Figure:
    """Returns a figure with the estimates of agents and their intervals, the first at the top."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 1.4 + 0.32 * len(rows)), layout="constrained")
    axis = figure.subplots()
    for row, (agent, value, interval) in enumerate(reversed(rows)):
        colour = COLOURS[1] if agent in tournament.pool else COLOURS[0]
        axis.errorbar(value, row, xerr=error_bar(interval), capsize=3, markersize=6, color=colour, marker="o")
        axis.annotate(format(value, form), (value, row), (0, 5), textcoords="offset points", ha="center", size=7)
    axis.axvline(0, color="0.7", linewidth=0.8, zorder=0)
    axis.set(
        ylim=(-0.6, len(rows) - 0.2),
        yticks=range(len(rows)),
        yticklabels=[plot_text(short_name(agent)) for agent, _, _ in reversed(rows)],
    )
    axis.grid(axis="x", color="0.92")
    axis.tick_params(labelsize=9)
    pool = "; the pool in orange" if tournament.pool else ""
    axis.set_xlabel(plot_text(f"{measure} ({tournament.confidence:.0%} intervals{pool})"), fontsize=9)
    figure.suptitle(plot_text(f"{tournament.name}: {game}"), fontsize=11)
    return figure
