"""Plots of an experiment as PNG: final points and learning curves, with their intervals."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from athenan_spiel.arena.plots import COLOURS, MARKERS, drawn, error_bar
from athenan_spiel.drawing.charts import plot_text
from athenan_spiel.experiments.report import ExperimentResults
from athenan_spiel.experiments.settings import Experiment
from athenan_spiel.experiments.statistics import MEAN, Share

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS_IN_A_ROW = 3


def plot_files(results: ExperimentResults) -> dict[str, bytes]:
    """Returns the contents of final.png, curves.png (several stages) and fixed.png (fixed opponents), by name."""
    figures = {}
    if results.final:
        figures["final.png"] = functools.partial(final_figure, results)
    if results.experiment.protocol.stages > 1 and results.curves:
        figures["curves.png"] = functools.partial(curves_figure, results)
    if results.fixed:
        figures["fixed.png"] = functools.partial(fixed_figure, results)
    return drawn(figures)


def final_figure(results: ExperimentResults) -> Figure:
    """Returns a figure with a panel for the mean and for each game: one row per variant, the best mean first."""
    shares = {(share.game, share.variant): share for share in results.final}
    order = sorted({share.variant for share in results.final}, key=lambda name: _height(shares, name), reverse=True)
    panels = _panels(results)
    styles = _styles(results.experiment)
    figure, axes = _grid(len(panels), height=0.8 + 0.34 * len(order))
    for axis, game in zip(axes, panels, strict=True):
        for row, name in enumerate(reversed(order)):
            share = shares.get((game, name))
            if share is not None:
                axis.errorbar(
                    100 * share.estimate,
                    row,
                    xerr=error_bar(share.interval, 100),
                    capsize=3,
                    markersize=6,
                    **styles[name],
                )
        axis.axvline(50, color="0.7", linewidth=0.8, zorder=0)
        axis.set(
            xlim=(0, 100),
            ylim=(-0.6, len(order) - 0.4),
            yticks=range(len(order)),
            yticklabels=[plot_text(name) for name in order[::-1]],
        )
        _decorate(axis, _title(game), grid="x")
    interval = (
        f" ({results.experiment.protocol.confidence:.0%} interval)" if any(s.interval for s in results.final) else ""
    )
    _label(axes, f"points in %{interval}")
    figure.suptitle(f"{plot_text(results.experiment.name)}: final networks", fontsize=11)
    return figure


def curves_figure(results: ExperimentResults) -> Figure:
    """Returns a figure with a panel for the mean and for each game: points by stage with shaded intervals."""
    panels = _panels(results)
    styles = _styles(results.experiment)
    figure, axes = _grid(len(panels), height=2.5)
    x_of, unit = _stages(results.experiment)
    for axis, game in zip(axes, panels, strict=True):
        for name, style in styles.items():
            shares = [share for share in results.curves if (share.game, share.variant) == (game, name)]
            _draw_curve(axis, [x_of[-1] * moment for moment in results.moments.mean(game, name)], shares, style)
        axis.axhline(50, color="0.7", linewidth=0.8, zorder=0)
        axis.set(ylim=(0, 100))
        _scale(axis, x_of, results.experiment)
        _decorate(axis, _title(game))
    _label(axes, unit, "points in %")
    figure.suptitle(f"{plot_text(results.experiment.name)}: against the final networks of all variants", fontsize=11)
    _legend(figure, *axes[0].get_legend_handles_labels())
    return figure


def fixed_figure(results: ExperimentResults) -> Figure:
    """Returns a figure with a panel for each opponent of [fixed] and game, means first: points by stage.

    With a single stage, points and error bars of the variants stand side by side.
    """
    experiment = results.experiment
    panels = list(dict.fromkeys((share.opponent, share.game) for share in results.fixed))
    panels.sort(key=lambda panel: panel[1] != MEAN)  # stable: means first
    styles = {name: style for name, style in _styles(experiment).items() if name in {s.variant for s in results.fixed}}
    figure, axes = _grid(len(panels), height=2.7)
    x_of, unit = _stages(experiment)
    is_curve = len({share.stage for share in results.fixed}) > 1
    for axis, (opponent, game) in zip(axes, panels, strict=True):
        for position, (name, style) in enumerate(styles.items(), 1):
            shares = [s for s in results.fixed if (s.opponent, s.game, s.variant) == (opponent, game, name)]
            if is_curve:
                _draw_curve(axis, [x_of[-1] * moment for moment in results.moments.mean(game, name)], shares, style)
            for share in () if is_curve else shares:
                axis.errorbar(
                    position,
                    100 * share.estimate,
                    yerr=error_bar(share.interval, 100),
                    capsize=3,
                    markersize=6,
                    **style,
                )
        axis.axhline(50, color="0.7", linewidth=0.8, zorder=0)
        axis.set(ylim=(-2, 102))
        if is_curve:
            _scale(axis, x_of, experiment)
        else:
            axis.set(xlim=(0, len(styles) + 1))
        _decorate(axis, f"{plot_text(opponent)}\n{_title(game)}", labels=is_curve)
    _label(axes, unit if is_curve else "", "points in %")
    figure.suptitle(f"{plot_text(experiment.name)}: against fixed opponents", fontsize=11)
    known = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    labels = [style["label"] for style in styles.values() if style["label"] in known]
    handles = [known[label] for label in labels]
    _legend(figure, handles, labels)
    return figure


def _decorate(axis: Axes, title: str, *, grid: Literal["x", "both"] = "both", labels: bool = True) -> None:
    axis.set_title(title, fontsize=9)
    axis.grid(axis=grid, color="0.92")
    axis.tick_params(labelbottom=labels, labelsize=9)


def _legend(figure: Figure, handles: list[Any], labels: list[str]) -> None:
    """Add a legend below the panels, in as many columns as fit."""
    for columns in range(min(4, len(labels)), 0, -1):
        legend = figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=9, frameon=False)
        if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()


def _draw_curve(axis: Axes, x_of: Sequence[float], shares: Sequence[Share], style: dict[str, Any]) -> None:
    line = sorted(shares, key=lambda share: share.stage)
    x = [x_of[share.stage - 1] for share in line]
    axis.plot(x, [100 * s.estimate for s in line], markersize=4, linewidth=1.4, **style)
    low, high = ([100 * getattr(s.interval, end, math.nan) for s in line] for end in ("low", "high"))
    axis.fill_between(x, low, high, color=style["color"], alpha=0.1, linewidth=0)


def _grid(panels: int, height: float) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    columns = _columns(panels)
    rows = math.ceil(panels / columns)
    figure = Figure(figsize=(3.3 * columns + 1.2, height * rows + 1.1), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).flatten().tolist()
    for axis in axes[panels:]:
        axis.remove()
    return figure, axes[:panels]


def _columns(panels: int) -> int:
    return 2 if panels == 4 else min(panels, PANELS_IN_A_ROW)


def _label(axes: Sequence[Axes], x_label: str, y_label: str = "") -> None:
    """Labels the outer axes of the grid."""
    columns = _columns(len(axes))
    for i, axis in enumerate(axes):
        if i + columns >= len(axes):
            axis.set_xlabel(x_label, fontsize=9)
        if i % columns == 0:
            axis.set_ylabel(y_label, fontsize=9)


def _panels(results: ExperimentResults) -> list[str]:
    games = list(results.experiment.games)
    return [MEAN, *games] if len(games) > 1 else games


def _styles(experiment: Experiment) -> dict[str, dict[str, Any]]:
    """Returns the color, marker and label of each variant, the same in all figures."""
    return {
        variant.name: {
            "color": COLOURS[i % len(COLOURS)],
            "marker": MARKERS[(i + i // len(COLOURS)) % len(MARKERS)],
            "label": plot_text(variant.name),
        }
        for i, variant in enumerate(experiment.variants)
    }


def _stages(experiment: Experiment) -> tuple[list[float], str]:
    """Returns the training lengths at the stages, and their unit."""
    shares = experiment.protocol.shares()
    limits = {(variant.training.seconds, variant.training.matches) for variant in experiment.variants}
    if len(limits) == 1:
        ((seconds, matches),) = limits
        if seconds is not None and matches is None:
            return [seconds * share for share in shares], "training time in seconds"
        if matches is not None and seconds is None:
            return [matches * share for share in shares], "training games"
    return [100 * share for share in shares], "share of the training in %"


def _scale(axis: Axes, x_of: Sequence[float], experiment: Experiment) -> None:
    """Draw the stages at equal distances."""
    if experiment.protocol.spacing == "doubling":
        axis.set_xscale("log", base=2)
        axis.set_xticks(x_of, [f"{x:.3g}" for x in x_of])
        axis.set(xlim=(x_of[0] / 1.15, x_of[-1] * 1.15))
    else:
        axis.set(xlim=(0, x_of[-1] * 1.04))


def _height(shares: dict[tuple[str, str], Share], name: str) -> float:
    share = shares.get((MEAN, name))
    return share.estimate if share is not None else -1.0


def _title(game: str) -> str:
    return "mean over games" if game == MEAN else plot_text(game)
