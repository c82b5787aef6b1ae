"""Engine on a CUDA device.

Batches pass through page-locked buffers, one per batch in progress, which the device reads directly. Convolutions use
the channels-last layout, which tensor cores require, under autocast to bfloat16 if the device supports it. cuDNN uses
deterministic algorithms without benchmarking, so values are bit-identical when repeated.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from athenan_spiel.config import EngineConfig, Precision
from athenan_spiel.engines.base import Answers, Deferred, Pending, answer_row, check_rows, check_shape, no_network
from athenan_spiel.networks import ValueNetwork

MIN_BUFFER_ROWS = 256
"""Rows of the smallest page-locked buffer; larger ones are powers of two."""


class CudaEngine:
    """Engine on a CUDA device.

    Args:
        shape: shape of one encoded state.
        precision: arithmetic. `auto` is bfloat16 if the device computes in it, else float32 (without TF32).
        device: torch device. On a processor all steps except page-locking are the same.
    """

    def __init__(
        self, shape: Sequence[int], precision: Precision = "auto", device: torch.device | str = "cuda"
    ) -> None:
        self.shape = tuple(shape)
        self._device = torch.device(device)
        self._is_cuda = self._device.type == "cuda"
        if precision == "auto":
            precision = (
                "bfloat16" if self._is_cuda and torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
            )
        self.precision: Precision = precision
        self.name = f"{self._device} {precision}"
        self._layout = torch.channels_last if len(self.shape) == 3 else torch.contiguous_format
        self._network: ValueNetwork | None = None
        self._free: list[torch.Tensor] = []

    @property
    def config(self) -> EngineConfig:
        """Configuration of an equal engine; see `Engine.config`."""
        return EngineConfig(name="cuda", precision=self.precision)

    def load(self, network: ValueNetwork) -> None:
        """Copies the weights to the device; see `Engine.load`."""
        check_shape(self.name, self.shape, network)
        network = copy.deepcopy(network).to(self._device).eval()
        self._network = network.to(memory_format=self._layout)  # type: ignore[call-overload]

    def infer(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        """Evaluates a batch; see `Engine.infer`."""
        return self.start(batch).result()

    @torch.inference_mode()
    def start(self, batch: NDArray[np.float32]) -> Pending[Answers]:
        """Queues a batch on the device; see `Engine.start`."""
        if self._network is None:
            raise no_network(self.name)
        check_rows(self.name, self.shape, batch)
        count = len(batch)
        if count == 0:
            row = answer_row(self._network)
            return Deferred(lambda: np.empty((0, *row), np.float32))
        staging = self._free.pop() if self._free else self._new_staging(MIN_BUFFER_ROWS)
        if count > len(staging):
            staging = self._new_staging(1 << (count - 1).bit_length())
        staged = staging[:count]
        staged.numpy()[...] = batch
        observations = staged.to(self._device, non_blocking=True).contiguous(memory_format=self._layout)
        with (
            torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False),
            torch.autocast(self._device.type, torch.bfloat16, enabled=self.precision == "bfloat16"),
        ):
            values = self._network(observations)

        def waited_for() -> NDArray[np.float32]:
            answer: NDArray[np.float32] = values.cpu().numpy()
            self._free.append(staging)  # the device has read it
            return answer

        return Deferred(waited_for)

    def _new_staging(self, rows: int) -> torch.Tensor:
        return torch.empty((rows, *self.shape), dtype=torch.float32, pin_memory=self._is_cuda)
