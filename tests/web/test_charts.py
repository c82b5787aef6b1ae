"""Options of the charts on the pages."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

pytest.importorskip("nicegui", reason="needs NiceGUI: pip install 'athenan-spiel[web]'")

from athenan_spiel.drawing.charts import Chart, Curve
from athenan_spiel.drawing.evaluations import NodeEvaluation
from athenan_spiel.games import load_game
from athenan_spiel.web.charts import chart_options, values_options


def chart_of(*curves: Curve, **settings: Any) -> Chart:
    return Chart(title="Loss", x_label="hours", y_label="mean", curves=curves, **settings)


def test_curves_have_a_legend_and_their_intervals() -> None:
    loss = Curve(name="loss", xs=[0, 1], ys=[0.123456789, 2.0])
    points = Curve(name="x" * 500, xs=[1], ys=[50.0], low=[40.0], high=[60.0])
    options = chart_options(chart_of(loss, points, y_bounds=(0.0, 100.0)))
    assert [(x["type"], x["data"]) for x in options["series"]] == [
        ("line", ((0, 0.123457), (1, 2.0))),
        ("line", ((1, 50.0, 40.0, 60.0),)),
        ("custom", ((1, 50.0, 40.0, 60.0),)),
    ]
    assert len({x["name"] for x in options["series"]}) == 2
    assert (options["yAxis"]["min"], options["yAxis"]["max"], options["legend"]["show"]) == (0.0, 100.0, True)
    assert options["aria"]["label"]["description"].startswith("Loss; loss: from 0.123 at 0 to 2 at 1;")
    alone = chart_options(chart_of(loss))
    assert (alone["legend"]["show"], alone["yAxis"]["scale"]) == (False, True)
    json.dumps([options, alone])


@pytest.mark.parametrize(("high", "is_shown"), [(100.0, True), (0.6394460541861398, False), (math.inf, False)])
def test_only_a_round_end_of_an_axis_has_a_label(high: float, is_shown: bool) -> None:
    options = chart_options(chart_of(Curve(name="loss", xs=[0], ys=[1.0]), y_bounds=(0.0, high)))
    assert options["yAxis"]["axisLabel"]["showMaxLabel"] is is_shown


def test_long_names_that_differ_in_the_middle_stay_apart() -> None:
    names = [f"{'x' * 40}{i}{'y' * 40}" for i in range(2)]
    options = chart_options(chart_of(*(Curve(name=name, xs=[0], ys=[1.0]) for name in names)))
    assert [x["name"] for x in options["series"]] == names  # ECharts identifies curves by their names
    assert ".slice(-9)" in options["legend"][":formatter"]


def test_each_position_of_a_game_has_a_text_a_score_and_a_target() -> None:
    game = load_game("connect_four")
    known = [NodeEvaluation(0.0, None), NodeEvaluation(0.5, None), None, NodeEvaluation(-0.2, -1, moves=7)]
    options = values_options(game, known, 1, 0)
    assert options["xAxis"]["data"] == [
        "after 0 moves: 50.0 % for Red",
        "after 1 move: 75.0 % for Red",
        "after 2 moves: not analysed",
        "after 3 moves: loss in 7 for Red",
    ]
    line, targets = options["series"]
    assert [x["value"] for x in line["data"]] == [50.0, 75.0, None, 0.0]
    assert [x["symbol"] for x in line["data"]] == ["circle"] * 3 + ["diamond"]
    assert max(line["data"], key=lambda point: point["symbolSize"]) == line["data"][1]
    assert line["markLine"]["data"] == [{"xAxis": 1}]
    assert targets["data"] == [100] * 4
    assert options["aria"]["label"]["description"] == "Score of Red; after 1 move: 75.0 % for Red"
    assert values_options(game, known, 1, 0, raw=True)["xAxis"]["data"][1] == "after 1 move: +0.5 for Red"
    (line, _) = values_options(game, known, 1, 1)["series"]
    assert [x["value"] for x in line["data"]] == [50.0, 25.0, None, 100.0]
    json.dumps(options)
