"""Interactive charts of NiceGUI (ECharts): curves of runs, and the values of a game."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyspiel
from nicegui import ui

from athenan_spiel.drawing.charts import COLOURS, MAX_DOTS, MAX_LABEL_CHARACTERS, Chart
from athenan_spiel.drawing.evaluations import NodeEvaluation, named_text, score_title

ChartOptions = dict[str, Any]
"""Options of an ECharts chart."""
_INK = "currentColor"
_AXIS = {
    "axisLabel": {"color": _INK},
    "axisLine": {"show": True, "lineStyle": {"color": _INK}},
    "splitLine": {"lineStyle": {"color": _INK, "opacity": 0.12}},
}
_TOOLTIP = {
    "trigger": "axis",
    "confine": True,
    "backgroundColor": "var(--paper)",
    "borderColor": "var(--soft)",
    "textStyle": {"color": "var(--ink)"},
}
_INTERVAL = """(_, api) => {
    const [from, to] = [2, 3].map((i) => api.coord([api.value(0), api.value(i)]));
    const shape = {x1: from[0], y1: from[1], x2: to[0], y2: to[1]};
    return {type: 'line', shape, style: {stroke: '%s', opacity: 0.5, lineWidth: 2}};
}"""
"""Draws the interval of a point as a vertical line of a colour."""
_POINTS_TEXT = """(points) => {
    const text = (raw) => String(raw).replace(/[&<>"']/g, (found) => `&#${found.charCodeAt(0)};`);
    const number = (value) => value === null || value === undefined ? '-' : Math.abs(value) >= 1000
        ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)));
    const row = ({marker, seriesName, value: [, y, low, high]}) => `<tr><td>${marker} ${text(seriesName)}</td>
        <td style="padding-left: 0.8em"><b>${number(y)}</b>
        ${low === undefined ? '' : `(${number(low)} to ${number(high)})`}</td></tr>`;
    return `${number(points[0].value[0])} ${text(%s)}<table>${points.map(row).join('')}</table>`;
}"""
"""Returns the text at a place of the horizontal axis, of which the label is given, as HTML. Names are untrusted."""
_SHORT_NAME = f"""(name) => name.length <= {MAX_LABEL_CHARACTERS} ? name
    : name.slice(0, {MAX_LABEL_CHARACTERS - 12}) + '...' + name.slice(-9)"""
"""Shortens a name in the legend. ECharts identifies curves by their names, so these stay whole."""


def add_chart(options: dict[str, Any]) -> ui.echart:
    """Adds a chart, whose text has the colour of the page."""
    return ui.echart(options, renderer="svg")


def redraw(element: ui.echart, options: dict[str, Any]) -> None:
    """Replaces the options of a chart. It keeps its zoom."""
    element.options.clear()
    element.options.update(options)
    element.update()


def chart_options(chart: Chart) -> dict[str, Any]:
    """Returns the options of a chart of curves, with tooltips, zoom, and a legend for more than one."""
    bounds: dict[str, Any] = {"scale": True}
    if chart.y_bounds:
        low, high = chart.y_bounds
        label = {"color": _INK, "showMaxLabel": high % 1 == 0}  # other ends are no round numbers
        bounds = {"min": low, "max": high, "axisLabel": label}
    has_legend = len(chart.curves) > 1
    series = []
    for i, curve in enumerate(chart.curves):
        columns = (curve.xs, curve.ys, curve.low, curve.high) if curve.low else (curve.xs, curve.ys)
        # Tuples, as NiceGUI would observe each list for changes, which blocks the event loop for a tenth of a second.
        data = tuple(tuple(float(f"{number:.6g}") for number in row) for row in zip(*columns, strict=True))
        colour = COLOURS[i % len(COLOURS)]
        each = {"name": curve.name, "data": data, "color": colour}
        series.append({**each, "type": "line", "symbol": "circle", "showSymbol": len(data) <= MAX_DOTS})
        if curve.low:
            series.append({**each, "type": "custom", ":renderItem": _INTERVAL % colour, "tooltip": {"show": False}})
    return {
        "title": {"text": chart.title, "left": 48, "textStyle": {"color": _INK, "fontSize": 14}},
        "aria": {"enabled": True, "label": {"description": chart.description}},
        "textStyle": {"color": _INK},
        "tooltip": {**_TOOLTIP, ":formatter": _POINTS_TEXT % json.dumps(chart.x_label)},
        "toolbox": {"feature": {"dataZoom": {"yAxisIndex": "none"}}, "iconStyle": {"borderColor": _INK}},
        "dataZoom": [{"type": "inside", "zoomOnMouseWheel": "ctrl", "moveOnMouseMove": "shift", "filterMode": "none"}],
        "legend": {
            **{"show": has_legend, "bottom": 0, "type": "scroll", "textStyle": {"color": _INK}},
            **{"pageTextStyle": {"color": _INK}, "pageIconColor": _INK, ":formatter": _SHORT_NAME},
        },
        "grid": {"left": 56, "right": 24, "top": 60, "bottom": 72 if has_legend else 44},
        "xAxis": {**_AXIS, "type": "value", "min": 0, "name": chart.x_label, "nameLocation": "middle", "nameGap": 28},
        "yAxis": {**_AXIS, "type": "value", "name": chart.y_label, "nameTextStyle": {"align": "left"}, **bounds},
        "series": series,
    }


def values_options(
    game: pyspiel.Game, known: Sequence[NodeEvaluation | None], current: int, viewer: int, *, raw: bool = False
) -> dict[str, Any]:
    """Returns the options of a chart of the expected scores of `viewer` over a game, in percent.

    Any place above a number of moves can be clicked.

    Args:
        known: evaluation after each number of moves; None: not analysed.
        current: number of moves of the position on the board.
        raw: show values in units of the outcome in the texts.
    """
    points = [
        {
            "value": None if found is None else 100 * found.expected_score(viewer),
            "symbol": "diamond" if found is not None and found.is_proven else "circle",
            "symbolSize": 11 if ply == current else 6,
        }
        for ply, found in enumerate(known)
    ]
    mark = {"silent": True, "symbol": "none", "label": {"show": False}, "data": [{"xAxis": current}]}
    area = {"opacity": 0.15, "origin": 50}
    line = {"type": "line", "data": points, "color": COLOURS[0], "areaStyle": area, "z": 3}
    targets = {"type": "bar", "barWidth": "100%", "itemStyle": {"opacity": 0}, "data": [100] * len(known)}
    texts = [
        f"after {ply} move{'' if ply == 1 else 's'}: "
        + ("not analysed" if found is None else named_text(game, found, viewer, raw=raw))
        for ply, found in enumerate(known)
    ]
    title = score_title(game, viewer)
    return {
        "aria": {"enabled": True, "label": {"description": f"{title[0].upper()}{title[1:]}; {texts[current]}"}},
        "tooltip": {**_TOOLTIP, "formatter": "{b}"},
        "grid": {"left": 40, "right": 12, "top": 10, "bottom": 24},
        "xAxis": {**_AXIS, "data": texts, "axisLabel": {"color": _INK, ":formatter": "(text, ply) => ply"}},
        "yAxis": {**_AXIS, "min": 0, "max": 100, "interval": 25},
        "series": [{**line, "markLine": {**mark, "lineStyle": {"color": _INK, "type": "dashed"}}}, targets],
    }
