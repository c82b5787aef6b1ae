"""Graphs as SVG: the values of a match by ply, and curves of any numbers, such as those of a training.

They inherit the colour of text, so they fit light and dark pages, and have a description as text. None, NaN and
infinite numbers are gaps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from athenan_spiel.drawing.axes import bounds, is_drawn, number_text, round_ticks, thinned, tick_texts
from athenan_spiel.drawing.tree import proof_text, value_text

COLOURS = ("#2e86d1", "#d5762b", "#1a9b72", "#b36bb3", "#b8911a", "#5fb3e0", "#c94f5e", "#8a8a8a")
"""Colours of curves, visible on white and black; further curves reuse them with dashes."""
DASHES = ("", "6 3", "2 3", "8 3 2 3")
CHARACTER = 6.2
"""Pixels of a character of a label, about."""
FEW = 60
"""Maximum number of points of a curve that are also drawn as dots, with their numbers."""

_STYLE = """
.athenan-graph { max-width: 100%; height: auto; font: 11px "DejaVu Sans", "Segoe UI", sans-serif; color: inherit }
.athenan-graph text { fill: currentColor } .athenan-graph .axis { stroke: currentColor; stroke-opacity: .45 }
.athenan-graph .grid { stroke: currentColor; stroke-opacity: .12 } .athenan-graph .title { font-weight: bold }
.athenan-graph .line { fill: none; stroke-width: 1.6; stroke-linejoin: round; stroke-linecap: round }
.athenan-graph .band { fill-opacity: .16; stroke: none } .athenan-graph .bar { stroke-width: 1.4 }
.athenan-graph .area { fill: #2e86d1; fill-opacity: .15; stroke: none }
.athenan-graph .value { fill: #2e86d1 } .athenan-graph .proven { fill: #d5762b; stroke: currentColor }
.athenan-graph .now { stroke: currentColor; stroke-dasharray: 3 2; stroke-opacity: .7 }
.athenan-graph .hit { fill: currentColor; fill-opacity: 0 } .athenan-graph .can { cursor: pointer }
.athenan-graph .can:hover .hit, .athenan-graph .can:focus .hit { fill-opacity: .12 }
.athenan-graph .can:focus { outline: none }
""".strip().replace("\n", " ")

Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Numbers over numbers.

    Attributes:
        name: in the legend.
        xs: ascending.
        ys: one for each x; None: there is none.
        low, high: the interval of each y, or empty.
    """

    name: str
    xs: Sequence[float]
    ys: Sequence[float | None]
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()


def values_svg(
    values: Sequence[float | None],
    *,
    proven: Mapping[int, int] | None = None,
    current: int | None = None,
    labels: Sequence[str] = (),
    scale: float | None = None,
    pressable: bool = False,
    title: str = "value for player 0 by ply",
    width: int = 640,
    height: int = 180,
) -> str:
    """The graph of the values of a match: each ply is a group of class `point` with its number in `data-ply`.

    Args:
        values: of the state after each number of plies, from 0 on, for player 0.
        proven: by ply, the proven gain of player 0; those are marked.
        current: the ply that is shown elsewhere; it is marked.
        labels: of each ply, such as the move that led to it.
        scale: the value at the upper edge; by default the greatest of all, and at least 1.
        pressable: points can be reached by keys, and say that they are buttons.
        width, height: in pixels.
    """
    proven = proven or {}
    drawn = [value for value in values if value is not None and is_drawn(value)]
    top = scale or max(1.0, *(abs(value) for value in drawn), 1.0)
    frame = _Frame(width, height, (0.0, max(1.0, len(values) - 1)), (-top, top))
    parts = [*frame.axes("ply", "", round_ticks(-top, top, most=4), whole=True)]
    if not drawn:
        parts.append(frame.note("no values yet"))
    zero = frame.y(0.0)
    for run in _runs(range(len(values)), values):
        points = [frame.point(x, y) for x, y in run]
        ends = [(points[-1][0], zero), (points[0][0], zero)]
        parts.append(f'<polygon class="area" points="{_points([*points, *ends])}"/>')
        parts.append(f'<polyline class="line" stroke="{COLOURS[0]}" points="{_points(points)}"/>')
    if current is not None and 0 <= current < max(1, len(values)):
        now = _number(frame.x(current))
        parts.append(f'<line class="now" x1="{now}" x2="{now}" y1="{frame.top}" y2="{frame.bottom}"/>')
    strip = (frame.right - frame.left) / max(1, len(values) - 1)
    for ply, value in enumerate(values):
        said = escape(_said(ply, value, labels[ply] if ply < len(labels) else "", proven.get(ply)))
        attributes = f'class="point{" can" if pressable else ""}" data-ply="{ply}" aria-label="{said}"'
        if pressable:
            attributes += ' tabindex="0" role="button"' + (' aria-current="true"' if ply == current else "")
        parts.append(f"<g {attributes}><title>{said}</title>{frame.strip(ply, strip)}")
        if value is not None and is_drawn(value):
            size = min(3.0, max(1.2, strip / 3))
            parts.append(_mark(frame.point(ply, value), ply in proven, ply == current, size))
        parts.append("</g>")
    plies = f"{len(drawn)} plies valued" if drawn else "no values yet"
    last = f", the last one {value_text(drawn[-1])}" if drawn else ""
    return _svg(width, height, f"{title}: {plies}{last}", parts)


def curve_svg(
    curves: Sequence[Curve],
    *,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    y_bounds: tuple[float, float] | None = None,
    width: int = 480,
    height: int = 260,
) -> str:
    """Curves over one axis, with their intervals as bands; more than one have a legend.

    Args:
        y_bounds: the lower and the upper edge; by default what holds all curves and intervals.
        width, height: in pixels; more rows of legend add to the height.
    """
    legend = _legend([curve.name for curve in curves], width) if len(curves) > 1 else []
    row = 16
    head = (row if title else 0) + row * len(legend) + (14 if y_label else 0)
    height += row * len(legend)
    ys = [y for curve in curves for y in (*curve.ys, *curve.low, *curve.high)]
    x_bounds = bounds(x for curve in curves for x in curve.xs)
    frame = _Frame(width, height, x_bounds, y_bounds or bounds(ys), head=head, is_padded=y_bounds is None)
    parts = [f'<text class="title" x="8" y="13">{escape(title)}</text>'] if title else []
    for i, names in enumerate(legend):
        for x, index, name in names:
            y = (row if title else 0) + row * i + 9
            parts.append(f'<line class="line" {_stroke(index)} x1="{x}" x2="{x + 16}" y1="{y}" y2="{y}"/>')
            parts.append(f'<text x="{x + 20}" y="{y + 4}">{escape(name)}</text>')
    parts += frame.axes(x_label, y_label, round_ticks(*frame.y_bounds, most=5))
    if not any(is_drawn(y) for y in ys):
        parts.append(frame.note("nothing to show yet"))
    for index, curve in enumerate(curves):
        parts += _drawn(curve, index, frame)
    label = "; ".join(filter(None, [title or y_label or "curves", *map(_summary, curves)]))
    return _svg(width, height, label, parts)


class _Frame:
    """Coordinates and axes of a graph."""

    def __init__(
        self,
        width: int,
        height: int,
        x_bounds: tuple[float, float],
        y_bounds: tuple[float, float],
        *,
        head: int = 0,
        is_padded: bool = False,
    ) -> None:
        if is_padded:
            pad = 0.04 * (y_bounds[1] - y_bounds[0])
            y_bounds = (y_bounds[0] - pad, y_bounds[1] + pad)
        self.x_bounds, self.y_bounds = x_bounds, y_bounds
        texts = tick_texts(round_ticks(*y_bounds, most=5))
        self.left = round(14 + CHARACTER * max(map(len, [*texts, "-1.0"])))
        self.right, self.top, self.bottom = width - 14, head + 8, height - 34

    def x(self, number: float) -> float:
        """Pixels from the left."""
        low, high = self.x_bounds
        return self.left + (self.right - self.left) * (number - low) / (high - low)

    def y(self, number: float) -> float:
        """Pixels from the top; what lies beyond an edge is drawn on it."""
        low, high = self.y_bounds
        share = min(1.0, max(0.0, (number - low) / (high - low)))
        return self.bottom - (self.bottom - self.top) * share

    def point(self, x: float, y: float) -> Point:
        """Both."""
        return self.x(x), self.y(y)

    def axes(self, x_label: str, y_label: str, y_ticks: Sequence[float], *, whole: bool = False) -> Iterator[str]:
        """Lines, ticks and what is written at them."""
        for tick, text in zip(y_ticks, tick_texts(y_ticks), strict=True):
            y = _number(self.y(tick))
            kind = "axis" if tick == 0 else "grid"
            yield f'<line class="{kind}" x1="{self.left}" x2="{self.right}" y1="{y}" y2="{y}"/>'
            yield f'<text x="{self.left - 5}" y="{y}" text-anchor="end" dominant-baseline="central">{text}</text>'
        x_ticks = round_ticks(*self.x_bounds, most=max(2, (self.right - self.left) // 70), whole=whole)
        for tick, text in zip(x_ticks, tick_texts(x_ticks), strict=True):
            x = _number(self.x(tick))
            yield f'<line class="axis" x1="{x}" x2="{x}" y1="{self.bottom}" y2="{self.bottom + 4}"/>'
            yield f'<text x="{x}" y="{self.bottom + 15}" text-anchor="middle">{text}</text>'
        yield f'<path class="axis" fill="none" d="M{self.left} {self.top}V{self.bottom}H{self.right}"/>'
        middle = (self.left + self.right) // 2
        yield f'<text x="{middle}" y="{self.bottom + 29}" text-anchor="middle">{escape(x_label)}</text>'
        if y_label:
            yield f'<text x="8" y="{self.top - 9}">{escape(y_label)}</text>'

    def strip(self, number: float, width: float) -> str:
        """All of the height around a number: what is pressed to choose it."""
        start, end = max(self.left, self.x(number) - width / 2), min(self.right, self.x(number) + width / 2)
        return (
            f'<rect class="hit" x="{_number(start)}" y="{self.top}" width="{_number(end - start)}" '
            f'height="{self.bottom - self.top}"/>'
        )

    def note(self, text: str) -> str:
        """Return a text in the middle of an empty graph."""
        x, y = (self.left + self.right) // 2, (self.top + self.bottom) // 2
        return f'<text x="{x}" y="{y - 8}" text-anchor="middle" opacity=".7">{text}</text>'


def _drawn(curve: Curve, index: int, frame: _Frame) -> Iterator[str]:
    """A curve with its interval, thinned out to what a picture can show."""
    kept = thinned(curve.ys, 2 * (frame.right - frame.left))
    xs, ys = [curve.xs[i] for i in kept], [curve.ys[i] for i in kept]
    colour = COLOURS[index % len(COLOURS)]
    if curve.low and curve.high:
        lows, highs = [curve.low[i] for i in kept], [curve.high[i] for i in kept]
        both = [low if is_drawn(high) and is_drawn(y) else None for low, high, y in zip(lows, highs, ys, strict=True)]
        upper = dict(zip(xs, highs, strict=True))
        for run in _runs(xs, both):
            edge = [(x, high) for x, _ in run if (high := upper[x]) is not None]
            points = [frame.point(x, y) for x, y in [*run, *reversed(edge)]]
            if len(run) > 1:
                yield f'<polygon class="band" fill="{colour}" points="{_points(points)}"/>'
            else:
                yield f'<polyline class="bar" stroke="{colour}" points="{_points(points)}"/>'
    for run in _runs(xs, ys):
        points = [frame.point(x, y) for x, y in run]
        if len(points) > 1:
            yield f'<polyline class="line" {_stroke(index)} points="{_points(points)}"/>'
        if len(points) == 1 or len(ys) <= FEW:
            for (x, y), (left, top) in zip(run, points, strict=True):
                said = escape(f"{curve.name}: {number_text(y)} at {number_text(x)}")
                place = f'cx="{_number(left)}" cy="{_number(top)}"'
                yield f'<circle {place} r="2.5" fill="{colour}"><title>{said}</title></circle>'


def _runs(xs: Sequence[float], ys: Sequence[float | None]) -> Iterator[list[tuple[float, float]]]:
    """The stretches of points without a gap."""
    run: list[tuple[float, float]] = []
    for x, y in zip(xs, ys, strict=True):
        if y is not None and is_drawn(y) and is_drawn(x):
            run.append((x, y))
        elif run:
            yield run
            run = []
    if run:
        yield run


def _legend(names: Sequence[str], width: int) -> list[list[tuple[int, int, str]]]:
    """Rows of (x, index, name) that fit the width."""
    rows: list[list[tuple[int, int, str]]] = [[]]
    x = 8
    for index, name in enumerate(names):
        needed = round(36 + CHARACTER * len(name))
        if rows[-1] and x + needed > width:
            rows.append([])
            x = 8
        rows[-1].append((x, index, name))
        x += needed
    return rows


def _stroke(index: int) -> str:
    dashes = DASHES[index // len(COLOURS) % len(DASHES)]
    return f'stroke="{COLOURS[index % len(COLOURS)]}"' + (f' stroke-dasharray="{dashes}"' if dashes else "")


def _mark(point: Point, is_proven: bool, is_now: bool, radius: float) -> str:
    """A point of a match: a disc, or a diamond where the value is proven; larger where the match stands."""
    x, y = point
    if is_now:
        radius = max(4.0, radius + 1.5)
    if not is_proven:
        return f'<circle class="value" cx="{_number(x)}" cy="{_number(y)}" r="{_number(radius)}"/>'
    reach = radius + 1.5
    corners = [(x, y - reach), (x + reach, y), (x, y + reach), (x - reach, y)]
    return f'<polygon class="proven" points="{_points(corners)}"/>'


def _said(ply: int, value: float | None, label: str, proven: int | None) -> str:
    """A point of a match in words."""
    where = f"ply {ply}, {label}" if label else f"ply {ply}"
    if value is None or not is_drawn(value):
        return f"{where}: not valued"
    return f"{where}: {value_text(value)}" + ("" if proven is None else f", proven: {proof_text(proven)}")


def _summary(curve: Curve) -> str:
    """A curve in words."""
    drawn = [(x, y) for x, y in zip(curve.xs, curve.ys, strict=True) if y is not None and is_drawn(y)]
    if not drawn:
        return f"{curve.name}: nothing yet"
    (x0, y0), (x1, y1) = drawn[0], drawn[-1]
    if len(drawn) == 1:
        return f"{curve.name}: {number_text(y0)} at {number_text(x0)}"
    return f"{curve.name}: from {number_text(y0)} at {number_text(x0)} to {number_text(y1)} at {number_text(x1)}"


def _svg(width: int, height: int, label: str, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="athenan-graph" role="img" aria-label="{escape(label)}" '
        f'viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f"<style>{_STYLE}</style>{''.join(parts)}</svg>"
    )


def _points(points: Sequence[Point]) -> str:
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in points)


def _number(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
