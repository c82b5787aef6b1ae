"""Plots as PNG: helpers for tournaments and experiments, and the ratings of a tournament."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from athenan_spiel.arena.standings import AgentResult, Standings
from athenan_spiel.arena.statistics import Interval
from athenan_spiel.drawing.charts import plot_text, short_name

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
    """Returns the contents of ratings-1.png, ..., one for each game with ratings; raises as `drawn`."""
    figures = {}
    for number, game in enumerate(standings.tournament.games, 1):
        results = [result for result in standings.agents if result.game == game and result.rating.elo is not None]
        if results:
            figures[f"ratings-{number}.png"] = functools.partial(ratings_figure, standings, game, results)
    return drawn(figures)


def ratings_figure(standings: Standings, game: str, results: Sequence[AgentResult]) -> Figure:
    """Returns a figure with one row per agent, the strongest first: rating and interval, the pool in another color."""
    from matplotlib.figure import Figure

    tournament = standings.tournament
    figure = Figure(figsize=(7.0, 1.4 + 0.32 * len(results)), layout="constrained")
    axis = figure.subplots()
    for row, result in enumerate(reversed(results)):
        rating = result.rating
        assert rating.elo is not None, "agents without a rating are left out"
        colour = COLOURS[1] if result.agent in tournament.pool else COLOURS[0]
        axis.errorbar(
            rating.elo, row, xerr=error_bar(rating.interval), capsize=3, markersize=6, color=colour, marker="o"
        )
        axis.annotate(f"{rating.elo:+.0f}", (rating.elo, row), (0, 5), textcoords="offset points", ha="center", size=7)
    axis.axvline(0, color="0.7", linewidth=0.8, zorder=0)
    axis.set(
        ylim=(-0.6, len(results) - 0.2),
        yticks=range(len(results)),
        yticklabels=[plot_text(short_name(result.agent)) for result in reversed(results)],
    )
    axis.grid(axis="x", color="0.92")
    axis.tick_params(labelsize=9)
    zero = "the mean" if tournament.anchor is None else short_name(tournament.anchor)
    pool = "; the pool in orange" if tournament.pool else ""
    axis.set_xlabel(
        plot_text(f"rating in Elo points, {zero} is 0 ({tournament.confidence:.0%} intervals{pool})"), fontsize=9
    )
    figure.suptitle(plot_text(f"{tournament.name}: {game}"), fontsize=11)
    return figure
