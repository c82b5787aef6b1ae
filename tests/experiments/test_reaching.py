"""Training time until a variant has another one's final strength, against hand calculations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from experiment_runs import TINY

from athenan_spiel.errors import ConfigError
from athenan_spiel.experiments import ExperimentFile
from athenan_spiel.experiments.plan import Entrant, GameResult, Pairing, Plan
from athenan_spiel.experiments.reaching import (
    Moments,
    Reached,
    crossings,
    reached,
    reached_against_fixed,
    reaching_tables,
)
from athenan_spiel.experiments.report import ExperimentResults
from athenan_spiel.experiments.settings import ProtocolConfig
from athenan_spiel.experiments.statistics import Points

GAME = "tic_tac_toe"
SHARES = (0.25, 0.5, 1.0)


def plan_of() -> Plan:
    text = TINY.replace("stages = 2", 'stages = 3\nspacing = "doubling"').replace("resamples = 200", "resamples = 2000")
    return Plan(ExperimentFile(text, "tiny.toml").experiment)


def rows_of(variant: str, rival: str, curves: list[list[float]], *, fixed: bool = False) -> list[GameResult]:
    """Returns games with the points of each stage, by repetition, against the last rival or a fixed opponent."""
    return [
        GameResult(
            Pairing(GAME, Entrant(variant, repetition, stage), rival if fixed else Entrant(rival, repetition, 3)),
            0,
            0,
            points,
        )
        for repetition, curve in enumerate(curves, 1)
        for stage, points in enumerate(curve, 1)
    ]


def test_stages_double_and_end_at_the_end() -> None:
    assert ProtocolConfig(stages=3, spacing="doubling").shares() == SHARES
    assert ProtocolConfig(stages=4).shares() == (0.25, 0.5, 0.75, 1.0)
    with pytest.raises(ConfigError, match="stages must be at most 20, got 21"):
        ProtocolConfig(stages=21, spacing="doubling")


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        ([0.25, 0.75, 1.0], math.sqrt(0.25 * 0.5)),
        ([0.2, 0.3, 0.5], 1.0),
        ([0.2, 0.4, 0.8], math.exp(0.75 * math.log(0.5))),
        ([0.5, 0.1, 0.1], 0.25),
        ([0.9, 0.9, 0.9], 0.25),
        ([0.0, 0.5, 0.0], 0.5),
        ([0.0, 0.4, 0.49], math.inf),
        ([0.4, 0.6, 0.3], math.exp((math.log(0.25) + math.log(0.5)) / 2)),
    ],
)
def test_the_first_time_with_half_of_the_points(curve: list[float], expected: float) -> None:
    """Between 1/4 and 1/2 half way is sqrt(1/8); 0.4 to 0.8 passes a half after a quarter of the way from 1/2 to 1."""
    assert crossings(np.array([curve]), np.array([0.5]), np.array([SHARES]))[0] == pytest.approx(expected)


def test_the_mean_over_repetitions_counts() -> None:
    rows = rows_of("descent", "ubfm", [[0.0, 0.5, 1.0], [0.5, 1.0, 1.0]]) + rows_of("ubfm", "descent", [[0, 0, 0]] * 2)
    ahead, behind = reached(Points(plan_of(), rows), Moments(plan_of()))
    assert (ahead.game, ahead.variant, ahead.rival) == (GAME, "descent", "ubfm")
    assert ahead.share == pytest.approx(math.sqrt(0.25 * 0.5))
    assert (ahead.low, ahead.high) == pytest.approx((0.25, 0.5)), "of either repetition drawn twice"
    assert (behind.variant, behind.share) == ("ubfm", math.inf)
    assert math.isnan(behind.low), "without a spread there is no interval"


def test_incomplete_curves_are_left_out() -> None:
    rows = rows_of("descent", "ubfm", [[0.0, 0.5, 1.0], [0.5, 1.0, 1.0]])
    assert [one.variant for one in reached(Points(plan_of(), rows[:-1]), Moments(plan_of()))] == []


def test_the_table_shows_bounds_and_never() -> None:
    nan = math.nan
    ahead, behind = ("descent", "ubfm", ""), ("ubfm", "descent", "")
    found = [Reached(GAME, *ahead, 0.25, 0.25, 0.354, 0.25), Reached(GAME, *behind, math.inf, nan, nan, 0.25)]
    (table,) = reaching_tables(plan_of().experiment, found)
    assert "| `descent` |  | ≤ 25 % (≤ 25 % to 35.4 %) |" in table
    assert "| `ubfm` | never |  |" in table


def test_the_report_contains_the_results() -> None:
    rows = rows_of("descent", "ubfm", [[0.0, 0.5, 1.0]] * 2) + rows_of("ubfm", "descent", [[0, 0, 0]] * 2)
    results = ExperimentResults.of(Points(plan_of(), rows), [], complete=False)
    assert "## Training time to equal strength" in results.markdown()
    first, second = results.to_json()["reached"]
    none = {"low": None, "high": None}
    assert first == {"game": GAME, "variant": "descent", "rival": "ubfm", "opponent": "", "share": 0.5} | none
    assert second["share"] is None
    assert results.files()["reached.csv"].splitlines()[0] == "game,variant,rival,opponent,share,low,high"


def test_curves_of_doubling_stages_are_drawn_by_their_logarithm() -> None:
    from athenan_spiel.experiments.plots import curves_figure

    rows = rows_of("descent", "ubfm", [[0.0, 0.5, 1.0]] * 2) + rows_of("ubfm", "descent", [[0, 0, 0]] * 2)
    axis = curves_figure(ExperimentResults.of(Points(plan_of(), rows), [], complete=False)).axes[1]
    assert axis.get_xscale() == "log"
    assert [text.get_text() for text in axis.get_xticklabels()] == ["1", "2", "4"]


def test_the_goal_against_a_fixed_opponent_is_the_rivals_final_points() -> None:
    text = TINY.replace("stages = 2", 'stages = 3\nspacing = "doubling"').replace("resamples = 200", "resamples = 500")
    plan = Plan(ExperimentFile(text + '[fixed]\nopponents = ["mcts:2"]\nmatches = 2\n', "tiny.toml").experiment)
    rows = rows_of("descent", "mcts:2", [[0.5, 0.5, 1.0], [0.0, 1.0, 1.0]], fixed=True)
    rows += rows_of("ubfm", "mcts:2", [[0.0, 0.0, 0.5], [0.0, 0.0, 0.5]], fixed=True)
    ahead, behind = reached_against_fixed(Points(plan, rows), Moments(plan))
    assert (ahead.game, ahead.variant, ahead.rival, ahead.opponent) == (GAME, "descent", "ubfm", "mcts:2")
    assert ahead.share == pytest.approx(math.sqrt(0.25 * 0.5)), "from 0.25 to 0.75, the goal being a half"
    assert (behind.variant, behind.share) == ("ubfm", math.inf)
    assert reached_against_fixed(Points(plan, rows[1:]), Moments(plan)) == [], "one has not met it at each stage"
    (table,) = reaching_tables(plan.experiment, [ahead, behind])
    assert table.startswith("| `tic_tac_toe`, by points against `mcts:2` |")


def test_the_real_times_of_saved_networks_count() -> None:
    """The first round of the first repetition ended after 0.4 of its training, that of the second after 0.8: the first
    and the second stage have the same network there."""
    found = {(GAME, "descent", 1): [0.4, 0.6, 1.01], (GAME, "descent", 2): [0.8, 0.8, 1.0]}
    moments = Moments(plan_of(), found)
    assert moments.mean(GAME, "descent") == pytest.approx([0.6, 0.7, 1.0])
    assert moments.mean(GAME, "ubfm") == list(SHARES), "of these nothing is known"
    assert moments.of(GAME, "descent").max() == 1.0
    points = Points(
        plan_of(), rows_of("descent", "ubfm", [[0.0, 0.5, 1.0]] * 2) + rows_of("ubfm", "descent", [[0, 0, 0]] * 2)
    )
    ahead, _ = reached(points, moments)
    assert (ahead.share, ahead.first) == pytest.approx((0.7, 0.6))
    assert (ahead.low, ahead.high) == pytest.approx((0.6, 0.8)), "of either repetition drawn twice"
    results = ExperimentResults.of(points, [], complete=False, moments=moments)
    assert results.files()["stages.csv"].splitlines()[:2] == [
        "game,variant,stage,planned,share",
        f"{GAME},descent,1,0.25,0.6",
    ]


def test_curves_are_drawn_at_the_times_of_saved_networks() -> None:
    from athenan_spiel.experiments.plots import curves_figure

    moments = Moments(plan_of(), {(GAME, "descent", r): [0.5, 0.75, 1.0] for r in (1, 2)})
    rows = rows_of("descent", "ubfm", [[0.0, 0.5, 1.0]] * 2) + rows_of("ubfm", "descent", [[0, 0, 0]] * 2)
    rows += rows_of("descent", "descent", [[0.5, 0.5]] * 2) + rows_of("ubfm", "ubfm", [[0.5, 0.5]] * 2)
    axis = curves_figure(ExperimentResults.of(Points(plan_of(), rows), [], complete=False, moments=moments)).axes[1]
    drawn = {line.get_label(): list(line.get_xdata()) for line in axis.get_lines()}
    assert (drawn["descent"], drawn["ubfm"]) == ([2.0, 3.0, 4.0], [1.0, 2.0, 4.0])
