"""Layers of the papers' networks that torch lacks, and functions that create torch's layers.

Planes are [N, F, H, W]. The functions leave weights uninitialised; `architectures` draws them. Within
`torch.device("meta")`, layers have only shapes and need no memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import torch
from torch import nn

from athenan_spiel.networks import winograd

L = TypeVar("L", bound=nn.Module)


class Convolution(nn.Conv2d):
    """Convolution of boards. In training on a CPU in float32, 3 x 3 kernels use Winograd's minimal filtering.

    It takes half the time of torch's kernels there, forward and backward.
    """

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        """Maps [N, F, H, W] to [N, F', H', W']."""
        plain = planes.device.type == "cpu" and planes.dtype == torch.float32 and not torch.is_autocast_enabled("cpu")
        if self.training and plain and self.kernel_size == (winograd.KERNEL, winograd.KERNEL):
            assert self.bias is not None
            return winograd.convolution(planes, self.weight, self.bias, int(self.padding[0]))
        return super().forward(planes)


class SqueezeExcitation(nn.Module):
    """Multiplies each plane by a factor in (0, 1), computed from the means of all planes (Hu et al. 2018, Section 3).

    The factors are σ(W₂ · ReLU(W₁ · means)), with ⌊F / ratio⌋ hidden neurons. They have no biases, since only then do
    the networks have the article's numbers of weights (Sections 10.3 and 12.4).
    """

    def __init__(self, filters: int, ratio: int) -> None:
        super().__init__()
        self.squeeze = linear(filters, max(1, filters // ratio), bias=False)
        self.excite = linear(max(1, filters // ratio), filters, bias=False)

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        """Maps [N, F, H, W] to the same shape."""
        factors = torch.sigmoid(self.excite(torch.relu(self.squeeze(planes.mean((2, 3))))))
        return planes * factors[:, :, None, None]


class ResidualBlock(nn.Module):
    """ReLU, convolution, ReLU, convolution; the block's input is added, and a ReLU follows.

    The caption of Table 2 in *Minimax Strikes Back* describes this block. A squeeze-and-excitation layer is optional.
    It follows the second convolution, before the block's input is added (Hu et al. 2018, Figure 3).
    """

    def __init__(self, filters: int, squeeze_excitation: int | None = None) -> None:
        super().__init__()
        self.first = convolution(filters, filters, padding=1)
        self.second = convolution(filters, filters, padding=1)
        self.excitation = None if squeeze_excitation is None else SqueezeExcitation(filters, squeeze_excitation)

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        """Maps [N, F, H, W] to the same shape."""
        change = self.second(torch.relu(self.first(torch.relu(planes))))
        if self.excitation is not None:
            change = self.excitation(change)
        return torch.relu(planes + change)


class GlobalSumPooling(nn.Module):
    """Sum of each plane (Aich and Stavness 2018), in float32.

    Boards with equally many stones have large, almost equal sums. bfloat16, with its 8 significant bits, would
    distinguish such boards much less well; so a `PreciseLinear` follows.
    """

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        """Maps [N, F, H, W] to float32 [N, F]."""
        return planes.float().sum((2, 3))


class PreciseLinear(nn.Linear):
    """Dense layer that always computes in float32, also if the rest of the network uses bfloat16."""

    def forward(self, sums: torch.Tensor) -> torch.Tensor:
        """Maps float32 [N, inputs] to float32 [N, neurons]."""
        with torch.autocast(sums.device.type, enabled=False):
            return super().forward(sums)


class ValueOutput(nn.Module):
    """Last dense layer, with one neuron per value, in float32. Returns tanh of its output if bounded, otherwise `scale`
    times that."""

    scale: torch.Tensor

    def __init__(self, neurons: int, *, bounded: bool, scale: float, values: int = 1) -> None:
        super().__init__()
        self.bounded = bounded
        self.weight = nn.Parameter(torch.empty(values, neurons))
        self.bias = nn.Parameter(torch.zeros(values))
        self.register_buffer("scale", torch.tensor(float(scale)))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Maps [N, neurons] to values [N], or to [N, values] if there are several."""
        # Not a matrix product, which autocast would compute in bfloat16.
        if len(self.weight) == 1:
            values = (hidden.float() * self.weight).sum(1) + self.bias
        else:
            values = (hidden.float()[:, None] * self.weight).sum(2) + self.bias
        return torch.tanh(values) if self.bounded else values * self.scale


def dense(inputs: int, neurons: int, count: int) -> Iterator[nn.Module]:
    """Yields `count` dense layers with `neurons` neurons, each followed by a ReLU."""
    for _ in range(count):
        yield linear(inputs, neurons)
        yield nn.ReLU()
        inputs = neurons


def dense_of_sums(inputs: int, neurons: int) -> Iterator[nn.Module]:
    """Yields global sum pooling, a dense layer, and a ReLU."""
    yield GlobalSumPooling()
    yield _empty(PreciseLinear(inputs, neurons, device="meta"))
    yield nn.ReLU()


def convolution(inputs: int, filters: int, *, kernel: int = 3, padding: int = 0) -> Convolution:
    """Returns a convolution of `inputs` planes."""
    return _empty(Convolution(inputs, filters, kernel, padding=padding, device="meta"))


def linear(inputs: int, neurons: int, *, bias: bool = True) -> nn.Linear:
    """Returns a dense layer, without a ReLU."""
    return _empty(nn.Linear(inputs, neurons, bias=bias, device="meta"))


def _empty(layer: L) -> L:
    """Moves `layer` from the meta device, where its creation did not draw weights from torch's global generator."""
    if torch.get_default_device().type != "meta":
        # `layer.to_empty` imports sympy, which takes half a second.
        for name, weights in list(layer.named_parameters()):
            setattr(layer, name, nn.Parameter(torch.empty(weights.shape)))
    return layer
