"""Factory of engines: the configured one, or the best of this machine."""

from __future__ import annotations

from collections.abc import Sequence

from athenan_spiel.config import EngineConfig
from athenan_spiel.engines.base import Engine
from athenan_spiel.engines.threads import half_of_the_cores, most_threads
from athenan_spiel.errors import ConfigError


def make_engine(config: EngineConfig, shape: Sequence[int]) -> Engine:
    """Creates the engine that `config` names, for encoded states of `shape`, without weights.

    The number of threads is limited to what this machine supports (`threads`), whatever the settings request.

    Raises:
        ConfigError: the device, the package or the arithmetic is not available.
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
