"""Value networks: their layers (`layers`), and the papers' architectures by name and sizes (`architectures`)."""

from __future__ import annotations

from athenan_spiel.networks.architectures import DEFAULT_LAYERS, OUTPUT_GAIN, ValueNetwork, make_network
from athenan_spiel.networks.layers import GlobalSumPooling, Output, PreciseLinear, ResidualBlock, SqueezeExcitation

__all__ = [
    "DEFAULT_LAYERS",
    "OUTPUT_GAIN",
    "GlobalSumPooling",
    "Output",
    "PreciseLinear",
    "ResidualBlock",
    "SqueezeExcitation",
    "ValueNetwork",
    "make_network",
]
