"""Evaluations as text and on the board: a proof is shown as a word, an estimate as an expected score."""

from __future__ import annotations

import math

import pytest

import athenan_spiel as ath
from athenan_spiel.drawing.evaluations import (
    ActionEvaluation,
    NodeEvaluation,
    line_text,
    named_text,
    score_title,
    site_labels,
    variation_stones,
)
from athenan_spiel.drawing.views import view_of
from athenan_spiel.games.calibration import Calibration

GAME = ath.load_game("tic_tac_toe")
START = GAME.new_initial_state()


@pytest.mark.parametrize(
    ("evaluation", "texts"),
    [
        (NodeEvaluation(0.314, None), ("65.7 %", "34.3 %")),
        (NodeEvaluation(0.3, 1), ("win", "loss")),
        (NodeEvaluation(0.3, 1, moves=7), ("win in 7", "loss in 7")),
        (NodeEvaluation(0.3, 0, moves=7), ("draw", "draw")),
        (NodeEvaluation(0.3, 0.25), ("proven 62.5 %", "proven 37.5 %")),
        (NodeEvaluation(1234.4, None, players=1), ("1,234", "1,234")),
        (NodeEvaluation(7.0, 0, players=1), ("7", "7")),
        (NodeEvaluation(math.inf, None), ("99.9 %", "0.1 %")),
        (NodeEvaluation(0.25, None, owner=1, players=3), ("62.5 %", "62.5 %")),
    ],
)
def test_the_text_is_written_for_a_player(evaluation: NodeEvaluation, texts: tuple[str, str]) -> None:
    assert (evaluation.text(0), evaluation.text(1)) == texts


def test_a_raw_value_is_in_units_of_the_outcome() -> None:
    assert NodeEvaluation(42.4, None).text(1, raw=True) == "-42.4"
    assert NodeEvaluation(42.4, 1).text(1, raw=True) == "loss"


def test_a_label_is_short() -> None:
    found = [
        NodeEvaluation(0.314, None),
        NodeEvaluation(0.3, 1, moves=7),
        NodeEvaluation(0, 0),
        NodeEvaluation(0, 0.25),
    ]
    assert [evaluation.label() for evaluation in found] == ["66", "win", "draw", "62"]
    assert NodeEvaluation(12.5, None, players=1).label() == "12.5"


@pytest.mark.parametrize("value", [-math.inf, -5.0, -0.1, 0.0, 0.3, 1e9])
@pytest.mark.parametrize("calibration", [Calibration(), Calibration(slope=3.0), Calibration(slope=0.1, intercept=1.0)])
def test_an_estimate_lies_between_the_proofs_and_is_symmetric(value: float, calibration: Calibration) -> None:
    estimate = NodeEvaluation(value, None, calibration=calibration)
    score = estimate.expected_score()
    assert NodeEvaluation(value, -1).expected_score() == 0.0 < score < 1.0 == NodeEvaluation(value, 1).expected_score()
    assert estimate.expected_score(1) == pytest.approx(1 - score)
    assert NodeEvaluation(value, 0).expected_score() == 0.5


def test_texts_name_the_side() -> None:
    hex_game = ath.load_game("hex(board_size=3)")
    assert named_text(hex_game, NodeEvaluation(0.5, None), 1) == "25.0 % for Blue"
    assert named_text(hex_game, NodeEvaluation(0.5, 0), 1) == "draw"
    assert named_text(ath.load_game("2048"), NodeEvaluation(0.5, None, players=1), 0) == "value 0.5"
    assert score_title(hex_game, 1) == "expected score of Blue"
    assert score_title(hex_game, 1, raw=True) == "value of Blue"
    assert score_title(ath.load_game("2048"), 0) == "value"


def test_the_best_action_of_a_site_is_its_label() -> None:
    actions = [
        ActionEvaluation(a, str(a), NodeEvaluation(value, proof), 0.7)
        for a, value, proof in ((0, 0.5, None), (1, 0.2, 1), (2, 0, 0))
    ]
    found = site_labels(actions, {0: (4,), 1: (4,), 2: (5, 6)})
    assert {site: (label.text, label.is_proven) for site, label in found.items()} == {
        4: ("75", False),
        5: ("draw", True),
    }
    assert set(site_labels(actions, {0: (4,), 2: (5, 6)}, pressed=1)) == {6}


def test_the_colour_is_for_the_mover_and_the_number_for_the_reader() -> None:
    actions = [ActionEvaluation(0, "a", NodeEvaluation(-0.8, None), 0.9)]
    (label,) = site_labels(actions, {0: (0,)}, reader=0).values()
    assert (label.text, label.share) == ("10", 0.9)
    (label,) = site_labels(actions, {0: (0,)}, reader=1).values()
    assert (label.text, label.share) == ("90", 0.9)


def test_a_line_ends_before_an_illegal_action() -> None:
    view = view_of(GAME)
    assert view is not None
    line = [4, 0, 4, 8]
    assert [(stone.site, stone.side, stone.number) for stone in variation_stones(line, START, view)] == [
        (4, 0, 1),
        (0, 1, 2),
    ]
    assert line_text(line, START) == "x(1,1) o(0,0)"
    assert line_text([0, 1, 2], START, most=2) == "x(0,0) o(0,1) ..."
    assert str(START) == str(GAME.new_initial_state())
