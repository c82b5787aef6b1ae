"""What is thought of actions, in words, as shares and on the board: a proof is never a number, nor a number a proof."""

from __future__ import annotations

import math

import pytest

import athenan_spiel as ath
from athenan_spiel.drawing.mind import ActionMind, Judgement, ghosts, line_text, ordered, worths
from athenan_spiel.drawing.views import view_of

GAME = ath.load_game("tic_tac_toe")
START = GAME.new_initial_state()


@pytest.mark.parametrize(
    ("judgement", "texts"),
    [
        (Judgement(0.314, None), ("+0.31", "-0.31")),
        (Judgement(42.4, None), ("+42", "-42")),
        (Judgement(9.999, None), ("+10", "-10")),
        (Judgement(0.3, 1), ("win", "loss")),
        (Judgement(0.3, 0), ("draw", "draw")),
        (Judgement(7.0, 0, players=1), ("+7.00", "-7.00")),
        (Judgement(math.inf, None), ("+inf", "-inf")),
    ],
)
def test_in_words_for_each_player(judgement: Judgement, texts: tuple[str, str]) -> None:
    assert (judgement.text(0), judgement.text(1)) == texts


@pytest.mark.parametrize("value", [-math.inf, -5.0, -0.1, 0.0, 0.3, 1e9])
def test_an_estimate_is_between_the_proofs_and_the_opposite_for_the_opponent(value: float) -> None:
    estimate = Judgement(value, None)
    share = estimate.share(1.0)
    assert Judgement(value, -1).share(1.0) == 0.0 < share < 1.0 == Judgement(value, 1).share(1.0)
    assert estimate.share(1.0, 1) == pytest.approx(1 - share)
    assert Judgement(value, 0).share(1.0) == 0.5


def test_a_larger_scale_makes_less_of_a_value() -> None:
    assert 0.5 < Judgement(1.0, None).share(64.0) < Judgement(1.0, None).share(1.0)


def test_actions_are_ordered_for_the_mover() -> None:
    judged = [(0, Judgement(0.9, None)), (1, Judgement(0.0, 1)), (2, Judgement(0.99, -1)), (3, Judgement(0.9, None, 5))]
    assert [mind.action for mind in ordered(START, judged)] == [1, 3, 0, 2]
    after = START.child(8)
    minds = ordered(after, judged)
    assert [mind.action for mind in minds] == [2, 3, 0, 1]
    assert minds[0].name == after.action_to_string(1, 2)


def test_of_actions_with_the_same_site_the_best_is_written_there() -> None:
    minds = [
        ActionMind(a, str(a), Judgement(value, proof)) for a, value, proof in ((0, 0.5, None), (1, 0.2, 1), (2, 0, 0))
    ]
    found = worths(minds, {0: (4,), 1: (4,), 2: (5, 6)}, 1.0, mover=0)
    assert {site: (worth.text, worth.is_proven) for site, worth in found.items()} == {
        4: ("+0.50", False),
        5: ("draw", True),
    }
    assert set(worths(minds, {0: (4,), 2: (5, 6)}, 1.0, mover=0, pressed=1)) == {6}


def test_the_mover_says_the_colour_and_the_reader_the_number() -> None:
    minds = [ActionMind(0, "a", Judgement(-0.8, None))]
    (worth,) = worths(minds, {0: (0,)}, 1.0, mover=1, reader=0).values()
    assert worth.text == "-0.80"
    assert worth.share > 0.5
    (worth,) = worths(minds, {0: (0,)}, 1.0, mover=1).values()
    assert worth.text == "+0.80"


def test_a_line_is_followed_as_far_as_it_is_legal() -> None:
    view = view_of(GAME)
    assert view is not None
    line = [4, 0, 4, 8]
    assert [(ghost.site, ghost.side, ghost.number) for ghost in ghosts(line, START, view)] == [(4, 0, 1), (0, 1, 2)]
    assert line_text(line, START) == "x(1,1) o(0,0)"
    assert line_text([0, 1, 2], START, most=2) == "x(0,0) o(0,1) ..."
    assert str(START) == str(GAME.new_initial_state())
