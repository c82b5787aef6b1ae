"""Which engine runs a network: the one that a configuration names, or the best of this machine's."""

from __future__ import annotations

from collections.abc import Sequence

from athenan_spiel.config import EngineConfig
from athenan_spiel.engines.base import Engine
from athenan_spiel.engines.threads import half_of_the_cores, most_threads
from athenan_spiel.errors import ConfigError


def make_engine(config: EngineConfig, shape: Sequence[int]) -> Engine:
    """Make the engine that `config` names, for encoded states of `shape`; it has no weights yet.

    It has no more threads than this machine takes (`threads`), whatever machine its settings are from.

    Raises:
        ConfigError: its device, its package or its arithmetic is not there.
    """
    import torch

    name = config.name
    threads = None if config.threads is None else min(config.threads, most_threads())
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "openvino"
    if name == "torch":
        from athenan_spiel.engines.torch_engine import TorchEngine

        return TorchEngine(shape, config.precision, threads)
    if name == "cuda":
        if not torch.cuda.is_available():
            raise ConfigError.at(
                "engine.name", "='cuda' needs a CUDA device, and torch finds none: take 'auto' or 'openvino'"
            )
        from athenan_spiel.engines.cuda_engine import CudaEngine

        return CudaEngine(shape, config.precision)
    try:
        from athenan_spiel.engines.openvino_engine import OpenVinoEngine
    except ImportError as error:
        raise ConfigError.at(
            "engine.name",
            f"={config.name!r} needs the package openvino, got {str(error)!r}: install it or take 'torch'",
        ) from None
    return OpenVinoEngine(shape, config.precision, threads or half_of_the_cores())
