"""The plots of a tournament: for each game its ratings with their intervals, as PNG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from athenan_spiel.arena.pictures import COLOURS, png, require_matplotlib, text_of
from athenan_spiel.arena.standings import AgentResult, Standings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONGEST_LABEL = 40
"""Characters of an agent's name beside its line."""


def plot_files(standings: Standings) -> dict[str, bytes]:
    """ratings-1.png, ..., one for each game that has ratings, by name; drawn in matplotlib's own style.

    Raises:
        ExperimentError: matplotlib is not there.
    """
    require_matplotlib()
    from matplotlib import style

    files = {}
    with style.context("default"):
        for number, game in enumerate(standings.tournament.games, 1):
            results = [result for result in standings.agents if result.game == game and result.rating.elo is not None]
            if results:
                files[f"ratings-{number}.png"] = png(ratings_figure(standings, game, results))
    return files


def ratings_figure(standings: Standings, game: str, results: Sequence[AgentResult]) -> Figure:
    """A line for each agent, the strongest first, its rating with the interval; the pool in another colour."""
    from matplotlib.figure import Figure

    tournament = standings.tournament
    figure = Figure(figsize=(7.0, 1.4 + 0.32 * len(results)), layout="constrained")
    axis = figure.subplots()
    for row, result in enumerate(reversed(results)):
        rating = result.rating
        assert rating.elo is not None, "those without one are left out"
        reach = None
        if rating.interval is not None:
            reach = [[rating.elo - rating.interval.low], [rating.interval.high - rating.elo]]
        colour = COLOURS[1] if result.agent in tournament.pool else COLOURS[0]
        axis.errorbar(rating.elo, row, xerr=reach, capsize=3, markersize=6, color=colour, marker="o")
        axis.annotate(f"{rating.elo:+.0f}", (rating.elo, row), (0, 5), textcoords="offset points", ha="center", size=7)
    axis.axvline(0, color="0.7", linewidth=0.8, zorder=0)
    axis.set(
        ylim=(-0.6, len(results) - 0.2),
        yticks=range(len(results)),
        yticklabels=[text_of(_short(result.agent)) for result in reversed(results)],
    )
    axis.grid(axis="x", color="0.92")
    axis.tick_params(labelsize=9)
    zero = "the mean" if tournament.anchor is None else _short(tournament.anchor)
    pool = "; the pool in orange" if tournament.pool else ""
    axis.set_xlabel(
        text_of(f"rating in Elo points, {zero} is 0 ({tournament.confidence:.0%} intervals{pool})"), fontsize=9
    )
    figure.suptitle(text_of(f"{tournament.name}: {game}"), fontsize=11)
    return figure


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_LABEL else f"{name[: LONGEST_LABEL - 12]}...{name[-9:]}"
