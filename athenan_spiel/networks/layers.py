"""The layers of the papers' networks that torch does not have, and makers of those it has.

Planes are [N, F, H, W]. Layers are made without weights that mean anything: who makes a network draws them. Within
`torch.device("meta")` they have shapes alone, and take no memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import torch
from torch import nn

from athenan_spiel.networks import winograd

L = TypeVar("L", bound=nn.Module)


class Convolution(nn.Conv2d):
    """A convolution of boards. While it learns on a processor in float32, it goes by Winograd's minimal filtering.

    There forward and backward pass take half the time of torch's own kernels.
    """

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        """[N, F, H, W] to [N, F', H', W']."""
        plain = planes.device.type == "cpu" and planes.dtype == torch.float32 and not torch.is_autocast_enabled("cpu")
        if self.training and plain and self.kernel_size == (winograd.KERNEL, winograd.KERNEL):
            assert self.bias is not None
            return winograd.convolution(planes, self.weight, self.bias, int(self.padding[0]))
        return super().forward(planes)


class SqueezeExcitation(nn.Module):
    """Scales each plane by a factor in (0, 1) that the means of all planes decide (Hu, Shen and Sun 2018, Section 3).

    The factors are σ(W₂ · ReLU(W₁ · means)), with ⌊F / ratio⌋ neurons between. There are no biases: only so are the
    articles' numbers of weights met (Sections 10.3 and 12.4).
    """

    def __init__(self, filters: int, ratio: int) -> None:
        super().__init__()
        self.squeeze = linear(filters, max(1, filters // ratio), bias=False)
        self.excite = linear(max(1, filters // ratio), filters, bias=False)

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        """[N, F, H, W] to the same."""
        factors = torch.sigmoid(self.excite(torch.relu(self.squeeze(planes.mean((2, 3))))))
        return planes * factors[:, :, None, None]


class ResidualBlock(nn.Module):
    """ReLU, convolution, ReLU, convolution; the block's input is added, and a ReLU follows (Table 2's caption).

    Where there is a squeeze-and-excitation layer, it ends the branch: the second convolution goes through it before the
    block's input is added (Hu et al. 2018, Figure 3).
    """

    def __init__(self, filters: int, squeeze_excitation: int | None = None) -> None:
        super().__init__()
        self.first = convolution(filters, filters, padding=1)
        self.second = convolution(filters, filters, padding=1)
        self.excitation = None if squeeze_excitation is None else SqueezeExcitation(filters, squeeze_excitation)

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        """[N, F, H, W] to the same."""
        change = self.second(torch.relu(self.first(torch.relu(planes))))
        if self.excitation is not None:
            change = self.excitation(change)
        return torch.relu(planes + change)


class GlobalSumPooling(nn.Module):
    """The sum of each plane (Aich and Stavness 2018), in float32.

    The sums of equally full boards are large and much alike. With the 8 bits of bfloat16, such boards would be told
    apart far less well, so a `PreciseLinear` follows.
    """

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        """[N, F, H, W] to float32 [N, F]."""
        return planes.float().sum((2, 3))


class PreciseLinear(nn.Linear):
    """A dense layer that computes in float32, whatever the network computes in."""

    def forward(self, sums: torch.Tensor) -> torch.Tensor:
        """Float32 [N, inputs] to float32 [N, neurons]."""
        with torch.autocast(sums.device.type, enabled=False):
            return super().forward(sums)


class ValueOutput(nn.Module):
    """The last dense layer, one neuron, in float32: tanh of it if bounded, else `scale` times it."""

    scale: torch.Tensor

    def __init__(self, neurons: int, *, bounded: bool, scale: float) -> None:
        super().__init__()
        self.bounded = bounded
        self.weight = nn.Parameter(torch.empty(1, neurons))
        self.bias = nn.Parameter(torch.zeros(1))
        self.register_buffer("scale", torch.tensor(float(scale)))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[N, neurons] to values [N]."""
        # A product and a sum, since autocast would compute a matrix product in bfloat16.
        values = (hidden.float() * self.weight).sum(1) + self.bias
        return torch.tanh(values) if self.bounded else values * self.scale


def dense(inputs: int, neurons: int, count: int) -> Iterator[nn.Module]:
    """`count` dense layers of `neurons` neurons, each with its ReLU."""
    for _ in range(count):
        yield linear(inputs, neurons)
        yield nn.ReLU()
        inputs = neurons


def dense_of_sums(inputs: int, neurons: int) -> Iterator[nn.Module]:
    """The sum of each plane, a dense layer over the sums and its ReLU."""
    yield GlobalSumPooling()
    yield _empty(PreciseLinear(inputs, neurons, device="meta"))
    yield nn.ReLU()


def convolution(inputs: int, filters: int, *, kernel: int = 3, padding: int = 0) -> Convolution:
    """A convolution of `inputs` planes."""
    return _empty(Convolution(inputs, filters, kernel, padding=padding, device="meta"))


def linear(inputs: int, neurons: int, *, bias: bool = True) -> nn.Linear:
    """A dense layer without a ReLU."""
    return _empty(nn.Linear(inputs, neurons, bias=bias, device="meta"))


def _empty(layer: L) -> L:
    """`layer`, which was made on the meta device, as there no first weights are drawn from torch's global generator."""
    return layer if torch.get_default_device().type == "meta" else layer.to_empty(device="cpu")
