"""Value networks with an optional policy.

`architectures` builds the papers' networks from `layers` and the heads in `policy`. `winograd` computes convolutions,
`memory` the memory that a network needs, and `onnx_model` converts a network to ONNX.
"""

from __future__ import annotations

from athenan_spiel.networks.architectures import OUTPUT_GAIN, TRUNKS, ValueNetwork, make_network
from athenan_spiel.networks.layers import GlobalSumPooling, PreciseLinear, ResidualBlock, SqueezeExcitation, ValueOutput
from athenan_spiel.networks.memory import learning_bytes, playing_bytes, require_memory, valuing_bytes
from athenan_spiel.networks.policy import DenseHead, PlanesHead, PolicyHead, PolicyShape

__all__ = [
    "OUTPUT_GAIN",
    "TRUNKS",
    "DenseHead",
    "GlobalSumPooling",
    "PlanesHead",
    "PolicyHead",
    "PolicyShape",
    "PreciseLinear",
    "ResidualBlock",
    "SqueezeExcitation",
    "ValueNetwork",
    "ValueOutput",
    "learning_bytes",
    "make_network",
    "playing_bytes",
    "require_memory",
    "valuing_bytes",
]
