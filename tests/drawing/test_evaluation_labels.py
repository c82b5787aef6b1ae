"""Evaluations as text and on the board: a proof is shown as a word, an estimate as an expected score."""

from __future__ import annotations

import math

import pytest

import athenan_spiel as ath
from athenan_spiel.drawing.evaluations import (
    MAX_CANDIDATES,
    ActionEvaluation,
    NodeEvaluation,
    candidate_marks,
    line_text,
    named_text,
    score_title,
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
        (NodeEvaluation(0.3, 0, moves=7, is_draw=True), ("draw", "draw")),
        (NodeEvaluation(0.3, 0), ("proven 50.0 %", "proven 50.0 %")),
        (NodeEvaluation(0.3, 0.9997), ("proven 99.9 %", "proven 0.1 %")),
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
    assert NodeEvaluation(42.4, 1, moves=5).text(1, raw=True) == "loss in 5 (-42.4)"
    assert NodeEvaluation(42.4, 0.5).text(raw=True) == "proven 75.0 % (+42.4)"
    assert NodeEvaluation(42.4, None).label(1, raw=True) == "-42.4"
    assert NodeEvaluation(42.4, 1).label(raw=True) == "win"


def test_a_label_is_short() -> None:
    found = [
        NodeEvaluation(0.314, None),
        NodeEvaluation(0.3, 1, moves=7),
        NodeEvaluation(0, 0, is_draw=True),
        NodeEvaluation(0, 0.25),
        NodeEvaluation(0.999, None),
        NodeEvaluation(-0.999, None),
    ]
    assert [evaluation.label() for evaluation in found] == ["66", "win", "draw", "62", "99", "1"]
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
    assert named_text(hex_game, NodeEvaluation(0.5, 0, is_draw=True), 1) == "draw"
    assert named_text(ath.load_game("2048"), NodeEvaluation(0.5, None, players=1), 0) == "value 0.5"
    assert score_title(hex_game, 1) == "score of Blue"
    assert score_title(hex_game, 1, raw=True) == "value of Blue"
    assert score_title(ath.load_game("2048"), 0) == "value"


def candidate(action: int, value: float, proof: float | None = None, score: float = 0.7) -> ActionEvaluation:
    return ActionEvaluation(action, str(action), NodeEvaluation(value, proof, is_draw=proof == 0), score)


def test_the_best_action_of_a_site_is_its_label() -> None:
    actions = [candidate(0, 0.5), candidate(1, 0.2, 1), candidate(2, 0, 0)]
    found = candidate_marks(actions, {0: (4,), 1: (4,), 2: (5,)}).labels
    assert {site: (label.text, label.is_proven, label.rank) for site, label in found.items()} == {
        4: ("75", False, 1),
        5: ("draw", True, 3),
    }


def test_moves_between_sites_are_arrows_and_labels_once_a_piece_is_chosen() -> None:
    actions = [candidate(a, 0.0) for a in range(MAX_CANDIDATES + 2)]
    sites = {a: (a, a + 20) for a in range(1, len(actions))} | {0: (9,)}
    found = candidate_marks(actions, sites)
    assert set(found.labels) == {9}
    assert [(arrow.start, arrow.end, arrow.label.rank) for arrow in found.arrows] == [
        (a, a + 20, a + 1) for a in range(1, MAX_CANDIDATES)
    ]
    pressed = candidate_marks(actions, {6: (6, 26)}, pressed=1)
    assert (dict(pressed.labels)[26].rank, list(pressed.arrows)) == (None, [])
    origins = candidate_marks(actions, sites, is_path=False)
    assert (set(origins.labels), list(origins.arrows)) == ({9, *range(1, len(actions))}, [])


def test_the_colour_is_the_loss_of_the_mover_and_the_number_is_for_the_reader() -> None:
    actions = [candidate(0, -0.8, score=0.9), candidate(1, -0.4, score=0.7), candidate(2, 0.9, score=0.05)]
    for reader, texts in ((0, ["10", "30", "95"]), (1, ["90", "70", "5"])):
        labels = candidate_marks(actions, {a: (a,) for a in range(3)}, reader=reader).labels.values()
        assert [label.text for label in labels] == texts
        assert [label.loss for label in labels] == pytest.approx([0, 0.2, 0.85])
    chosen = [
        candidate(0, 0.0, score=0.5),
        candidate(1, 0.0, score=0.6),
    ]  # an agent may play another move than the best
    assert [label.loss for label in candidate_marks(chosen, {0: (0,), 1: (1,)}).labels.values()] == pytest.approx(
        [0.1, 0]
    )
    assert candidate_marks([], {}).labels == {}


def test_a_line_may_begin_later() -> None:
    view = view_of(GAME)
    assert view is not None
    assert [stone.number for stone in variation_stones([4, 0, 8], START, view, first=2)] == [2, 3]


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
