"""Curves over a common axis: their data, and their drawing by matplotlib. Pages draw them as interactive charts."""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape

import numpy as np

COLOURS = ("#2e86d1", "#d5762b", "#1a9b72", "#b36bb3", "#b8911a", "#5fb3e0", "#c94f5e", "#8a8a8a")
"""Colours of curves, visible on white and black; further curves reuse them."""
MAX_DOTS = 60
"""Maximum number of points of a curve that are also drawn as dots."""
MAX_NUMBER = 1e100
"""Maximum absolute value of a drawn number."""
MAX_LABEL_CHARACTERS = 40
"""Maximum length of a name in a legend."""
_INK = "#010203"
"""Colour that the drawn picture replaces by the colour of the text around it."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One curve of a chart.

    Attributes:
        name: name in the legend.
        xs: ascending.
        ys: one for each x.
        low, high: ends of the interval of each y; empty without intervals.
    """

    name: str
    xs: Sequence[float]
    ys: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Curves over a common axis.

    Attributes:
        y_bounds: ends of the y axis; None: chosen from the curves.
    """

    title: str
    x_label: str
    y_label: str
    curves: Sequence[Curve]
    y_bounds: tuple[float, float] | None = None

    @property
    def description(self) -> str:
        """Title, and both finite ends of each curve, for screen readers."""
        return "; ".join([self.title, *map(_ends, self.curves)])


def smoothed(chart: Chart, weight: float) -> Chart:
    """Returns the chart with exponential moving averages of its curves, as TensorBoard draws them.

    Args:
        weight: weight of the past, in [0, 1): a curve is the average of its points, each of which weighs `weight` times
            as much as the next. 0 changes nothing. A chart with intervals stays, since these belong to single points.
    """
    if weight == 0 or any(curve.low for curve in chart.curves):
        return chart
    curves = [_smoothed(curve, weight) for curve in chart.curves]
    return replace(chart, y_label=f"{chart.y_label}, smoothed", curves=curves)


def _smoothed(curve: Curve, weight: float) -> Curve:
    ys: list[float] = []
    total = share = 0.0
    for y in curve.ys:
        if math.isfinite(y):
            total, share = weight * total + (1 - weight) * y, weight * share + 1 - weight
        ys.append(total / share if share else y)
    return replace(curve, ys=ys)


def chart_svg(chart: Chart) -> str:
    """Returns a chart as SVG. Text and axes have the colour of the text around it."""
    from matplotlib import style
    from matplotlib.figure import Figure

    inks = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "grid.color")
    with style.context(
        [
            "default",
            {"svg.fonttype": "none", "font.size": 8, "path.simplify_threshold": 1.0, **dict.fromkeys(inks, _INK)},
        ]
    ):
        rows = math.ceil(len(chart.curves) / 2) if len(chart.curves) > 1 else 0
        figure = Figure(figsize=(5.0, 2.9 + 0.18 * rows), layout="constrained")
        axis = figure.subplots()
        for curve, colour in zip(chart.curves, itertools.cycle(COLOURS)):
            marker = "." if len(curve.xs) <= MAX_DOTS else ""
            ys, low, high = (np.clip(numbers, -MAX_NUMBER, MAX_NUMBER) for numbers in (curve.ys, curve.low, curve.high))
            axis.plot(curve.xs, ys, color=colour, linewidth=1.2, marker=marker, label=plot_text(short_name(curve.name)))
            axis.vlines(curve.xs[: len(low)], low, high, color=colour, alpha=0.4)
        axis.set(title=plot_text(chart.title), xlabel=chart.x_label, ylabel=chart.y_label, ylim=chart.y_bounds)
        axis.grid(alpha=0.12)
        axis.spines[["top", "right"]].set_visible(False)
        if rows:
            figure.legend(loc="outside lower center", ncols=2, frameon=False)
        data = io.StringIO()
        figure.savefig(data, format="svg", transparent=True, metadata={"Date": None})
    svg = data.getvalue()
    label = f'<svg class="athenan-chart" role="img" aria-label="{escape(chart.description)}" '
    return svg[svg.index("<svg ") :].replace("<svg ", label, 1).replace(_INK, "currentColor")


def plot_text(name: str) -> str:
    """Returns `name` as matplotlib shows it: dollars would start a formula, and a leading _ hides it in legends."""
    shown = name.replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def short_name(name: str) -> str:
    """Returns a name of at most `MAX_LABEL_CHARACTERS` characters."""
    return name if len(name) <= MAX_LABEL_CHARACTERS else f"{name[: MAX_LABEL_CHARACTERS - 12]}...{name[-9:]}"


def number_text(number: float) -> str:
    """Returns a number with three significant digits, or without fraction from 1,000 on."""
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def _ends(curve: Curve) -> str:
    ends = [
        f"{number_text(y)} at {number_text(x)}" for x, y in zip(curve.xs, curve.ys, strict=True) if math.isfinite(y)
    ]
    return f"{curve.name}: " + (ends[0] if len(ends) == 1 else f"from {ends[0]} to {ends[-1]}" if ends else "no values")
