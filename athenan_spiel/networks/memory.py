"""Memory that a network needs, computed from its settings before it is created.

The network is created on torch's meta device, where layers have shapes but no data. A forward pass there would count
the activations, but its import of sympy takes seconds; so they are counted layer by layer.

In play, the weights exist twice: in the module and in the engine's copy. Learning needs a third copy, its gradients,
Adam's two moments, and while a checkpoint is written a copy of the moments: eight arrays in all. Each state of a
minibatch adds the activations that the backward pass needs.
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

FLOAT32_BYTES = 4
COPIES_TO_PLAY = 2
COPIES_TO_LEARN = 8
"""Number of arrays as large as the weights, in play and in learning."""
ACTIVATION_BYTES = 20
ACTIVATION_BYTES_BFLOAT16 = 6
"""Bytes per output of a layer in learning, in float32 and bfloat16: the output before and after its ReLU, its gradient,
and in float32 the buffers of Winograd's filtering. Measured with 3 and with 17 convolutions: 20 and 31 bytes in
float32, 5.5 and 6 in bfloat16."""


def playing_bytes(shape: Sequence[int], config: NetworkConfig, policy: PolicyShape | None = None) -> int:
    """Returns the bytes that a network needs to play, without activations.

    Args:
        shape: shape of an encoded state.
        config: architecture and sizes.
        policy: actions of the game, if the network has a policy.

    Raises:
        ConfigError: the architecture does not fit the shape.
    """
    return FLOAT32_BYTES * COPIES_TO_PLAY * _weight_count(_meta_layers(shape, config, policy))


def learning_bytes(
    shape: Sequence[int],
    config: NetworkConfig,
    batch_size: int,
    policy: PolicyShape | None = None,
    *,
    bfloat16: bool = False,
) -> int:
    """Returns the bytes that a network needs to learn from minibatches of `batch_size` states.

    Args:
        shape: shape of an encoded state.
        config: architecture and sizes.
        batch_size: number of states in a minibatch.
        policy: actions of the game, if the network has a policy.
        bfloat16: whether the forward and backward pass use bfloat16.

    Raises:
        ConfigError: the architecture does not fit the shape.
    """
    layers = _meta_layers(shape, config, policy)
    activation_bytes = ACTIVATION_BYTES_BFLOAT16 if bfloat16 else ACTIVATION_BYTES
    state = FLOAT32_BYTES * math.prod(shape) + activation_bytes * _output_count(layers, shape)
    return FLOAT32_BYTES * COPIES_TO_LEARN * _weight_count(layers) + batch_size * state


def valuing_bytes(shape: Sequence[int], config: NetworkConfig, policy: PolicyShape | None = None) -> int:
    """Returns the bytes of the activations of one evaluated state, if all are kept until the end of the forward pass.

    Raises:
        ConfigError: the architecture does not fit the shape.
    """
    return FLOAT32_BYTES * (math.prod(shape) + _output_count(_meta_layers(shape, config, policy), shape))


def require_memory(needed: int, purpose: str, device: str = "cpu") -> None:
    """Raises `ConfigError` if the device has less free memory than the bytes `needed` for `purpose`."""
    on_gpu = device == "cuda" and torch.cuda.is_available()
    free = torch.cuda.mem_get_info()[0] if on_gpu else free_memory()
    if free is not None and needed > free:
        raise ConfigError(
            f"this network needs {gigabytes(needed)} {purpose}, and {gigabytes(free)} are free: use fewer "
            f"network.filters, neurons or layers{', or a smaller learner.batch_size' if purpose == 'to learn' else ''}"
        )


def _meta_layers(shape: Sequence[int], config: NetworkConfig, policy: PolicyShape | None) -> list[nn.Module]:
    with torch.device("meta"):
        network = empty_network(shape, config, policy)
    return [*network.layers] if network.policy is None else [*network.layers, network.policy]


def _weight_count(layers: Iterable[nn.Module]) -> int:
    """Returns the number of weights, without the few of the last layer."""
    return sum(parameter.numel() for layer in layers for parameter in layer.parameters())


def _output_count(layers: Iterable[nn.Module], shape: Sequence[int]) -> int:
    """Returns the number of outputs of all convolutions and dense layers for one state."""
    count = 0
    height, width = shape[1:] if len(shape) == 3 else (1, 1)
    for layer in layers:
        if isinstance(layer, nn.Conv2d):
            lost = layer.kernel_size[0] - 1 - 2 * int(layer.padding[0])
            height, width = height - lost, width - lost
            count += layer.out_channels * height * width
        elif isinstance(layer, ResidualBlock):
            count += 2 * layer.first.out_channels * height * width
        elif isinstance(layer, nn.Linear):
            count += layer.out_features
        elif isinstance(layer, DenseHead):
            count += layer.dense.out_features
        elif isinstance(layer, PlanesHead):
            count += len(layer.places)
    return count
