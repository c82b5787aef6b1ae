"""Win percentages and their bootstrap intervals against hand calculations."""

from __future__ import annotations

import csv
import dataclasses
import io
import math
import struct
from collections.abc import Mapping

import numpy as np
import pytest
from experiment_runs import TINY
from rendered import ELEMENTS, NAMES, RENDERERS, rendered, shown

from athenan_spiel.arena import Interval, plots
from athenan_spiel.arena.statistics import percentile_interval
from athenan_spiel.arena.tables import markdown_table
from athenan_spiel.experiments import ExperimentFile
from athenan_spiel.experiments.plan import Entrant, GameResult, Pairing, Plan
from athenan_spiel.experiments.plots import curves_figure, final_figure, plot_files
from athenan_spiel.experiments.reaching import Reached, reaching_tables
from athenan_spiel.experiments.report import ExperimentResults, TrainingEffort
from athenan_spiel.experiments.statistics import (
    MEAN,
    Difference,
    Points,
    Share,
    curve_shares,
    final_differences,
    final_shares,
    head_to_head,
    weighted_shares,
)

GAME, OTHER = "tic_tac_toe", "mnk(m=3,n=4,k=3)"
D1, D2, U1, U2 = ("descent", 1), ("descent", 2), ("ubfm", 1), ("ubfm", 2)
Who = tuple[str, int]


def plan_of(old: str = "", new: str = "", stages: int = 1) -> Plan:
    text = TINY.replace("stages = 2", f"stages = {stages}").replace("resamples = 200", "resamples = 4000")
    return Plan(ExperimentFile(text.replace(old, new, 1), "tiny.toml").experiment)


def row(game: str, a: Who, b: Who, points: float, stage_a: int = 1, stage_b: int = 1) -> GameResult:
    return GameResult(Pairing(game, Entrant(*a, stage_a), Entrant(*b, stage_b)), 0, 0, points)


def all_pairs(game: str, points: Mapping[tuple[Who, Who], float]) -> list[GameResult]:
    return [row(game, a, b, value) for (a, b), value in points.items()]


def interval_of(measured: Share | Difference) -> Interval:
    """Returns the interval, which must exist."""
    assert measured.interval is not None
    return measured.interval


TABLE = {(D1, D2): 1.0, (D1, U1): 1.0, (D1, U2): 0.5, (D2, U1): 0.0, (D2, U2): 1.0, (U1, U2): 0.5}
"""D1 has 2.5 of 3, D2 1 of 3: descent (2.5 + 1) / 6; ubfm the other 2.5 of 6."""


def found(shares: list[Share], game: str, variant: str, stage: int = 1) -> Share:
    (share,) = [s for s in shares if (s.game, s.variant, s.stage) == (game, variant, stage)]
    return share


def test_a_final_share_is_the_mean_over_all_others_of_all_repetitions() -> None:
    shares = final_shares(Points(plan_of(), all_pairs(GAME, TABLE)))
    assert found(shares, GAME, "descent").estimate == pytest.approx(3.5 / 6)
    assert found(shares, GAME, "ubfm").estimate == pytest.approx(2.5 / 6)
    assert found(shares, GAME, "descent").matches == 6
    assert not [share for share in shares if share.game == OTHER], "what was not played has no number"
    assert not [share for share in shares if share.game == MEAN], "nor has a mean that lacks a game"


def test_the_mean_over_games_is_that_of_a_variants_own_games() -> None:
    other = dict.fromkeys(TABLE, 1.0)  # descent: 3 + 2 of 6, ubfm: 1 of 6
    rows = all_pairs(GAME, TABLE) + all_pairs(OTHER, other)
    shares = final_shares(Points(plan_of(), rows))
    assert found(shares, MEAN, "descent").estimate == pytest.approx((3.5 / 6 + 5 / 6) / 2)
    assert found(shares, MEAN, "descent").matches == 12
    only = plan_of("[variants.ubfm]", f'[variants.ubfm]\nexcept = ["{OTHER}"]')
    shares = final_shares(Points(only, [*all_pairs(GAME, TABLE), row(OTHER, D1, D2, 1.0)]))
    assert found(shares, MEAN, "ubfm").estimate == pytest.approx(2.5 / 6)
    assert found(shares, MEAN, "descent").estimate == pytest.approx((3.5 / 6 + 0.5) / 2)


def test_matches_of_a_pair_count_as_one_share_of_both() -> None:
    rows = [row(GAME, D1, U1, 1.0), row(GAME, D1, U1, 0.5)]
    points = Points(plan_of(), rows)
    d, u = points.plan.finals(GAME)[:2]
    assert (d.variant, u.variant) == ("descent", "ubfm")
    assert points.share(GAME, d, u) == 0.75
    assert points.share(GAME, u, d) == 0.25
    assert points.matches(GAME, u, d) == 2
    assert np.isnan(points.matrix(GAME, [d, u])).tolist() == [[True, False], [False, True]]


def test_weighted_shares_by_hand() -> None:
    nan = np.nan
    #                  D1   D2   U1   U2
    matrix = np.array([[nan, 1.0, 1.0, 0.5], [0.0, nan, 0.0, 1.0], [0.0, 1.0, nan, 0.5], [0.5, 0.0, 0.5, nan]])
    members = np.array([[True, True, False, False], [False, False, True, True]])
    weights = np.array([[1.0, 1, 1, 1], [2, 0, 1, 1], [2, 0, 0, 2], [0, 0, 1, 1]])
    both = weighted_shares(matrix, weights, members, by_both=True)
    # Row 2: D1 twice against U1 (1) and U2 (1/2), each D1 against the other (1/2), none against D2: (2 + 1 + 1) / 6;
    # each of U1 and U2 has two of D1 and one of the other, (0 · 2 + 1/2 + 1/2 · 2 + 1/2) / 6.
    # Row 3: D1 twice against U2 twice.
    assert both[0] == pytest.approx([3.5 / 6, 2.5 / 6])
    assert both[1] == pytest.approx([4 / 6, 2 / 6])
    assert both[2] == pytest.approx([0.5, 0.5])
    assert np.isnan(both[3, 0])
    assert both[3, 1] == pytest.approx(0.5)
    first = weighted_shares(matrix, weights, members, by_both=False)
    assert first[1] == pytest.approx([2.5 / 3, 2.5 / 6])


def test_the_interval_is_that_of_the_repetitions_and_not_of_the_matches() -> None:
    # Within its repetition each network wins or loses all: points of descent are 1 and 0, however many matches.
    plan = plan_of("opening_plies = 1", 'opening_plies = 1\nopponents = "repetition"')
    rows = [row(GAME, D1, U1, 1.0)] * 50 + [row(GAME, D2, U2, 0.0)] * 50
    interval = interval_of(found(final_shares(Points(plan, rows)), GAME, "descent"))
    # Two draws of two: (0, 0) with 1/4, (0, 1) with 1/2, (1, 1) with 1/4.
    assert (interval.estimate, interval.low, interval.high, interval.confidence) == (0.5, 0.0, 1.0, 0.95)
    fifty = plan_of("opening_plies = 1", 'opening_plies = 1\nopponents = "repetition"\nconfidence = 0.4')
    interval = interval_of(found(final_shares(Points(fifty, rows)), GAME, "descent"))
    assert (interval.low, interval.high) == (0.5, 0.5), "the middle two quarters, and some more"


def test_games_are_strata() -> None:
    # In each game two repetitions, 1 and 0: their mean over games has the distribution of the mean of four draws in two
    # pairs, which is (number of ones) / 4 with binomial(4, 1/2): P(0) = P(1) = 1/16 = 0.0625.
    plan = plan_of("opening_plies = 1", 'opening_plies = 1\nopponents = "repetition"\nconfidence = 0.9')
    rows = [row(game, a, b, points) for game in (GAME, OTHER) for a, b, points in ((D1, U1, 1.0), (D2, U2, 0.0))]
    interval = interval_of(found(final_shares(Points(plan, rows)), MEAN, "descent"))
    assert (interval.low, interval.high) == (0.0, 1.0), "0.0625 is more than 5 % at either end"
    narrower = plan_of("opening_plies = 1", 'opening_plies = 1\nopponents = "repetition"\nconfidence = 0.8')
    interval = interval_of(found(final_shares(Points(narrower, rows)), MEAN, "descent"))
    assert (interval.low, interval.high) == (0.25, 0.75), "and less than 10 %"


def test_variants_that_share_networks_are_drawn_together() -> None:
    sharing = 'play = {algorithm = "ubfm", iterations = 2}'
    plan = plan_of('search.algorithm = "ubfm"', sharing)
    assert len(plan.trainings()) == 4
    # Repetition 1 of ubfm wins all, so does its twin of descent against all but that; drawn together, they are never
    # two different networks, and neither loses to the other's repetition 2 alone.
    table = {(D1, D2): 1.0, (D1, U1): 0.5, (D1, U2): 1.0, (D2, U1): 0.0, (D2, U2): 0.5, (U1, U2): 1.0}
    assert found(final_shares(Points(plan, all_pairs(GAME, table))), GAME, "descent").interval is None, (
        "all resamples are a half"
    )
    apart = interval_of(found(final_shares(Points(plan_of(), all_pairs(GAME, table))), GAME, "descent"))
    assert (apart.low, apart.high) == pytest.approx((0.5 / 3, 2.5 / 3)), "two of D1 against two of U2"


def test_duplicates_in_a_resample_count_a_half() -> None:
    # Descent always beats ubfm: whatever is drawn, two of three matches are against the other kind.
    table = {(D1, D2): 0.5, (D1, U1): 1.0, (D1, U2): 1.0, (D2, U1): 1.0, (D2, U2): 1.0, (U1, U2): 0.5}
    share = found(final_shares(Points(plan_of(), all_pairs(GAME, table))), GAME, "descent")
    assert share.estimate == pytest.approx(5 / 6)
    assert share.interval is None, "all resamples are the same"


def test_differences_are_to_the_best_and_drawn_together() -> None:
    plan = plan_of("opening_plies = 1", 'opening_plies = 1\nopponents = "repetition"')
    rows = [row(game, a, b, p) for game in (GAME, OTHER) for a, b, p in ((D1, U1, 0.75), (D2, U2, 1.0))]
    (difference,) = final_differences(Points(plan, rows))
    assert (difference.variant, difference.other, difference.games) == ("descent", "ubfm", 2)
    interval = interval_of(difference)
    assert (interval.estimate, interval.low, interval.high) == pytest.approx((0.75, 0.5, 1.0), abs=0.13)
    assert interval.low >= 0.5
    assert interval.high <= 1.0


def test_bootstrap_is_the_same_each_time() -> None:
    points = Points(plan_of(), all_pairs(GAME, TABLE))
    assert final_shares(points) == final_shares(points)


def test_curves_count_the_network_itself_as_a_half() -> None:
    plan = plan_of(stages=2)
    early = [
        row(GAME, D1, D1, 0.0, 1, 2), row(GAME, D1, U1, 1.0, 1, 2), row(GAME, D2, D2, 0.5, 1, 2),
        row(GAME, D2, U2, 0.0, 1, 2), row(GAME, D1, U2, 1.0, 1, 2),
    ]  # fmt: skip
    final = [row(GAME, D1, U1, 1.0, 2, 2), row(GAME, D2, U2, 0.0, 2, 2), row(GAME, D1, U2, 0.0, 2, 2)]
    shares = curve_shares(Points(plan, early + final))
    assert found(shares, GAME, "descent", 1).estimate == pytest.approx(((0 + 1) / 2 + (0.5 + 0) / 2) / 2)
    assert found(shares, GAME, "descent", 1).matches == 4
    assert found(shares, GAME, "descent", 2).estimate == pytest.approx(((0.5 + 1) / 2 + (0.5 + 0) / 2) / 2)


def test_head_to_head_is_over_all_repetitions() -> None:
    duels = head_to_head(Points(plan_of(), all_pairs(GAME, TABLE)))
    assert duels == {("descent", "ubfm"): pytest.approx(2.5 / 4), ("ubfm", "descent"): pytest.approx(1.5 / 4)}


def test_a_percentile_interval_is_symmetric() -> None:
    interval = percentile_interval(0.5, np.arange(101) / 100, 0.9)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((0.05, 0.95))


def test_the_table_marks_the_best_and_absent_variants() -> None:
    plan = plan_of("[variants.ubfm]", f'[variants.ubfm]\nexcept = ["{OTHER}"]')
    rows = [*all_pairs(GAME, TABLE), row(OTHER, D1, D2, 1.0)]
    table = ExperimentResults.of(Points(plan, rows), [], complete=True).final_table().splitlines()
    assert table[0] == "|  | `descent` | `ubfm` |"
    assert table[2].startswith("| `tic_tac_toe` | **58.3%** (")
    assert "| 41.7% (" in table[2]
    assert table[3].endswith("| X |")
    assert table[4].startswith("| mean | **54.2%** (")


def test_a_pipe_in_a_name_is_escaped() -> None:
    assert markdown_table(["a|b", "c"], [["1", "2"]]) == "| a\\|b | c |\n| --- | ---: |\n| 1 | 2 |"


@pytest.mark.parametrize("samples", [[0.5], [0.5] * 9, [0.1 + 0.2, 0.3]])
def test_without_spread_there_is_no_interval(samples: list[float]) -> None:
    assert percentile_interval(samples[0], np.array(samples), 0.95) is None


def one_repetition() -> ExperimentResults:
    """Results of an experiment with one repetition and two stages."""
    plan = plan_of("repetitions = 2", "repetitions = 1", stages=2)
    rows = [
        row(game, a, b, points, stage, 2)
        for game in (GAME, OTHER)
        for a, b, points, stage in (
            (D1, U1, 0.75, 2),
            (D1, D1, 0.0, 1),
            (D1, U1, 0.5, 1),
            (U1, D1, 1.0, 1),
            (U1, U1, 0.5, 1),
        )
    ]
    return ExperimentResults.of(Points(plan, rows), [], complete=True)


def test_one_repetition_has_no_interval_anywhere() -> None:
    results = one_repetition()
    assert [share.interval for share in (*results.final, *results.curves)] == [None] * 18
    assert [difference.interval for difference in results.differences] == [None]
    assert results.final_table().splitlines()[2:] == [
        f"| `{GAME}` | **75.0%** | 25.0% |",
        f"| `{OTHER}` | **75.0%** | 25.0% |",
        "| mean | **75.0%** | 25.0% |",
    ]
    text = results.markdown()
    assert "in percentage points, in the games that both play: `ubfm` +50.0." in text
    assert "In parentheses" not in text
    for name in ("final.csv", "curves.csv"):
        lines = list(csv.DictReader(io.StringIO(results.files()[name])))
        assert lines
        assert all((line["low"], line["high"], line["confidence"]) == ("", "", "") for line in lines)
        assert all(line["points"] for line in lines)
    document = results.to_json()
    for line in (*document["final"], *document["curves"], *document["differences"]):
        assert (line["low"], line["high"], line["confidence"]) == (None, None, None)


def test_plots_of_one_repetition_have_no_bars_and_no_bands() -> None:
    results = one_repetition()
    figure = final_figure(results)
    assert all(not axis.collections for axis in figure.axes), "bars are collections of lines"
    assert figure.axes[-1].get_xlabel() == "points in %"
    assert all(not band.get_paths() for axis in curves_figure(results).axes for band in axis.collections)


def test_plots_of_two_repetitions_have_both() -> None:
    plan = plan_of(stages=2)
    rows = [
        row(game, a, b, points, stage, 2)
        for game in (GAME, OTHER)
        for a, b, points, stage in ((D1, U1, 0.75, 2), (D2, U2, 0.25, 2), (D1, U1, 0.5, 1), (D2, U2, 1.0, 1))
    ]
    results = ExperimentResults.of(Points(plan, rows), [], complete=False)
    figure = final_figure(results)
    assert all(axis.collections for axis in figure.axes)
    assert figure.axes[-1].get_xlabel() == "points in % (95% interval)"


def test_plots_show_names_unchanged() -> None:
    name = r"_$\frac$"  # half a formula, and what matplotlib leaves out of a legend
    plan = plan_of("[variants.ubfm]", f"[variants.'{name}']", stages=2)
    other = (name, 1)
    rows = [row(GAME, D1, other, 0.5, 2, 2), row(GAME, D1, other, 0.5, 1, 2), row(GAME, other, D1, 0.5, 1, 2)]
    results = ExperimentResults.of(Points(plan, rows), [], complete=False)
    assert sorted(plot_files(results)) == ["curves.png", "final.png"]
    (legend,) = curves_figure(results).legends
    assert [text.get_text().strip() for text in legend.get_texts()] == ["descent", r"_\$\frac\$"]


def test_the_legend_fits_below_a_plot() -> None:
    others = "".join(f"[variants.'a variant with a long name, {n}']\nlearner.learning_rate = 1e-{n}\n" for n in "4567")
    plan = plan_of("[variants.ubfm]", f"{others}[variants.ubfm]", stages=2)
    results = ExperimentResults.of(Points(plan, [row(GAME, D1, U1, 0.75, n, 2) for n in (1, 2)]), [], complete=False)
    figure = curves_figure(results)
    (legend,) = figure.legends
    assert len(legend.get_texts()) == 6
    assert legend.get_window_extent().width <= figure.bbox.width


def test_the_style_of_the_current_folder_is_ignored() -> None:
    import matplotlib

    whole = plot_files(one_repetition())
    with matplotlib.rc_context({"text.usetex": True, "font.size": 30}):
        assert plot_files(one_repetition()) == whole


def test_a_very_large_picture_is_coarser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "MAX_PIXELS", 300)
    for picture in plot_files(one_repetition()).values():
        width, height = struct.unpack(">II", picture[16:24])
        assert 290 <= max(width, height) <= 300


def test_unknown_results_are_empty() -> None:
    text = ExperimentResults.of(Points(plan_of(), all_pairs(GAME, TABLE)), [], complete=False).markdown()
    assert f"| `{OTHER}` |  |  |" in text
    nothing = ExperimentResults.of(Points(plan_of(stages=2), []), [], complete=False).markdown()
    assert ".png" not in nothing, "there are no pictures of nothing"


@pytest.mark.parametrize("renderer", RENDERERS)
@pytest.mark.parametrize("name", NAMES)
def test_names_render_as_plain_text(name: str, renderer: str) -> None:
    text = TINY.replace("[variants.ubfm]", f"[variants.'{name}']").replace("stages = 2", "stages = 1")
    pool = f"\n[fixed]\nopponents = [{{spec = 'random', name = '{name}'}}]\nmatches = 2\n"
    plan = Plan(dataclasses.replace(ExperimentFile(text + pool, "tiny.toml").experiment, name=name))
    other = (name, 1)
    rows = [row(game, D1, other, 0.5, 1, 1) for game in (GAME, OTHER)]
    rows.append(GameResult(Pairing(GAME, Entrant(name, 1, 1), name), 0, 0, 0.5))
    reached = [Reached(GAME, name, "descent", name, 0.5, math.nan, math.nan, 0.5)]
    efforts = [TrainingEffort(GAME, name, 1, 1, 1, 1)]
    results = ExperimentResults.of(Points(plan, rows), efforts, complete=True)
    page = rendered(results.markdown(), renderer)
    assert page.elements <= ELEMENTS
    assert set(page.pictures) <= {"final.png", "fixed.png"}
    name = shown(name)
    assert page.texts[0] == name
    assert page.texts.count(name) >= 5
    assert f"{name} (random)" in page.texts
    (table,) = reaching_tables(plan.experiment, reached)
    assert f"{GAME}, by points against {name}" in rendered(table, renderer).texts


def test_one_played_repetition_has_no_interval() -> None:
    # Of two repetitions one was played: half of the resamples lack it, and all others say the same.
    plan = plan_of("opening_plies = 1", 'opening_plies = 1\nopponents = "repetition"')
    share = found(final_shares(Points(plan, [row(GAME, D1, U1, 1.0)])), GAME, "descent")
    assert (share.estimate, share.interval) == (1.0, None)


@pytest.mark.parametrize("repetitions", [1, 2])
def test_the_report_mentions_missing_intervals(repetitions: int) -> None:
    plan = plan_of("repetitions = 2", f"repetitions = {repetitions}")
    text = ExperimentResults.of(Points(plan, [row(GAME, D1, U1, 1.0)]), [], complete=False).markdown()
    assert ("With one repetition there are no intervals" in text) == (repetitions == 1)
