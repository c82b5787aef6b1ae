"""Charts of curves: any numbers and names, a text for screen readers, and the colours of the page."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree

import pytest

from athenan_spiel.drawing.charts import Chart, Curve, chart_svg, number_text, smoothed

BAD = '"><script>$\\frac$&_' * 30


def chart_of(*curves: Curve, title: str = "Loss") -> Chart:
    return Chart(title=title, x_label="hours", y_label="mean", curves=curves)


def line(name: str, ys: list[float]) -> Curve:
    return Curve(name=name, xs=list(range(len(ys))), ys=ys)


def read(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def test_numbers_as_text() -> None:
    assert [number_text(x) for x in (0.12345, 12.0, 1234567.0)] == ["0.123", "12", "1,234,567"]


def test_several_curves_have_a_legend_and_a_description() -> None:
    curves = [line(f"curve {i}", [0.0, float(i)][: i + 1]) for i in range(12)]
    picture = read(chart_svg(chart_of(*curves)))
    texts = "".join(picture.itertext())
    assert all(text in texts for text in ("Loss", "hours", "mean", *(curve.name for curve in curves)))
    label = str(picture.get("aria-label"))
    assert label.startswith("Loss; curve 0: 0 at 0; curve 1: from 0 at 0 to 1 at 1; curve 2:")
    assert "curve 1" not in "".join(read(chart_svg(chart_of(curves[1]))).itertext())


def test_the_description_has_finite_numbers() -> None:
    assert chart_of(line("loss", [math.nan, 1.0, 2.0, math.inf])).description == "Loss; loss: from 1 at 1 to 2 at 2"
    assert chart_of(line("loss", [math.nan])).description == "Loss; loss: no values"


def test_smoothing_is_an_average_whose_weights_fall_by_a_factor() -> None:
    chart = chart_of(line("loss", [4.0, 1.0, math.nan, 2.0]), line("constant", [3.0] * 4))
    assert smoothed(chart, 0) is chart
    loss, constant = smoothed(chart, 0.5).curves
    assert loss.ys == pytest.approx([4.0, 2.0, 2.0, (4 * 0.125 + 0.25 + 2 * 0.5) / 0.875])
    assert constant.ys == pytest.approx([3.0] * 4)
    assert smoothed(chart, 0.5).y_label == "mean, smoothed"
    assert smoothed(chart_of(line("loss", [math.nan, 1.0])), 0.9).curves[0].ys[1] == pytest.approx(1.0)
    strength = chart_of(Curve(name="points", xs=[0, 1], ys=[0.5, 1.0], low=[0.4, 0.9], high=[0.6, 1.0]))
    assert smoothed(strength, 0.5) is strength


@pytest.mark.parametrize(
    "curve",
    [
        line("loss", []),
        line("loss", [1.0, math.nan, math.inf, 5.0]),
        line("loss", [1e308, -1e308]),
        line("loss", [0.0, 0.0]),
        line(BAD, [1.0]),
        Curve(name="points", xs=[0], ys=[0.5], low=[0.9], high=[0.1]),
    ],
)
def test_any_numbers_and_names_can_be_drawn(curve: Curve) -> None:
    svg = chart_svg(chart_of(curve, curve, title=curve.name))
    read(f"<p>{svg}</p>")
    assert "<script" not in svg
    assert not re.search(r"\b(nan|inf)\b", svg)


def test_many_points_are_a_small_picture() -> None:
    assert len(chart_svg(chart_of(line("loss", [math.sin(i / 10) for i in range(300_000)])))) < 60_000


def test_an_interval_is_a_vertical_line() -> None:
    curve = Curve(name="points", xs=[0, 1], ys=[0.5, 0.6], low=[0.4, 0.5], high=[0.6, 0.7])
    svgs = [chart_svg(chart_of(each)) for each in (curve, line("points", [0.5, 0.6]))]
    assert ["stroke-opacity: 0.4" in svg for svg in svgs] == [True, False]


def test_text_has_the_colour_of_the_page() -> None:
    svg = chart_svg(chart_of(line("loss", [1.0, 2.0])))
    read(svg)
    assert "currentColor" in svg
    assert not re.findall(r'(?:fill|stroke)[:=] ?"?(#0[0-9a-f]{5}|#fff|black|white)', svg)
