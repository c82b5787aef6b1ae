"""An engine runs a network on batches of encoded states; this file says what one promises.

1. `load` copies the weights: what happens to the network afterwards changes no value until the next `load`. Values that
   were asked for by `start` before it are those of the weights before it, whenever they are taken.
2. `infer` gives what the network does, in an array of its own: one finite number per row, player 0's view, and beside
   it the logits of all actions, where there is a policy. No rows give no values.
3. The same weights and the same batch give the same bits, in any process on one machine with as many threads.
   How many rows come with a row may change the last bits of its value, since it may change the order of sums.
4. The values of different states differ wherever the network's do: the last layer computes in float32.
5. `start` returns without waiting where the engine can compute by itself, so that its caller's next work and the
   network's run at the same time. Answers may be taken in any order; an engine serves one thread at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.config import EngineConfig
from athenan_spiel.errors import ConfigError, EvaluatorError

if TYPE_CHECKING:
    from athenan_spiel.networks import ValueNetwork


Answers = NDArray[np.float32]
"""Of N encoded states: values float32 [N]; of a network with a policy of A actions float32 [N, 1 + A], the value and
then the logits."""
T_co = TypeVar("T_co", covariant=True)


class Pending(Protocol[T_co]):
    """An answer that was asked for, such as the `Answers` of a batch."""

    def result(self) -> T_co:
        """The answer, waited for if need be; to be asked once."""


class Deferred(Generic[T_co]):
    """An answer that is computed when it is asked for, by who has nothing better to offer."""

    def __init__(self, compute: Callable[[], T_co]) -> None:
        self._compute = compute

    def result(self) -> T_co:
        """Compute the answer."""
        return self._compute()


class Engine(Protocol):
    """Runs a network; the file's docstring numbers what it promises."""

    @property
    def name(self) -> str:
        """What runs it and in which arithmetic, such as `openvino bfloat16`."""

    @property
    def config(self) -> EngineConfig:
        """What `make_engine` makes another one like it from."""

    def load(self, network: ValueNetwork) -> None:
        """Compute with a copy of this network's weights from now on.

        Raises:
            ConfigError: the network is for encoded states of another shape.
        """

    def infer(self, batch: NDArray[np.float32]) -> Answers:
        """Encoded states float32 [N, *shape] to what the network answers.

        Raises:
            EvaluatorError: no network was loaded, or rows have another shape.
        """

    def start(self, batch: NDArray[np.float32]) -> Pending[Answers]:
        """As `infer`, to be waited for later; `batch` must stay as it is until then.

        Raises:
            EvaluatorError: as `infer`; here or by the result.
        """


def answer_row(network: ValueNetwork) -> tuple[int, ...]:
    """The shape of what `network` answers of one state: (), or (1 + A,)."""
    return () if network.policy is None else (1 + network.actions,)


def check_shape(engine: str, expected: Sequence[int], network: ValueNetwork) -> None:
    """Raise `ConfigError` unless `network` is for encoded states of the `expected` shape."""
    if network.shape != tuple(expected):
        raise ConfigError(f"engine {engine}: expected a network for {tuple(expected)!r}, got one for {network.shape!r}")


def check_rows(engine: str, expected: Sequence[int], batch: NDArray[np.float32]) -> None:
    """Raise `EvaluatorError` unless the rows of `batch` are encoded states of the `expected` shape."""
    if batch.shape[1:] != tuple(expected):
        raise EvaluatorError(f"engine {engine}: expected rows of shape {tuple(expected)!r}, got {batch.shape[1:]!r}")


def no_network(engine: str) -> EvaluatorError:
    """What `infer` raises before the first `load`."""
    return EvaluatorError(f"engine {engine}: expected a network before the first batch, got none: call load(network)")
