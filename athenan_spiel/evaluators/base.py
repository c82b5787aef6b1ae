"""What a search is given to ask, and what it is answered: an `Evaluator` and an `Evaluation`.

Whoever drives a search asks the evaluator, lets `checked` make an `Evaluation` of what it answers, and sends that to
the search. Nothing else looks at what an evaluator has said.
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

SUM_TOLERANCE = 1e-3
"""By which the probabilities of a state may miss 1; those of a network in bfloat16 do not add up exactly."""


class Evaluation(NamedTuple):
    """What is said of n states, in plain lists, as a search goes through them number by number: `values`, and `priors`
    for searches that look at those.
    """

    values: list[float]
    """n finite numbers: what each state is worth to player 0, in the units of the outcome."""
    priors: list[list[float]] | None = None
    """For each state the probability of each of its legal actions, in their order; None: nothing is said of actions."""

    def part(self, start: int, stop: int) -> Evaluation:
        """What is said of the states from index `start` up to, and without, `stop`."""
        return Evaluation(self.values[start:stop], None if self.priors is None else self.priors[start:stop])


def joined(parts: Sequence[Evaluation]) -> Evaluation:
    """What is said of the states of all `parts`, of which there is one at least."""
    values = [value for part in parts for value in part.values]
    priors = [prior for part in parts if part.priors is not None for prior in part.priors]
    return Evaluation(values, priors or None)


Answer = Evaluation | NDArray[np.floating]
"""What an evaluator may answer of n states: an `Evaluation`, or an array of n finite values for player 0."""


class Evaluator(Protocol):
    """Values states that are not terminal: any callable, a plain function too."""

    def __call__(self, states: Sequence[pyspiel.State], /) -> Answer:
        """What is to be said of `states`.

        Args:
            states: n of them, none terminal; they must be left as they are.

        Returns:
            float [n], finite: what each is worth to player 0, in the units of the outcome; or an `Evaluation`, with the
            probability of each legal action, for searches that look at those.
        """


@runtime_checkable
class SubmittingEvaluator(Evaluator, Protocol):
    """One that can also begin to answer and let its caller go on meanwhile."""

    def submit(self, states: Sequence[pyspiel.State], /) -> Pending[Answer]:
        """As when called, to be waited for later; `states` may change as soon as this returns."""


def submitting(evaluator: Evaluator) -> Callable[[Sequence[pyspiel.State]], Pending[Answer]]:
    """`submit` of this evaluator; one that has none is called when its answer is waited for."""
    if isinstance(evaluator, SubmittingEvaluator):
        return evaluator.submit
    return lambda states: Deferred(lambda: evaluator(states))


def checked(answer: Answer, states: Sequence[pyspiel.State]) -> Evaluation:
    """What an evaluator answered of `states`, as a search is sent it.

    Raises:
        EvaluatorError: there is not one value for each state, or one is not a number; or there are priors, and not of
            each state one probability for each of its legal actions.
        NotFiniteError: a value or a probability is infinite or NaN.
    """
    values, priors = answer if isinstance(answer, Evaluation) else (answer, None)
    return Evaluation(_values(values, len(states)), None if priors is None else _priors(priors, states))


def _values(given: Sequence[float] | NDArray[np.floating], expected: int) -> list[float]:
    values = _numbers("an array of numbers", given)
    if values.shape != (expected,):
        raise EvaluatorError(
            f"the evaluator must answer one value for each of {expected} states, got shape {values.shape!r}"
        )
    if not np.isfinite(values).all():
        raise NotFiniteError(
            f"the evaluator must answer finite values, got {values[~np.isfinite(values)][0]!r} among {expected}"
        )
    answer: list[float] = values.tolist()
    return answer


def _priors(given: Sequence[Sequence[float]], states: Sequence[pyspiel.State]) -> list[list[float]]:
    if not isinstance(given, Sequence | np.ndarray) or len(given) != len(states):
        raise EvaluatorError(
            f"the evaluator must answer priors of each of {len(states)} states, or none, got {shown(given)}"
        )
    counts = [len(state.legal_actions()) for state in states]
    if isinstance(given, list) and _are_priors(given, counts):
        return given
    return [_prior(prior, count) for prior, count in zip(given, counts, strict=True)]


def _are_priors(given: list[Any], counts: list[int]) -> bool:
    """Whether all are what `_prior` would answer, looked at together; a prior may also be of another kind."""
    if not counts or not all(isinstance(prior, list) for prior in given) or list(map(len, given)) != counts:
        return False
    if not all(type(share) is float for prior in given for share in prior):
        return False
    shares = np.fromiter(itertools.chain.from_iterable(given), np.float64, sum(counts))
    sums = np.add.reduceat(shares, np.cumsum([0, *counts[:-1]]))
    return bool((shares >= 0).all() and (np.abs(sums - 1) <= SUM_TOLERANCE).all())


def _prior(given: Sequence[float], expected: int) -> list[float]:
    prior = _numbers("priors that are arrays of numbers", given)
    if prior.shape != (expected,):
        raise EvaluatorError(
            f"the evaluator must answer one prior for each of {expected} legal actions, got shape {prior.shape!r}"
        )
    if not (prior >= 0).all() or not abs(prior.sum() - 1) <= SUM_TOLERANCE:
        kind = EvaluatorError if np.isfinite(prior).all() else NotFiniteError
        raise kind(f"the evaluator's priors of a state must be zero or more, of sum 1, got {shown(prior)}")
    answer: list[float] = prior.tolist()
    return answer


def _numbers(expected: str, given: object) -> NDArray[Any]:
    """`given` as an array of numbers, of whatever shape."""
    try:
        numbers = np.asarray(given)
    except (ValueError, TypeError, RuntimeError) as error:  # a list of lists, say, or a tensor with a gradient
        raise EvaluatorError(f"the evaluator must answer {expected}, got {shown(given)}: {error}") from error
    if numbers.dtype.kind not in "fiu":
        raise EvaluatorError(f"the evaluator must answer {expected}, got {shown(given)}")
    return numbers
