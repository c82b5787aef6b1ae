"""Protocol of an `Evaluator`, and the `Evaluation` that a search receives.

The driver of a search calls the evaluator, converts its answer into an `Evaluation` by `checked`, and sends that to the
search. No other code reads an evaluator's answer.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.engines.base import Deferred, Pending
from athenan_spiel.errors import EvaluatorError, NotFiniteError, shown
from athenan_spiel.games.chance import is_chance
from athenan_spiel.games.rows import Rows, rows_of

SUM_TOLERANCE = 1e-3
"""Maximum deviation of a state's prior sum from 1. Priors of a bfloat16 network do not add up exactly."""


class Evaluation(NamedTuple):
    """Evaluation of n states: their `values`, and optional `priors`.

    Both are plain lists, since a search reads single numbers.
    """

    values: list[Any]
    """Value of each state for player 0, n finite numbers in the outcome's unit; in a game with rows (`games.rows`) a
    row of finite numbers, one for each player."""
    priors: list[list[float]] | None = None
    """Probability of each legal action of each state, in order. None without priors. Those of a chance state are not
    used, and may be empty."""

    def part(self, start: int, stop: int) -> Evaluation:
        """Returns the evaluation of the states with indices in [start, stop)."""
        return Evaluation(self.values[start:stop], None if self.priors is None else self.priors[start:stop])


def joined(parts: Sequence[Evaluation]) -> Evaluation:
    """Returns the concatenation of one or more evaluations."""
    values = [value for part in parts for value in part.values]
    priors = [prior for part in parts if part.priors is not None for prior in part.priors]
    return Evaluation(values, priors or None)


Answer = Evaluation | NDArray[np.floating]
"""Return type of an evaluator: an `Evaluation`, or an array of n finite values for player 0; in a game with rows
[n, players]."""


class Evaluator(Protocol):
    """Callable that evaluates non-terminal states. A plain function is one, too."""

    def __call__(self, states: Sequence[pyspiel.State], /) -> Answer:
        """Evaluates states.

        Args:
            states: n non-terminal states, which must not be changed.

        Returns:
            Values for player 0, finite float [n], in the outcome's unit; in a game with rows float [n, players]; or an
                `Evaluation`, which adds a probability of each legal action for searches that use priors.
        """


@runtime_checkable
class SubmittingEvaluator(Evaluator, Protocol):
    """Evaluator that can also evaluate asynchronously."""

    def submit(self, states: Sequence[pyspiel.State], /) -> Pending[Answer]:
        """Starts an evaluation. `states` may change as soon as this returns."""


def submitting(evaluator: Evaluator) -> Callable[[Sequence[pyspiel.State]], Pending[Answer]]:
    """Returns the evaluator's `submit`. Without one, the evaluator is called when the result is requested."""
    if isinstance(evaluator, SubmittingEvaluator):
        return evaluator.submit
    return lambda states: Deferred(lambda: evaluator(states))


def checked(answer: Answer, states: Sequence[pyspiel.State]) -> Evaluation:
    """Validates an evaluator's answer for `states` and converts it to an `Evaluation`.

    Raises:
        EvaluatorError: the number of values differs from the number of states, a value is not a number, or the priors
            are not one probability per legal action.
        NotFiniteError: a value or a prior is infinite or NaN.
    """
    values, priors = answer if isinstance(answer, Evaluation) else (answer, None)
    return Evaluation(_values(values, states), None if priors is None else _priors(priors, states))


def require_rows(values: Sequence[Any], rows: Rows) -> None:
    """Raises `EvaluatorError` unless the values of states are rows of a game with rows."""
    if values and (isinstance(values[0], float) or len(values[0]) != rows.players):
        raise EvaluatorError(
            f"the evaluator must return {rows.players} values for each state, one for each player, got {values[0]!r}"
        )


def _values(given: Sequence[Any] | NDArray[np.floating], states: Sequence[pyspiel.State]) -> list[Any]:
    values, expected = _numbers("an array of numbers", given), len(states)
    if values.shape != (expected,) and not (values.ndim == 2 and len(values) == expected and _has_rows(states)):
        raise EvaluatorError(
            f"the evaluator must return one value for each of {expected} states, got shape {values.shape!r}"
        )
    if not np.isfinite(values).all():
        raise NotFiniteError(
            f"the evaluator must return finite values, got {values[~np.isfinite(values)][0]!r} among {expected}"
        )
    answer: list[Any] = values.tolist()
    return answer


def _has_rows(states: Sequence[pyspiel.State]) -> bool:
    state = states[0]
    return state.num_players() > 2 if not hasattr(state, "get_game") else rows_of(state.get_game()) is not None


def _priors(given: Sequence[Sequence[float]], states: Sequence[pyspiel.State]) -> list[list[float]]:
    if not isinstance(given, Sequence | np.ndarray) or len(given) != len(states):
        raise EvaluatorError(
            f"the evaluator must return priors for each of {len(states)} states, or none, got {shown(given)}"
        )
    counts = [len(state.legal_actions()) for state in states]
    if isinstance(given, list) and _are_priors(given, counts):
        return given
    decisions = [i for i, state in enumerate(states) if not is_chance(state)]
    if len(decisions) < len(states):
        found = _priors([given[i] for i in decisions], [states[i] for i in decisions])
        of_decision = dict(zip(decisions, found, strict=True))
        return [of_decision.get(i, []) for i in range(len(states))]
    return [_prior(prior, count) for prior, count in zip(given, counts, strict=True)]


def _are_priors(given: list[Any], counts: list[int]) -> bool:
    """Returns whether all priors are valid lists of floats, by one vectorised check. Other valid types return False."""
    if not counts or not all(isinstance(prior, list) for prior in given) or list(map(len, given)) != counts:
        return False
    if not all(type(probability) is float for prior in given for probability in prior):
        return False
    probabilities = np.fromiter(itertools.chain.from_iterable(given), np.float64, sum(counts))
    sums = np.add.reduceat(probabilities, np.cumsum([0, *counts[:-1]]))
    return bool((probabilities >= 0).all() and (np.abs(sums - 1) <= SUM_TOLERANCE).all())


def _prior(given: Sequence[float], expected: int) -> list[float]:
    prior = _numbers("priors that are arrays of numbers", given)
    if prior.shape != (expected,):
        raise EvaluatorError(
            f"the evaluator must return one prior for each of {expected} legal actions, got shape {prior.shape!r}"
        )
    if not (prior >= 0).all() or not abs(prior.sum() - 1) <= SUM_TOLERANCE:
        kind = EvaluatorError if np.isfinite(prior).all() else NotFiniteError
        raise kind(f"the evaluator's priors of a state must be non-negative and sum to 1, got {shown(prior)}")
    answer: list[float] = prior.tolist()
    return answer


def _numbers(expected: str, given: object) -> NDArray[Any]:
    """Converts `given` to an array of numbers of any shape."""
    try:
        numbers = np.asarray(given)
    except (ValueError, TypeError, RuntimeError) as error:  # for example a list of lists, or a tensor with a gradient
        raise EvaluatorError(f"the evaluator must return {expected}, got {shown(given)}: {error}") from error
    if numbers.dtype.kind not in "fiu":
        raise EvaluatorError(f"the evaluator must return {expected}, got {shown(given)}")
    return numbers
