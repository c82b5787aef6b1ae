"""Reference engine: torch runs the network on a processor, layer by layer.

It is the slowest engine, and the tests compare the others with it. `auto` therefore means float32 here. With bfloat16
all layers except the last run under autocast.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from athenan_spiel.config import EngineConfig, Precision
from athenan_spiel.engines.base import Answers, Deferred, Pending, check_rows, check_shape, no_network
from athenan_spiel.networks import ValueNetwork


class TorchEngine:
    """Engine on torch's own kernels.

    Args:
        shape: shape of one encoded state.
        precision: arithmetic; `auto` is float32.
        threads: torch's number of threads, which is shared by the whole process. None leaves it unchanged.
    """

    def __init__(self, shape: Sequence[int], precision: Precision = "auto", threads: int | None = None) -> None:
        self.shape = tuple(shape)
        self.precision: Precision = "float32" if precision == "auto" else precision
        self.name = f"torch {self.precision}"
        self._network: ValueNetwork | None = None
        if threads is not None:
            torch.set_num_threads(threads)

    @property
    def config(self) -> EngineConfig:
        """Configuration of an equal engine, without the number of threads, which belongs to the process."""
        return EngineConfig(name="torch", precision=self.precision)

    def load(self, network: ValueNetwork) -> None:
        """Copies the weights; see `Engine.load`."""
        check_shape(self.name, self.shape, network)
        self._network = copy.deepcopy(network).to("cpu").eval()

    def infer(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        """Evaluates a batch; see `Engine.infer`."""
        return self.start(batch).result()

    def start(self, batch: NDArray[np.float32]) -> Pending[Answers]:
        """Returns a result that is computed when it is requested; see `Engine.start`."""
        network = self._network  # which the next `load` replaces
        if network is None:
            raise no_network(self.name)
        check_rows(self.name, self.shape, batch)
        return Deferred(lambda: self._values(network, batch))

    @torch.inference_mode()
    def _values(self, network: ValueNetwork, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        with torch.autocast("cpu", torch.bfloat16, enabled=self.precision == "bfloat16"):
            values: NDArray[np.float32] = network(torch.from_numpy(batch)).numpy()
        return values
