"""Graphs: round ticks, gaps where there is no number, intervals, and a size that no number of points breaks."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from athenan_spiel.drawing.axes import bounds, number_text, round_ticks, thinned, tick_texts
from athenan_spiel.drawing.graph import Curve, curve_svg, values_svg

SVG = "{http://www.w3.org/2000/svg}"


def read(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def lines(svg: str) -> list[str | None]:
    return [x.get("points") for x in read(svg).iter(f"{SVG}polyline") if x.get("class") == "line"]


def line(name: str, ys: list[float | None]) -> Curve:
    return Curve(name=name, xs=list(range(len(ys))), ys=ys)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.0, 1.0, ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (-3.0, 7.0, ["-2", "0", "2", "4", "6"]),
        (0.0, 250_000.0, ["0", "50k", "100k", "150k", "200k", "250k"]),
        (0.0101, 0.0109, ["0.0102", "0.0104", "0.0106", "0.0108"]),
    ],
)
def test_ticks_are_round(low: float, high: float, ticks: list[str]) -> None:
    assert tick_texts(round_ticks(low, high)) == ticks


def test_ticks_of_what_is_counted_are_whole() -> None:
    assert round_ticks(0, 3, whole=True) == [0, 1, 2, 3]


@given(st.floats(-1e12, 1e12), st.floats(1e-3, 1e12))
@settings(max_examples=100, deadline=None)
def test_ticks_lie_between_the_bounds_and_are_few(low: float, size: float) -> None:
    low, high = bounds([low, low + size])
    ticks = round_ticks(low, high)
    slack = 1e-5 * (high - low)
    assert len(ticks) <= 7
    assert all(low - slack <= tick <= high + slack for tick in ticks)
    assert len(tick_texts(ticks)) == len(ticks)


def test_bounds_of_nothing_and_of_one_number() -> None:
    assert bounds([]) == bounds([None, math.nan, math.inf]) == (0.0, 1.0)
    assert bounds([2.0]) == (1.0, 3.0)
    assert bounds([0.0, 0.0]) == (-1.0, 1.0)


def test_thinned_numbers_keep_their_peaks() -> None:
    numbers: list[float | None] = [0.0] * 10_000
    numbers[4321], numbers[7777] = 5.0, -5.0
    kept = thinned(numbers, 100)
    assert len(kept) <= 104
    assert {0, 4321, 7777, 9999} <= set(kept)
    assert thinned([None] * 1000, 10)
    assert thinned([1.0, None], 10) == [0, 1]


def test_numbers_in_words() -> None:
    assert [number_text(x) for x in (0.12345, 12.0, 1234567.0)] == ["0.123", "12", "1,234,567"]


def test_what_is_no_number_is_a_gap() -> None:
    svg = curve_svg([line("loss", [1.0, 2.0, None, 3.0, 4.0, math.nan, math.inf, 5.0, 6.0])])
    assert len(lines(svg)) == 3
    assert not re.search(r"\b(nan|inf)\b", svg)


def test_an_interval_is_a_band_and_that_of_a_lone_point_a_bar() -> None:
    band = Curve(name="points", xs=[0, 1], ys=[0.5, 0.6], low=[0.4, 0.5], high=[0.6, 0.7])
    alone = Curve(name="points", xs=[0], ys=[0.5], low=[0.4], high=[0.6])
    classes = [{x.get("class") for x in read(curve_svg([curve])).iter()} for curve in (band, alone)]
    assert ["band" in found for found in classes] == [True, False]
    assert ["bar" in found for found in classes] == [False, True]


def test_several_curves_have_a_legend_and_all_are_said_in_words() -> None:
    curves = [line(f"curve {i}", [0.0, float(i)]) for i in range(12)]
    picture = read(curve_svg(curves, title="Loss", x_label="hours", y_label="mean"))
    texts = ["".join(x.itertext()) for x in picture.iter(f"{SVG}text")]
    assert {"Loss", "hours", "mean", *(curve.name for curve in curves)} <= set(texts)
    label = str(picture.get("aria-label"))
    assert label.startswith("Loss; curve 0: from 0 at 0 to 0 at 1; curve 1:")
    assert len({x.get("stroke") for x in picture.iter(f"{SVG}polyline")}) == 8, "the others are dashed"
    alone = read(curve_svg(curves[:1]))
    assert "curve 0" not in ["".join(x.itertext()) for x in alone.iter(f"{SVG}text")]


@pytest.mark.parametrize("curves", [[], [line("loss", [])], [line("loss", [None])]])
def test_a_graph_of_nothing_says_so(curves: list[Curve]) -> None:
    assert "nothing to show yet" in "".join(read(curve_svg(curves)).itertext())
    assert "no values yet" in "".join(read(values_svg([None] * len(curves))).itertext())


def test_names_are_text() -> None:
    bad = '"><script>&'
    svg = curve_svg([line(bad, [1.0, 2.0]), line(bad, [1.0])], title=bad, x_label=bad, y_label=bad)
    svg += values_svg([0.5], labels=[bad], title=bad)
    assert "<script" not in svg
    read(f"<p>{svg}</p>")


def test_a_million_points_are_a_small_picture() -> None:
    points = [math.sin(i) for i in range(300_000)]
    assert len(curve_svg([line("loss", [*points])])) < 40_000


def test_each_ply_of_a_match_is_a_point() -> None:
    svg = values_svg([0.0, 0.5, None, -1.0], proven={3: -1}, current=1, labels=["", "a1"], pressable=True)
    points = [x for x in read(svg).iter(f"{SVG}g") if "point" in str(x.get("class"))]
    assert [x.get("data-ply") for x in points] == ["0", "1", "2", "3"]
    assert [x.get("aria-label") for x in points] == [
        "ply 0: 0",
        "ply 1, a1: +0.5",
        "ply 2: not valued",
        "ply 3: -1, proven: player 1 wins",
    ]
    assert [x.get("aria-current") for x in points] == [None, "true", None, None]
    assert {x.get("tabindex") for x in points} == {"0"}
    assert "tabindex" not in values_svg([0.0, 0.5])
    assert len(lines(svg)) == 2


def test_colours_are_those_of_the_text_around() -> None:
    svg = curve_svg([line("loss", [1.0, 2.0])], title="Loss")
    colours = set(re.findall(r'(?:fill|stroke)[:=] ?"?(#[0-9a-f]{3,6}|black|white)', svg))
    assert "currentColor" in svg
    assert not colours & {"#000", "#000000", "#fff", "#ffffff", "black", "white"}
