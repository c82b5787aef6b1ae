"""Interactive charts of NiceGUI (ECharts): curves of runs, and the values of a game."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from athenan_spiel.drawing.charts import COLOURS, MAX_DOTS, MAX_LABEL_CHARACTERS, Chart
from athenan_spiel.drawing.tree import proof_text, value_text

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
    bounds = dict(zip(("min", "max"), chart.y_bounds, strict=True)) if chart.y_bounds else {"scale": True}
    has_legend = len(chart.curves) > 1
    series = []
    for i, curve in enumerate(chart.curves):
        columns = (curve.xs, curve.ys, curve.low, curve.high) if curve.low else (curve.xs, curve.ys)
        data = [[float(f"{number:.6g}") for number in row] for row in zip(*columns, strict=True)]
        colour = COLOURS[i % len(COLOURS)]
        each = {"name": curve.name, "data": data, "color": colour}
        series.append({**each, "type": "line", "symbol": "circle", "showSymbol": len(data) <= MAX_DOTS})
        if curve.low:
            series.append({**each, "type": "custom", ":renderItem": _INTERVAL % colour, "tooltip": {"show": False}})
    return {
        "title": {"text": chart.title, "left": 48, "textStyle": {"color": _INK, "fontSize": 14}},
        "aria": {"enabled": True, "label": {"description": chart.description}},
        "textStyle": {"color": _INK},
        "tooltip": _TOOLTIP,
        "toolbox": {"feature": {"dataZoom": {"yAxisIndex": "none"}}, "iconStyle": {"borderColor": _INK}},
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
    values: Sequence[float | None], proven: Mapping[int, float], current: int, viewer: int = 0
) -> dict[str, Any]:
    """Returns the options of a chart of the values of a game's positions for player 0, in a game with rows `viewer`.

    Any place above a number of moves can be clicked.

    Args:
        values: value in [-1, 1] after each number of moves; None: not analysed.
        proven: proven gain of that player, by the number of moves.
        current: number of moves of the position on the board.
        viewer: player whose values these are.
    """
    points = [
        {"value": value, "symbol": "diamond" if ply in proven else "circle", "symbolSize": 11 if ply == current else 6}
        for ply, value in enumerate(values)
    ]
    mark = {"silent": True, "symbol": "none", "label": {"show": False}, "data": [{"xAxis": current}]}
    line = {"type": "line", "data": points, "color": COLOURS[0], "areaStyle": {"opacity": 0.15}, "z": 3}
    targets = {"type": "bar", "barWidth": "100%", "barGap": "-100%", "itemStyle": {"opacity": 0}}
    texts = [_position_text(ply, value, proven.get(ply)) for ply, value in enumerate(values)]
    return {
        "aria": {"enabled": True, "label": {"description": f"Values for player {viewer}; {texts[current]}"}},
        "tooltip": {**_TOOLTIP, "formatter": "{b}"},
        "grid": {"left": 40, "right": 12, "top": 10, "bottom": 24},
        "xAxis": {**_AXIS, "data": texts, "axisLabel": {"color": _INK, ":formatter": "(text, ply) => ply"}},
        "yAxis": {**_AXIS, "min": -1, "max": 1, "interval": 0.5},
        "series": [
            {**line, "markLine": {**mark, "lineStyle": {"color": _INK, "type": "dashed"}}},
            *({**targets, "data": [edge] * len(values)} for edge in (1, -1)),
        ],
    }


def _position_text(ply: int, value: float | None, proven: float | None) -> str:
    where = f"after {ply} move{'' if ply == 1 else 's'}"
    if value is None:
        return f"{where}: not analysed"
    return f"{where}: {value_text(value)}" + ("" if proven is None else f", proven: {proof_text(proven)}")
