"""Calibration of values: fitted to known probabilities, reproducible, and checked when read."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import numpy as np
import pytest

import athenan_spiel as ath
from athenan_spiel.games import load_game
from athenan_spiel.games.calibration import GAINS, Calibration
from athenan_spiel.games.playout import playout
from athenan_spiel.games.rows import rows_of
from athenan_spiel.outcomes import Gain, Outcome
from athenan_spiel.outcomes.calibration import CalibrationTally, default_calibration
from athenan_spiel.outcomes.depth import AdditiveDepth
from athenan_spiel.outcomes.infinite import InfiniteTerminal
from athenan_spiel.outcomes.rows import AdditiveDepthRow, GainRow, gain_of

GAME = load_game("connect_four")
DEPTH = AdditiveDepth(longest=42, exact=True, scale=30.0)
THREE = load_game("pig(players=3)")


def tally_of(
    slope: float, intercept: float, games: int, outcome: Outcome = DEPTH, draws: float = 0.0
) -> CalibrationTally:
    """Returns the tally of games with ten positions each, whose values predict the result by a logistic function."""
    rng, tally = np.random.default_rng(1), CalibrationTally()
    for _ in range(games):
        value = rng.uniform(-30, 30)
        won = rng.random() < 1 / (1 + math.exp(-(intercept + slope * value)))
        result = 0.0 if rng.random() < draws else 1.0 if won else -1.0
        tally = tally.add(GAME, outcome, np.full(10, value, np.float32), [result, -result])
    return tally


def test_gains_are_expected_scores_themselves() -> None:
    assert [GAINS.expected_score(v) for v in (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0)] == [
        0.001,
        0.001,
        0.25,
        0.5,
        0.75,
        0.999,
    ]
    assert [GAINS.score_of_gain(v) for v in (-1.0, 0.0, 0.5, 1.0)] == [0.0, 0.5, 0.75, 1.0]
    assert default_calibration(GAME, Gain()) == GAINS == tally_of(0.2, 1.0, 50, Gain()).fit(GAME, Gain())


def test_before_a_game_half_the_scale_is_a_probable_win() -> None:
    usual = CalibrationTally().fit(GAME, DEPTH)
    assert usual == default_calibration(GAME, DEPTH)
    assert usual.expected_score(15.0) == pytest.approx(0.8176, abs=1e-4)
    assert usual.expected_score(0.0) == 0.5
    assert usual.expected_score(math.inf) == 0.999
    assert usual.expected_score(-math.inf) == 0.001


@pytest.mark.parametrize(("slope", "intercept"), [(0.05, 0.0), (0.2, 0.0), (0.1, 0.7), (0.02, -1.0)])
def test_the_fit_finds_the_probabilities_of_the_games(slope: float, intercept: float) -> None:
    fitted = tally_of(slope, intercept, 1500).fit(GAME, DEPTH)
    for value in (-20.0, -10.0, 0.0, 10.0, 20.0):
        expected = 1 / (1 + math.exp(-(intercept + slope * value)))
        assert fitted.expected_score(value) == pytest.approx(expected, abs=0.06)


def test_a_larger_value_never_has_a_smaller_score() -> None:
    assert tally_of(-0.2, 0.0, 300).fit(GAME, DEPTH).slope > 0


def test_values_that_say_nothing_keep_the_mean_score() -> None:
    """Values near 8 of a scale of 30 that predict the wrong side, half of whose games are won."""
    rng, tally = np.random.default_rng(2), CalibrationTally()
    for _ in range(400):
        value = rng.uniform(6, 10)
        won = rng.random() < (0.8 if value < 8 else 0.2)
        tally = tally.add(GAME, DEPTH, np.full(10, value, np.float32), [1.0, -1.0] if won else [-1.0, 1.0])
    assert tally.fit(GAME, DEPTH).expected_score(8.0) == pytest.approx(0.5, abs=0.08)


def test_before_a_game_a_value_of_0_is_a_draw_of_all_players() -> None:
    depth = AdditiveDepthRow(longest=100, exact=True, scale=50.0, bound=1.0)
    assert default_calibration(THREE, depth).expected_score(0.0) == pytest.approx(1 / 3)
    infinite = InfiniteTerminal(drawn=DEPTH)
    assert default_calibration(GAME, infinite) == default_calibration(GAME, DEPTH)


@pytest.mark.parametrize(
    "spec",
    [
        "pig(players=3,winscore=20)",
        "maedn(players=3)",
        "maedn(players=4)",
        "yacht(players=3)",
    ],
)
def test_a_winner_of_several_players_has_the_score_1_and_the_others_0(spec: str) -> None:
    game = load_game(spec)
    rows, calibration, rng = rows_of(game), default_calibration(game, gain_of(game)), random.Random(1)
    assert rows is not None
    decided = 0
    for _ in range(12 if "maedn" not in spec else 3):
        state = playout(game.new_initial_state(), rng.choice)
        gains = rows.gains(state)
        if len(set(gains)) > 1 and sum(gain == max(gains) for gain in gains) == 1:
            decided += 1
            assert max(gains) == 1
            assert sorted(calibration.score_of_gain(gain) for gain in gains) == [0] * (len(gains) - 1) + [1]
    assert decided


def test_older_games_count_less() -> None:
    tally = tally_of(0.5, 0.0, 300)
    for _ in range(1500):
        tally = tally.add(GAME, DEPTH, np.array([10.0, -10.0], np.float32), [1.0, -1.0])
    assert tally.by_value[:, 0].sum() < 1200


def test_reliability_compares_predictions_with_results() -> None:
    tally = tally_of(0.2, 0.0, 1500)
    bins = tally.reliability()
    assert len(bins) >= 6
    for predicted, found, weight in bins:
        if weight > 300:
            assert predicted == pytest.approx(found, abs=0.12)
    wrong = tally_of(0.05, 0.0, 60, Gain(scale=30.0))  # gains of 30 are predicted as certain wins
    assert any(abs(predicted - found) > 0.12 for predicted, found, _ in wrong.reliability())


def test_draws_are_most_probable_between_the_ends() -> None:
    drawish = tally_of(0.2, 0.0, 1500, draws=0.5).fit(GAME, DEPTH)
    decisive = tally_of(0.2, 0.0, 300).fit(GAME, DEPTH)
    assert decisive.draws == 0.0
    assert 0.4 < drawish.draw_share(0.5) <= 1.0
    for score in np.linspace(0, 1, 21):
        draw = drawish.draw_share(float(score))
        assert 0 <= draw <= 2 * min(score, 1 - score) + 1e-12


def test_rows_are_measured_between_the_worst_and_the_best_return() -> None:
    gain = GainRow(bound=1.0)
    linear = default_calibration(THREE, gain)
    assert (linear.lowest, linear.highest) == (-0.5, 1.0)
    assert linear.score_of_gain(0.0) == pytest.approx(1 / 3)  # a draw of three
    depth = AdditiveDepthRow(longest=100, exact=True, scale=50.0, bound=1.0)
    tally = CalibrationTally()
    for _ in range(200):
        tally = tally.add(THREE, depth, np.array([[30.0, -15.0, -15.0]] * 5, np.float32), [1.0, -0.5, -0.5])
    fitted = tally.fit(THREE, depth)
    assert fitted.expected_score(30.0) > 0.9
    assert fitted.expected_score(-15.0) < 0.1
    assert tally.by_value[:, 0].sum() == pytest.approx(3 * tally.by_score[:, 0].sum() / 3)


def test_games_for_one_player_have_no_expected_score() -> None:
    tally = CalibrationTally().add(load_game("morpion_solitaire"), DEPTH, np.ones(3, np.float32), [7.0])
    assert not tally.by_value.any()


def test_a_tally_is_read_as_it_was_written() -> None:
    tally = tally_of(0.2, 0.3, 20)
    back = CalibrationTally.from_json(json.loads(json.dumps(tally.to_json())))
    assert np.array_equal(back.by_value, tally.by_value)
    assert np.array_equal(back.by_score, tally.by_score)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        [],
        {"by_value": [[0] * 4] * 20},
        {"by_value": [[0] * 4] * 19, "by_score": [[0] * 3] * 10},
        {"by_value": [["x"] * 4] * 20, "by_score": [[0] * 3] * 10},
        {"by_value": [[math.nan] * 4] * 20, "by_score": [[0] * 3] * 10},
        {"by_value": [[-1] * 4] * 20, "by_score": [[0] * 3] * 10},
        {"by_value": [[1, 0, 2, 0]] * 20, "by_score": [[0] * 3] * 10},
        {"by_value": {"a": 1}, "by_score": None},
    ],
)
def test_a_wrong_tally_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"^calibration\.by_\w+ must have \d+ rows of \d sums, got"):
        CalibrationTally.from_json(wrong)


@pytest.mark.parametrize("outcome", ["additive_depth", "gain"])
def test_a_search_has_the_calibration_of_its_outcome(outcome: str) -> None:
    search = ath.UBFM(GAME, outcome=DEPTH if outcome == "additive_depth" else None)
    assert search.calibration == (Calibration(slope=0.1) if outcome == "additive_depth" else GAINS)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 3e38, -3e38])
def test_values_without_measure_leave_a_tally_that_can_be_read(value: float) -> None:
    tally = CalibrationTally()
    for _ in range(20):
        tally = tally.add(GAME, DEPTH, np.full(30, value, np.float32), [1.0, -1.0])
    assert CalibrationTally.from_json(json.loads(json.dumps(tally.to_json()))) == tally
    assert 0 < tally.fit(GAME, DEPTH).expected_score(10.0) < 1
