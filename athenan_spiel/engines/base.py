"""Protocol of engines, which run a network on batches of encoded states. Every engine satisfies:

1. `load` copies the weights: later changes of the network affect no value until the next `load`. Batches started before
   `load` are computed with the earlier weights, whenever their results are requested.
2. `infer` returns the network's output in a new array: one finite value per state for player 0, or one for each player
   in a game with rows, and with a policy the logits of all actions. An empty batch returns an empty array.
3. The same weights and the same batch give bit-identical results, in any process on one machine with the same number of
   threads. The number of rows in a batch may change the last bits of a value, since it may change the order of sums.
4. The values of different states differ wherever the network's do: the last layer computes in float32.
5. `start` returns without waiting if the engine can compute asynchronously, so that the caller's next work and the
   network run at the same time. Results may be requested in any order. An engine serves one thread at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.config import EngineConfig
from athenan_spiel.errors import ConfigError, EvaluatorError

if TYPE_CHECKING:
    from athenan_spiel.networks import ValueNetwork


Answers = NDArray[np.float32]
"""Output for N encoded states: values, float32 [N], or [N, V] in a game with rows of V values; with a policy of A
actions float32 [N, V + A], the values followed by the logits."""
A = TypeVar("A", bound=Any)
"""Type of an output, an array or a tensor."""
T_co = TypeVar("T_co", covariant=True)


class Pending(Protocol[T_co]):
    """Result of an asynchronous call, such as the `Answers` of a batch."""

    def result(self) -> T_co:
        """Waits for the result and returns it. It must be called only once."""


class Deferred(Generic[T_co]):
    """A result that is computed when it is requested, for callers without asynchronous computation."""

    def __init__(self, compute: Callable[[], T_co]) -> None:
        self._compute = compute

    def result(self) -> T_co:
        """Computes the result."""
        return self._compute()


class Engine(Protocol):
    """Runs a network. The module's docstring lists the laws of an engine."""

    @property
    def name(self) -> str:
        """Device or library and arithmetic, such as `openvino bfloat16`."""

    @property
    def config(self) -> EngineConfig:
        """Configuration from which `make_engine` makes an equal engine."""

    def load(self, network: ValueNetwork) -> None:
        """Uses a copy of this network's weights from now on.

        Raises:
            ConfigError: the network expects encoded states of another shape.
        """

    def infer(self, batch: NDArray[np.float32]) -> Answers:
        """Evaluates encoded states, float32 [N, *shape].

        Raises:
            EvaluatorError: no network was loaded, or the rows have another shape.
        """

    def start(self, batch: NDArray[np.float32]) -> Pending[Answers]:
        """Starts to evaluate `batch`, which must not change until the result is requested.

        Raises:
            EvaluatorError: as `infer`. It is raised here or by the result.
        """


def answer_row(network: ValueNetwork) -> tuple[int, ...]:
    """Returns the shape of the network's output per state: (), or (V + A,)."""
    return () if network.values == 1 and network.policy is None else (network.values + network.actions,)


def split_answers(answers: A, values: int) -> tuple[A, A | None]:
    """Splits a network's output for N states into values, [N] or [N, V], and the logits, [N, A], if there are any.

    Args:
        answers: the output, as an array or a tensor.
        values: number V of values of a state.
    """
    if answers.ndim == 1 or answers.shape[1] == values > 1:
        return answers, None
    return answers[:, 0] if values == 1 else answers[:, :values], answers[:, values:]


def check_shape(engine: str, expected: Sequence[int], network: ValueNetwork) -> None:
    """Raises `ConfigError` unless `network` expects encoded states of the `expected` shape."""
    if network.shape != tuple(expected):
        raise ConfigError(f"engine {engine}: expected a network for {tuple(expected)!r}, got one for {network.shape!r}")


def check_rows(engine: str, expected: Sequence[int], batch: NDArray[np.float32]) -> None:
    """Raises `EvaluatorError` unless the rows of `batch` have the `expected` shape."""
    if batch.shape[1:] != tuple(expected):
        raise EvaluatorError(f"engine {engine}: expected rows of shape {tuple(expected)!r}, got {batch.shape[1:]!r}")


def no_network(engine: str) -> EvaluatorError:
    """Returns the error that `infer` raises before the first `load`."""
    return EvaluatorError(f"engine {engine}: expected a network before the first batch, got none: call load(network)")
