"""Every engine there is, and networks and batches to try them with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import openvino
import pytest
import torch
from numpy.typing import NDArray

from athenan_spiel.config import NetworkConfig, NetworkName
from athenan_spiel.engines import Engine
from athenan_spiel.engines.cuda_engine import CudaEngine
from athenan_spiel.engines.openvino_engine import OpenVinoEngine
from athenan_spiel.engines.torch_engine import TorchEngine
from athenan_spiel.networks import ValueNetwork, make_network

HEX_11 = (10, 11, 11)
CONNECT_FOUR = (4, 6, 7)
FLAT = (40,)

needs_bfloat16 = pytest.mark.skipif(
    "BF16" not in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"),
    reason="needs a processor with bfloat16, and OpenVINO finds none",
)
ENGINES: dict[str, Callable[[tuple[int, ...]], Engine]] = {
    "openvino bfloat16": lambda shape: OpenVinoEngine(shape, "bfloat16", threads=2),
    "openvino float32": lambda shape: OpenVinoEngine(shape, "float32", threads=2),
    "torch bfloat16": lambda shape: TorchEngine(shape, "bfloat16"),
    "torch float32": lambda shape: TorchEngine(shape),
    "cpu float32": lambda shape: CudaEngine(shape, device="cpu"),
    "cpu bfloat16": lambda shape: CudaEngine(shape, "bfloat16", device="cpu"),
    "cuda bfloat16": lambda shape: CudaEngine(shape, "bfloat16"),
    "cuda float32": lambda shape: CudaEngine(shape, "float32"),
}
MARKS = {
    "openvino bfloat16": [needs_bfloat16],
    "cuda bfloat16": [pytest.mark.cuda],
    "cuda float32": [pytest.mark.cuda],
}
every_engine = pytest.mark.parametrize("kind", [pytest.param(kind, marks=MARKS.get(kind, [])) for kind in ENGINES])


def network(
    shape: tuple[int, ...] = CONNECT_FOUR,
    architecture: NetworkName = "auto",
    *,
    scale: float | None = None,
    seed: int = 0,
    layers: int | None = None,
    squeeze_excitation: int | None = None,
) -> ValueNetwork:
    """Bounded if no scale is given."""
    config = NetworkConfig(
        architecture=architecture, filters=32, layers=layers, neurons=50, squeeze_excitation=squeeze_excitation
    )
    return make_network(shape, config, bounded=scale is None, scale=scale or 1.0, seed=seed)


def a_match_of_boards(shape: tuple[int, ...], rows: int) -> NDArray[np.float32]:
    """Boards from empty to full, as in a match."""
    filled = np.linspace(0.0, 1.0, rows).reshape(-1, 1, 1, 1)
    return (np.random.default_rng(0).random((rows, *shape)) < filled).astype(np.float32)


def some_batch(shape: tuple[int, ...], rows: int, seed: int = 0) -> NDArray[np.float32]:
    """Distinct rows of zeros and ones."""
    made = (np.random.default_rng(seed).random((rows, *shape)) < 0.3).astype(np.float32)
    assert len(np.unique(made, axis=0)) == rows
    return made


def reference(of: ValueNetwork, batch: NDArray[np.float32]) -> NDArray[np.float32]:
    with torch.inference_mode():
        values: NDArray[np.float32] = of(torch.from_numpy(batch)).numpy()
    return values


def loaded(kind: str, of: ValueNetwork) -> Engine:
    engine = ENGINES[kind](of.shape)
    engine.load(of)
    return engine


def assert_close(kind: str, values: NDArray[np.float32], expected: NDArray[np.float32]) -> None:
    """The error is small against the spread of the values, which is what a search compares."""
    tolerance = 0.02 if "bfloat16" in kind else 1e-4
    assert values.dtype == np.float32
    assert values.shape == expected.shape
    assert np.sqrt(np.mean((values - expected) ** 2)) < tolerance * expected.std()
