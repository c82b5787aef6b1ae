"""Evaluations as text, as fractions and on the board: a proof is shown as a word, an estimate as a number."""

from __future__ import annotations

import math

import pytest

import athenan_spiel as ath
from athenan_spiel.drawing.evaluations import (
    ActionEvaluation,
    NodeEvaluation,
    line_text,
    ordered,
    site_labels,
    variation_stones,
)
from athenan_spiel.drawing.views import view_of

GAME = ath.load_game("tic_tac_toe")
START = GAME.new_initial_state()


@pytest.mark.parametrize(
    ("evaluation", "texts"),
    [
        (NodeEvaluation(0.314, None), ("+0.31", "-0.31")),
        (NodeEvaluation(42.4, None), ("+42", "-42")),
        (NodeEvaluation(9.999, None), ("+10", "-10")),
        (NodeEvaluation(0.3, 1), ("win", "loss")),
        (NodeEvaluation(0.3, 0), ("draw", "draw")),
        (NodeEvaluation(7.0, 0, players=1), ("+7.00", "-7.00")),
        (NodeEvaluation(math.inf, None), ("+inf", "-inf")),
    ],
)
def test_the_text_is_written_for_a_player(evaluation: NodeEvaluation, texts: tuple[str, str]) -> None:
    assert (evaluation.text(0), evaluation.text(1)) == texts


@pytest.mark.parametrize("value", [-math.inf, -5.0, -0.1, 0.0, 0.3, 1e9])
def test_an_estimate_lies_between_the_proofs_and_is_symmetric(value: float) -> None:
    estimate = NodeEvaluation(value, None)
    share = estimate.share(1.0)
    assert NodeEvaluation(value, -1).share(1.0) == 0.0 < share < 1.0 == NodeEvaluation(value, 1).share(1.0)
    assert estimate.share(1.0, 1) == pytest.approx(1 - share)
    assert NodeEvaluation(value, 0).share(1.0) == 0.5


def test_a_larger_scale_reduces_a_value() -> None:
    assert 0.5 < NodeEvaluation(1.0, None).share(64.0) < NodeEvaluation(1.0, None).share(1.0)


def test_actions_are_ordered_for_the_mover() -> None:
    evaluation = [
        (0, NodeEvaluation(0.9, None)),
        (1, NodeEvaluation(0.0, 1)),
        (2, NodeEvaluation(0.99, -1)),
        (3, NodeEvaluation(0.9, None, 5)),
    ]
    assert [action.action for action in ordered(START, evaluation)] == [1, 3, 0, 2]
    after = START.child(8)
    actions = ordered(after, evaluation)
    assert [action.action for action in actions] == [2, 3, 0, 1]
    assert actions[0].name == after.action_to_string(1, 2)


def test_the_best_action_of_a_site_is_its_label() -> None:
    actions = [
        ActionEvaluation(a, str(a), NodeEvaluation(value, proof))
        for a, value, proof in ((0, 0.5, None), (1, 0.2, 1), (2, 0, 0))
    ]
    found = site_labels(actions, {0: (4,), 1: (4,), 2: (5, 6)}, 1.0, mover=0)
    assert {site: (label.text, label.is_proven) for site, label in found.items()} == {
        4: ("+0.50", False),
        5: ("draw", True),
    }
    assert set(site_labels(actions, {0: (4,), 2: (5, 6)}, 1.0, mover=0, pressed=1)) == {6}


def test_the_colour_is_for_the_mover_and_the_number_for_the_reader() -> None:
    actions = [ActionEvaluation(0, "a", NodeEvaluation(-0.8, None))]
    (label,) = site_labels(actions, {0: (0,)}, 1.0, mover=1, reader=0).values()
    assert label.text == "-0.80"
    assert label.share > 0.5
    (label,) = site_labels(actions, {0: (0,)}, 1.0, mover=1).values()
    assert label.text == "+0.80"


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
