"""The memory that a network takes, computed from its settings before there is any of it.

The network is made on torch's meta device, where its layers have shapes and no numbers. It values nothing there: the
first forward pass on that device imports sympy, which takes seconds.

A network that plays is there twice: the module, and the engine's copy. One that learns is there once more, with a
gradient and Adam's two moments, of which a checkpoint that is written holds a copy. To that come the numbers that a
minibatch leaves in each layer for the way back.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import torch
from torch import nn

from athenan_spiel.config import NetworkConfig
from athenan_spiel.errors import ConfigError
from athenan_spiel.networks.architectures import empty_network
from athenan_spiel.networks.layers import ResidualBlock
from athenan_spiel.networks.policy import DenseHead, PlanesHead, PolicyShape
from athenan_spiel.system.machine import free_memory, gigabytes

NUMBER = 4
"""Bytes of a float32."""
PLAYING = 2
LEARNING = 8
"""How many times there are as many numbers as weights."""
LEFT_BEHIND = 20
LEFT_BEHIND_IN_BFLOAT16 = 6
"""Bytes for each number that a layer gives: itself, after its ReLU, its gradient, and in float32 what Winograd's
filtering adds. Measured with 3 and with 17 convolutions: 20 and 31 bytes in float32, 5.5 and 6 in bfloat16."""


def playing_bytes(shape: Sequence[int], config: NetworkConfig, policy: PolicyShape | None = None) -> int:
    """What a network for encoded states of `shape` takes where it only values states.

    Raises:
        ConfigError: the architecture does not fit the shape.
    """
    return NUMBER * PLAYING * _weights(_planned(shape, config, policy))


def learning_bytes(
    shape: Sequence[int],
    config: NetworkConfig,
    batch_size: int,
    policy: PolicyShape | None = None,
    *,
    bfloat16: bool = False,
) -> int:
    """What the same network takes where it learns from minibatches of `batch_size` states, in float32 or bfloat16.

    Raises:
        ConfigError: the architecture does not fit the shape.
    """
    layers = _planned(shape, config, policy)
    left_behind = LEFT_BEHIND_IN_BFLOAT16 if bfloat16 else LEFT_BEHIND
    state = NUMBER * math.prod(shape) + left_behind * _given(layers, shape)
    return NUMBER * LEARNING * _weights(layers) + batch_size * state


def valuing_bytes(shape: Sequence[int], config: NetworkConfig, policy: PolicyShape | None = None) -> int:
    """What a state takes while the network values it, if nothing that a layer gives is let go before the end.

    Raises:
        ConfigError: the architecture does not fit the shape.
    """
    return NUMBER * (math.prod(shape) + _given(_planned(shape, config, policy), shape))


def require_memory(needed: int, purpose: str, device: str = "cpu") -> None:
    """Raise `ConfigError` if a network that needs `needed` bytes for its `purpose` has no room on the device now."""
    on_gpu = device == "cuda" and torch.cuda.is_available()
    free = torch.cuda.mem_get_info()[0] if on_gpu else free_memory()
    if free is not None and needed > free:
        raise ConfigError(
            f"this network needs {gigabytes(needed)} {purpose}, and {gigabytes(free)} are free: take fewer "
            f"network.filters, neurons or layers{', or a smaller learner.batch_size' if purpose == 'to learn' else ''}"
        )


def _planned(shape: Sequence[int], config: NetworkConfig, policy: PolicyShape | None) -> list[nn.Module]:
    with torch.device("meta"):
        network = empty_network(shape, config, policy)
    return [*network.layers] if network.policy is None else [*network.layers, network.policy]


def _weights(layers: Iterable[nn.Module]) -> int:
    """All but the last layer's, of which there are few."""
    return sum(parameter.numel() for layer in layers for parameter in layer.parameters())


def _given(layers: Iterable[nn.Module], shape: Sequence[int]) -> int:
    """How many numbers convolutions and dense layers give for one state."""
    numbers = 0
    height, width = shape[1:] if len(shape) == 3 else (1, 1)
    for layer in layers:
        if isinstance(layer, nn.Conv2d):
            lost = layer.kernel_size[0] - 1 - 2 * int(layer.padding[0])
            height, width = height - lost, width - lost
            numbers += layer.out_channels * height * width
        elif isinstance(layer, ResidualBlock):
            numbers += 2 * layer.first.out_channels * height * width
        elif isinstance(layer, nn.Linear):
            numbers += layer.out_features
        elif isinstance(layer, DenseHead):
            numbers += layer.dense.out_features
        elif isinstance(layer, PlanesHead):
            numbers += len(layer.places)
    return numbers
