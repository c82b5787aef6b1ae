"""Networks: an encoded state in, its value for player 0 out, and beside it perhaps a policy (`policy`).

The architectures are those of *Minimax Strikes Back*, Table 2, with 3 x 3 kernels and ReLU:

    c    convolutions without padding, a dense layer, the output (the article, Section 3.3.1)
    r1   a convolution, residual blocks, a 1 x 1 convolution, a dense layer, the output; with padding
    r2   a convolution, residual blocks, two dense layers, the output; with padding (the article, Section 8.4.1)
    r3   a convolution, residual blocks, a 1 x 1 convolution with its ReLU, the sum of each plane, a dense layer, the
         output; with padding (the article, Sections 10.3 and 11.4)
    mlp  dense layers and the output, for observations that are no stack of boards

Residual blocks may end in a squeeze-and-excitation layer (Sections 10.3 and 12.4). The numbers of weights that the
article gives in 10.3, 11.4 and 12.4 are met exactly, each with a certain number of planes (`test_networks.py`).

A network is a plain chain: `ValueNetwork.layers` holds nothing but `Convolution`, `ReLU`, `ResidualBlock`, `Flatten`,
`Linear`, `GlobalSumPooling` and `PreciseLinear`, then comes `output`; behind the first `tower` of the layers the head
of the policy branches off, where there is one. An engine may therefore rebuild it in another library by walking over
it.

The last layer, and all that follows a global sum, compute in float32 whatever the rest computes in: bfloat16 has 8
bits of mantissa, and values rounded to it would tie where the network tells states apart.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

import torch
from torch import nn

from athenan_spiel.config import NetworkConfig
from athenan_spiel.errors import ConfigError
from athenan_spiel.networks.layers import (
    GlobalSumPooling,
    ResidualBlock,
    ValueOutput,
    convolution,
    dense,
    dense_of_sums,
)
from athenan_spiel.networks.policy import DenseHead, PlanesHead, PolicyHead, PolicyShape, make_head

OUTPUT_GAIN = 0.1
"""First values should be small, so that no untrained guess outweighs a real result, and not all equal."""


class ValueNetwork(nn.Module):
    """A network of values, and perhaps of policies; made by `make_network`.

    Attributes:
        shape: of one input, (C, H, W) or (n,).
        layers: all but the last layer.
        output: the last layer.
        tower: how many of the layers the value and the policy share.
        policy: the head of the policy; None where there is none.
        actions: A, how many logits it gives; 0 where there is none.
        description: one line about the architecture, its number of weights included.
    """

    def __init__(
        self,
        shape: Sequence[int],
        layers: Sequence[nn.Module],
        output: ValueOutput,
        what: str,
        tower: int = 0,
        policy: PolicyHead | None = None,
        actions: int = 0,
    ) -> None:
        super().__init__()
        self.shape = tuple(shape)
        self.layers = nn.Sequential(*layers)
        self.output = output
        self.tower = tower
        self.policy = policy
        self.actions = actions
        weights = sum(parameter.numel() for parameter in self.parameters())
        self.description = f"{what}, {'tanh' if output.bounded else 'linear'} output, {weights:,} weights"

    @property
    def scale(self) -> torch.Tensor:
        """The size of large values, a scalar; 1 if the output is bounded."""
        return self.output.scale

    def of_values(self) -> Iterator[nn.Parameter]:
        """The weights that the policy does not share."""
        return chain(self.layers[self.tower :].parameters(), self.output.parameters())

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Observations float32 [N, *shape] to values float32 [N], player 0's view.

        With a policy: to float32 [N, 1 + A], the value and then the logits of all actions.
        """
        if self.policy is None:
            values: torch.Tensor = self.output(self.layers(observations))
            return values
        tower = self.layers[: self.tower](observations)
        values = self.output(self.layers[self.tower :](tower))
        return torch.cat([values[:, None], self.policy(tower).float()], 1)


def make_network(
    shape: Sequence[int],
    config: NetworkConfig,
    *,
    bounded: bool,
    scale: float = 1.0,
    seed: int,
    policy: PolicyShape | None = None,
) -> ValueNetwork:
    """Make a network with fresh weights, which depend on the arguments alone; it is set to evaluate, not to learn.

    `auto` takes `mlp` for observations that are no planes. For planes it takes `c`, and on small boards pads as many
    of its first convolutions as must be for at least 2 x 2 to be left of the board: none from 8 x 8 on. Where there is
    a policy of actions on cells it pads all of them.

    Args:
        shape: of one encoded state, (C, H, W) or (n,).
        bounded: tanh keeps values within (-1, 1), as the gain is; otherwise the output is linear.
        scale: the size of large values (`Outcome.scale`), which values may exceed; a linear output is multiplied by it,
            so that the weights see targets within [-1, 1].
        seed: of the weights. Hidden layers: He et al. 2015; last layers: as they, times `OUTPUT_GAIN`. Those of the
            value are the same with and without a policy.
        policy: the actions of the game, where the settings ask for a policy; none, where they do not.

    Raises:
        ConfigError: the architecture does not fit the shape, or the scale is not a positive number, or not 1 where the
            output is bounded; or one of settings and actions is for a policy, and the other not.
    """
    if not (math.isfinite(scale) and scale > 0) or (bounded and scale != 1):
        expected = "1 where the output is bounded" if bounded else "a finite number above zero"
        raise ConfigError(f"the network's scale must be {expected}, got {scale!r}")
    network = empty_network(shape, config, policy, bounded=bounded, scale=scale)
    _initialise(network, torch.Generator().manual_seed(seed))
    return network.eval()


def empty_network(
    shape: Sequence[int],
    config: NetworkConfig,
    policy: PolicyShape | None = None,
    *,
    bounded: bool = True,
    scale: float = 1.0,
) -> ValueNetwork:
    """Makes the network of `make_network` without initial weights.

    Raises:
        ConfigError: the architecture does not fit the shape; or one of settings and actions is for a policy, and the
            other not.
    """
    if (policy is None) != (config.policy == "none"):
        raise ConfigError.at("network.policy", f"={config.policy!r} does not go with the actions {policy!r}")
    on_cells = policy is not None and policy.planes > 0 and config.policy != "dense"
    what, layers = _value_layers(shape, config, padded=on_cells)
    output = ValueOutput(config.neurons, bounded=bounded, scale=scale)
    if policy is None:
        return ValueNetwork(shape, layers, output, what, len(layers))
    tower, given = len(layers), [config.neurons]
    if len(shape) == 3:
        tower = next(i for i, layer in enumerate(layers) if _ends_tower(layer))
        given = tower_shape(layers[:tower], shape)
    head = make_head(given, shape, config, policy)
    kind = "on planes" if isinstance(head, PlanesHead) else "dense"
    what += f", a policy of {policy.actions:,} actions ({kind})"
    return ValueNetwork(shape, layers, output, what, tower, head, policy.actions)


def _ends_tower(layer: nn.Module) -> bool:
    return isinstance(layer, nn.Flatten) or (isinstance(layer, nn.Conv2d) and layer.kernel_size == (1, 1))


def tower_shape(layers: Iterable[nn.Module], shape: Sequence[int]) -> list[int]:
    """[F, H, W] of what convolutions and residual blocks give for boards (C, H, W)."""
    filters, height, width = shape
    for layer in layers:
        if isinstance(layer, nn.Conv2d):
            lost = layer.kernel_size[0] - 1 - 2 * int(layer.padding[0])
            filters, height, width = layer.out_channels, height - lost, width - lost
    return [filters, height, width]


class Trunk(NamedTuple):
    """An architecture.

    Attributes:
        layers: default number of convolutions, residual blocks or hidden layers.
        dense_layers: default number of hidden dense layers behind the boards; None if it isn't a setting.
        build: makes the description and all layers but the last one from the shape, the settings with these defaults,
            and the number of convolutions to pad of those that have no padding otherwise.
    """

    layers: int
    dense_layers: int | None
    build: Callable[[Sequence[int], NetworkConfig, int], tuple[str, list[nn.Module]]]


def _value_layers(shape: Sequence[int], config: NetworkConfig, *, padded: bool) -> tuple[str, list[nn.Module]]:
    """The description of the layers but the last one, and the layers; `padded`: `auto` leaves boards their size.

    Raises:
        ConfigError: the architecture does not fit the shape.
    """
    on_boards = len(shape) == 3
    name = config.architecture if config.architecture != "auto" else "c" if on_boards else "mlp"
    if name == "mlp" and config.dense_layers is not None:
        raise ConfigError(
            f"network.dense_layers must be none for an observation that is no stack of boards, got "
            f"{config.dense_layers!r}: its network has dense layers alone, as many as network.layers says"
        )
    if name != "mlp" and not on_boards:
        raise ConfigError.at(
            "network.architecture",
            f"={name!r} needs an observation of boards (C, H, W), got {tuple(shape)!r}: take 'mlp'",
        )
    trunk = TRUNKS[name]
    layers, dense_layers = config.layers or trunk.layers, config.dense_layers or trunk.dense_layers
    paddings = 0
    if config.architecture == "auto" and on_boards:
        paddings = layers if padded else max(0, layers - max(0, (min(shape[1:]) - 2) // 2))
    what, built = trunk.build(shape, dataclasses.replace(config, layers=layers, dense_layers=dense_layers), paddings)
    count = "" if dense_layers == trunk.dense_layers else f"{dense_layers} x "
    return what if name == "mlp" else f"{what}, {count}{config.neurons} neurons", built


def _mlp(shape: Sequence[int], config: NetworkConfig, padded: int) -> tuple[str, list[nn.Module]]:
    layers = [nn.Flatten(), *dense(math.prod(shape), config.neurons, config.layers or 0)]
    return f"MLP of {config.layers} x {config.neurons} neurons", layers


def _convolutions(shape: Sequence[int], config: NetworkConfig, padded: int) -> tuple[str, list[nn.Module]]:
    (channels, height, width), count = shape, config.layers or 0
    loss = 2 * (count - padded)
    if min(height, width) <= loss:
        raise ConfigError.at(
            "network",
            f": {count} convolutions without padding need a board of {loss + 1} x {loss + 1} at least, "
            f"got {height} x {width}: take fewer layers, 'r1' or 'auto'",
        )
    layers: list[nn.Module] = []
    for index in range(count):
        layers += [convolution(channels, config.filters, padding=int(index < padded)), nn.ReLU()]
        channels = config.filters
    layers += _dense_head(channels * (height - loss) * (width - loss), config)
    return f"C-network of {count} x {config.filters} convolutions ({padded} padded)", layers


def _dense_head(inputs: int, config: NetworkConfig) -> list[nn.Module]:
    return [nn.Flatten(), *dense(inputs, config.neurons, config.dense_layers or 0)]


def _residual(name: str, shape: Sequence[int], config: NetworkConfig, padded: int) -> tuple[str, list[nn.Module]]:
    """The blocks of `r1`, `r2` or `r3`, and what follows them."""
    (channels, height, width), filters, ratio = shape, config.filters, config.squeeze_excitation
    blocks = [ResidualBlock(filters, ratio) for _ in range(config.layers or 0)]
    what = f"{name}-network of {len(blocks)} blocks x {filters} filters"
    if ratio is not None:
        what += f" (squeeze-and-excitation {ratio})"
    layers: list[nn.Module] = [convolution(channels, filters, padding=1), *blocks]
    if name == "R3":
        pointwise = config.pointwise_filters or config.neurons
        layers += [convolution(filters, pointwise, kernel=1), nn.ReLU(), *dense_of_sums(pointwise, config.neurons)]
        return f"{what}, {pointwise} pointwise filters", layers
    if name == "R1":
        layers.append(convolution(filters, filters, kernel=1))
    return what, [*layers, *_dense_head(filters * height * width, config)]


TRUNKS = {
    "c": Trunk(3, 1, _convolutions),
    "r1": Trunk(2, 1, functools.partial(_residual, "R1")),
    "r2": Trunk(8, 2, functools.partial(_residual, "R2")),
    "r3": Trunk(8, None, functools.partial(_residual, "R3")),
    "mlp": Trunk(3, None, _mlp),
}
"""The architectures by name; `auto` is one of them."""


def _initialise(network: ValueNetwork, generator: torch.Generator) -> None:
    """He's initialisation, biases zero; residual branches smaller the more there are, or their sum would explode.

    What follows a sum over the board begins as if it were the mean, for the same reason.
    """
    blocks = [layer for layer in network.layers if isinstance(layer, ResidualBlock)]
    with torch.no_grad():
        for layer in network.layers.modules():
            if isinstance(layer, nn.Conv2d | nn.Linear):
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu", generator=generator)
                if layer.bias is not None:
                    layer.bias.zero_()
        for block in blocks:
            block.second.weight /= math.sqrt(len(blocks))
        for layer, following in pairwise(network.layers):
            if isinstance(layer, GlobalSumPooling):
                assert isinstance(following, nn.Linear)
                following.weight /= math.prod(network.shape[1:])
        weight = network.output.weight
        weight.normal_(0.0, OUTPUT_GAIN * math.sqrt(2.0 / weight.numel()), generator=generator)
        if network.policy is not None:
            _initialise_policy(network.policy, generator)


def _initialise_policy(head: PolicyHead, generator: torch.Generator) -> None:
    """He's initialisation, biases zero; the last layers' times `OUTPUT_GAIN`, so first policies are near uniform."""
    hidden = head.pointwise if isinstance(head, DenseHead) else None
    for layer in head.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu", generator=generator)
            if layer is not hidden:
                layer.weight *= OUTPUT_GAIN
            assert layer.bias is not None
            layer.bias.zero_()
