"""`checked` converts every valid answer of an evaluator to an `Evaluation`, and rejects all others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel
import pytest
from numpy.typing import NDArray
from oracles.brute_force import load

from athenan_spiel.engines.base import Deferred, Pending
from athenan_spiel.errors import EvaluatorError, NotFiniteError
from athenan_spiel.evaluators import ZeroEvaluator
from athenan_spiel.evaluators.base import Answer, Evaluation, SubmittingEvaluator, checked, submitting
from athenan_spiel.search import UBFM, Budget, think

START = load("tic_tac_toe").new_initial_state()
STATES = [START, START.child(4)]
"""With 9 and 8 legal actions."""
UNIFORM = [[1 / 9] * 9, [1 / 8] * 8]


def test_an_array_is_values_without_priors() -> None:
    assert checked(np.array([0.5, -0.25], np.float32), STATES) == Evaluation([0.5, -0.25], None)


def test_whatever_numpy_makes_an_array_of_serves() -> None:
    answer: Any = [1, -1]
    assert checked(answer, STATES) == ([1.0, -1.0], None)


def test_an_evaluation_keeps_its_priors_as_lists() -> None:
    priors: Any = [np.full(9, 1 / 9, np.float32), np.full(8, 1 / 8)]
    values: Any = np.array([0.5, -0.25])
    found = checked(Evaluation(values, priors), STATES)
    assert found.values == [0.5, -0.25]
    assert found.priors is not None
    assert [type(prior) for prior in found.priors] == [list, list]
    np.testing.assert_allclose(found.priors[0], UNIFORM[0], rtol=1e-6)
    assert found.priors[1] == UNIFORM[1]


@pytest.mark.parametrize(
    ("priors", "message"),
    [
        (UNIFORM[:1], "priors for each of 2 states, or none, got [["),
        (7, "priors for each of 2 states, or none, got 7"),
        (UNIFORM[::-1], "one prior for each of 9 legal actions, got shape (8,)"),
        ([[[1 / 9] * 9], UNIFORM[1]], "one prior for each of 9 legal actions, got shape (1, 9)"),
        ([["a"] * 9, UNIFORM[1]], "priors that are arrays of numbers, got ['a'"),
        ([UNIFORM[0], [[0.5], [0.25, 0.25]]], "priors that are arrays of numbers, got [[0.5]"),
        ([UNIFORM[0], [0.2] * 8], "non-negative and sum to 1, got array([0.2"),
        ([UNIFORM[0], [-0.5, 1.5] + [0.0] * 6], "non-negative and sum to 1, got array([-0.5"),
        ([UNIFORM[0], [float("nan")] + [0.125] * 7], "non-negative and sum to 1, got array([  nan"),
    ],
)
def test_priors_that_are_no_probabilities_are_refused(priors: Any, message: str) -> None:
    with pytest.raises(EvaluatorError, match=re.escape(message)) as raised:
        checked(Evaluation([0.0, 0.0], priors), STATES)
    assert isinstance(raised.value, NotFiniteError) == ("nan" in message)


def test_priors_of_a_coarse_arithmetic_need_not_add_up_exactly() -> None:
    checked(Evaluation([0.0, 0.0], [UNIFORM[0], [0.12505] * 8]), STATES)


def test_values_in_an_evaluation_are_checked_as_those_alone() -> None:
    with pytest.raises(EvaluatorError, match=r"one value for each of 2 states, got shape \(1,\)"):
        checked(Evaluation([0.0]), STATES)


def test_a_part_is_of_values_and_of_priors() -> None:
    both = Evaluation([0.5, -0.25, 0.0], [[1.0], [0.5, 0.5], [0.25, 0.75]])
    assert both.part(1, 3) == Evaluation([-0.25, 0.0], [[0.5, 0.5], [0.25, 0.75]])
    assert both._replace(priors=None).part(0, 1) == Evaluation([0.5])


class Uniform:
    """Returns values and priors, at once or asynchronously."""

    def __call__(self, states: Sequence[pyspiel.State]) -> Evaluation:
        return Evaluation([0.0] * len(states), [[1 / n] * n for n in (len(s.legal_actions()) for s in states)])

    def submit(self, states: Sequence[pyspiel.State]) -> Pending[Answer]:
        return Deferred(lambda: self(states))


def test_a_search_takes_an_evaluator_with_priors() -> None:
    plain = think(UBFM(START.get_game()), START, Budget(iterations=20), ZeroEvaluator())
    result = think(UBFM(START.get_game()), START, Budget(iterations=20), Uniform())
    assert (result.visits.tolist(), result.value) == (plain.visits.tolist(), plain.value)


def test_what_can_submit_is_asked_to() -> None:
    evaluator = Uniform()
    assert isinstance(evaluator, SubmittingEvaluator)
    assert submitting(evaluator) == evaluator.submit


def test_what_cannot_submit_is_called_when_it_is_waited_for() -> None:
    asked = []

    def zero(states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        asked.append(states)
        return np.zeros(len(states))

    pending = submitting(zero)(STATES)
    assert asked == []
    assert checked(pending.result(), STATES) == ([0.0, 0.0], None)
    assert asked == [STATES]
