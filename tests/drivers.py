"""The plainest driver of a search: whatever it asks is answered at once, and what was asked is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import pyspiel
from numpy.typing import NDArray

from athenan_spiel.evaluators.base import Evaluation
from athenan_spiel.search.walk import Requests

T = TypeVar("T")
Values = Callable[[Sequence[pyspiel.State]], NDArray]  # type: ignore[type-arg]


def evaluation(values: Values, request: Sequence[pyspiel.State]) -> Evaluation:
    """What `values` says of a request, as a search is sent it."""
    return Evaluation(values(request).tolist())


def answered(requests: Requests[T], values: Values) -> tuple[T, list[Sequence[pyspiel.State]]]:
    """What the generator returns when `values` answers all it asks, and what it asked."""
    asked: list[Sequence[pyspiel.State]] = []
    try:
        asked.append(next(requests))
        while True:
            asked.append(requests.send(evaluation(values, asked[-1])))
    except StopIteration as finished:
        result: T = finished.value
        return result, asked
