"""Networks that map an encoded state to its value for player 0, and optionally to a policy (`policy`).

The architectures are those of *Minimax Strikes Back*, Table 2, with 3 x 3 kernels and ReLU:

    c    convolutions without padding, a dense layer, the output (the article, Section 3.3.1)
    r1   a convolution, residual blocks, a 1 x 1 convolution, a dense layer, the output; with padding
    r2   a convolution, residual blocks, two dense layers, the output; with padding (the article, Section 8.4.1)
    r3   a convolution, residual blocks, a 1 x 1 convolution with ReLU, global sum pooling, a dense layer, the output;
         with padding (the article, Sections 10.3 and 11.4)
    mlp  dense layers and the output, for observations that are not a stack of boards

Residual blocks may contain a squeeze-and-excitation layer (Sections 10.3 and 12.4). The networks have exactly the
numbers of weights that the article reports in 10.3, 11.4 and 12.4, for certain numbers of planes (`test_networks.py`).

A network is a sequence of layers: `ValueNetwork.layers` contains only `Convolution`, `ReLU`, `ResidualBlock`,
`Flatten`, `Linear`, `GlobalSumPooling` and `PreciseLinear`; `output` follows. The policy head, if any, branches off
after the first `tower` layers. So an engine can convert a network to another library layer by layer.

The last layer, and all layers after a global sum, always compute in float32. bfloat16 has 8 significant bits, so values
rounded to it would be equal for states that the network distinguishes.
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
"""Gain of the initial weights of last layers. Initial values are small, so that terminal values outweigh them, but not
all equal."""


class ValueNetwork(nn.Module):
    """Value network with an optional policy head; created by `make_network`.

    Attributes:
        shape: shape of an encoded state, (C, H, W) or (n,).
        layers: all layers except the last.
        output: last layer.
        tower: number of layers that the value and the policy share.
        policy: policy head, or None.
        actions: number A of logits of the policy; 0 without one.
        values: number of values V of a state: 1, or the number of players in a game with rows.
        description: architecture and number of weights, on one line.
    """

    def __init__(
        self,
        shape: Sequence[int],
        layers: Sequence[nn.Module],
        output: ValueOutput,
        architecture: str,
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
        self.values = len(output.weight)
        weights = sum(parameter.numel() for parameter in self.parameters())
        self.description = f"{architecture}, {'tanh' if output.bounded else 'linear'} output, {weights:,} weights"

    @property
    def scale(self) -> torch.Tensor:
        """Size of large values, a scalar; 1 if the output is bounded."""
        return self.output.scale

    def of_values(self) -> Iterator[nn.Parameter]:
        """Returns the weights that only the value uses."""
        return chain(self.layers[self.tower :].parameters(), self.output.parameters())

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Maps observations, float32 [N, *shape], to values for player 0, float32 [N]; in a game with rows [N, V].

        With a policy, the result is float32 [N, V + A]: the values, then the logits of all actions.
        """
        if self.policy is None:
            values: torch.Tensor = self.output(self.layers(observations))
            return values
        tower = self.layers[: self.tower](observations)
        values = self.output(self.layers[self.tower :](tower))
        return torch.cat([values[:, None] if self.values == 1 else values, self.policy(tower).float()], 1)


def make_network(
    shape: Sequence[int],
    config: NetworkConfig,
    *,
    bounded: bool,
    scale: float = 1.0,
    seed: int,
    policy: PolicyShape | None = None,
    values: int = 1,
) -> ValueNetwork:
    """Creates a network in evaluation mode. Its initial weights depend only on the arguments.

    `auto` selects `mlp` if observations are not planes, otherwise `c`. On small boards it pads the first convolutions
    of `c`, as few as possible, so that the last one has at least 2 x 2 outputs; it pads none of the default three
    from 8 x 8 on. If the policy has actions on cells and `config.policy` is not "dense", it pads all.

    Args:
        shape: shape of an encoded state, (C, H, W) or (n,).
        config: architecture and sizes.
        bounded: whether tanh bounds values to (-1, 1), as for the gain; otherwise the output is linear.
        scale: size of large values (`Outcome.scale`), which values may exceed. A linear output is multiplied by it, so
            the targets before this multiplication are about 1.
        seed: random seed of the weights. Hidden layers: He et al. 2015; last layers: the same times `OUTPUT_GAIN`.
            The weights of the value are the same with and without a policy.
        policy: actions of the game; None if `config.policy` is "none".
        values: number of values of a state.

    Raises:
        ConfigError: the architecture does not fit the shape; the scale is not positive, or not 1 with a bounded output;
            or only one of `config.policy` and `policy` specifies a policy.
    """
    if not (math.isfinite(scale) and scale > 0) or (bounded and scale != 1):
        expected = "1 if the output is bounded" if bounded else "a finite number above zero"
        raise ConfigError(f"the network's scale must be {expected}, got {scale!r}")
    network = empty_network(shape, config, policy, bounded=bounded, scale=scale, values=values)
    _initialise(network, torch.Generator().manual_seed(seed))
    return network.eval()


def empty_network(
    shape: Sequence[int],
    config: NetworkConfig,
    policy: PolicyShape | None = None,
    *,
    bounded: bool = True,
    scale: float = 1.0,
    values: int = 1,
) -> ValueNetwork:
    """Creates the network of `make_network` with uninitialised weights.

    Raises:
        ConfigError: the architecture does not fit the shape, or only one of `config.policy` and `policy` specifies a
            policy.
    """
    if (policy is None) != (config.policy == "none"):
        raise ConfigError.at("network.policy", f"={config.policy!r} contradicts the policy's actions {policy!r}")
    on_cells = policy is not None and policy.planes > 0 and config.policy != "dense"
    architecture, layers = _value_layers(shape, config, padded=on_cells)
    output = ValueOutput(config.neurons, bounded=bounded, scale=scale, values=values)
    if policy is None:
        return ValueNetwork(shape, layers, output, architecture, len(layers))
    tower, head_input = len(layers), [config.neurons]
    if len(shape) == 3:
        tower = next(i for i, layer in enumerate(layers) if _ends_tower(layer))
        head_input = tower_shape(layers[:tower], shape)
    head = make_head(head_input, shape, config, policy)
    kind = "on planes" if isinstance(head, PlanesHead) else "dense"
    architecture += f", a policy of {policy.actions:,} actions ({kind})"
    return ValueNetwork(shape, layers, output, architecture, tower, head, policy.actions)


def _ends_tower(layer: nn.Module) -> bool:
    return isinstance(layer, nn.Flatten) or (isinstance(layer, nn.Conv2d) and layer.kernel_size == (1, 1))


def tower_shape(layers: Iterable[nn.Module], shape: Sequence[int]) -> list[int]:
    """Returns the output shape [F, H, W] of convolutions and residual blocks for boards (C, H, W)."""
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
        dense_layers: default number of hidden dense layers after the convolutions; None if it isn't a setting.
        build: maps the input shape, the settings with these defaults, and the number of convolutions of `c` to pad, to
            the description and all layers except the last.
    """

    layers: int
    dense_layers: int | None
    build: Callable[[Sequence[int], NetworkConfig, int], tuple[str, list[nn.Module]]]


def _value_layers(shape: Sequence[int], config: NetworkConfig, *, padded: bool) -> tuple[str, list[nn.Module]]:
    """Returns the description, and all layers except the last.

    Args:
        padded: whether `auto` pads all convolutions, so that boards keep their size.

    Raises:
        ConfigError: the architecture does not fit the shape.
    """
    on_boards = len(shape) == 3
    name = config.architecture if config.architecture != "auto" else "c" if on_boards else "mlp"
    if name == "mlp" and config.dense_layers is not None:
        raise ConfigError(
            f"network.dense_layers must be none for an observation that is not a stack of boards, got "
            f"{config.dense_layers!r}: set network.layers, the number of dense layers of 'mlp'"
        )
    if name != "mlp" and not on_boards:
        raise ConfigError.at(
            "network.architecture",
            f"={name!r} needs an observation of boards (C, H, W), got {tuple(shape)!r}: use 'mlp'",
        )
    trunk = TRUNKS[name]
    layers, dense_layers = config.layers or trunk.layers, config.dense_layers or trunk.dense_layers
    padded_count = 0
    if config.architecture == "auto" and on_boards:
        padded_count = layers if padded else max(0, layers - max(0, (min(shape[1:]) - 2) // 2))
    complete = dataclasses.replace(config, layers=layers, dense_layers=dense_layers)
    description, built = trunk.build(shape, complete, padded_count)
    count = "" if dense_layers == trunk.dense_layers else f"{dense_layers} x "
    return description if name == "mlp" else f"{description}, {count}{config.neurons} neurons", built


def _mlp(shape: Sequence[int], config: NetworkConfig, padded: int) -> tuple[str, list[nn.Module]]:
    layers = [nn.Flatten(), *dense(math.prod(shape), config.neurons, config.layers or 0)]
    return f"MLP of {config.layers} x {config.neurons} neurons", layers


def _convolutions(shape: Sequence[int], config: NetworkConfig, padded: int) -> tuple[str, list[nn.Module]]:
    (channels, height, width), count = shape, config.layers or 0
    loss = 2 * (count - padded)
    if min(height, width) <= loss:
        raise ConfigError.at(
            "network",
            f": {count} convolutions without padding need a board of at least {loss + 1} x {loss + 1}, "
            f"got {height} x {width}: use fewer layers, 'r1' or 'auto'",
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
    """Returns the description and layers of `r1`, `r2` or `r3`."""
    (channels, height, width), filters, ratio = shape, config.filters, config.squeeze_excitation
    blocks = [ResidualBlock(filters, ratio) for _ in range(config.layers or 0)]
    description = f"{name}-network of {len(blocks)} blocks x {filters} filters"
    if ratio is not None:
        description += f" (squeeze-and-excitation {ratio})"
    layers: list[nn.Module] = [convolution(channels, filters, padding=1), *blocks]
    if name == "R3":
        pointwise = config.pointwise_filters or config.neurons
        layers += [convolution(filters, pointwise, kernel=1), nn.ReLU(), *dense_of_sums(pointwise, config.neurons)]
        return f"{description}, {pointwise} pointwise filters", layers
    if name == "R1":
        layers.append(convolution(filters, filters, kernel=1))
    return description, [*layers, *_dense_head(filters * height * width, config)]


TRUNKS = {
    "c": Trunk(3, 1, _convolutions),
    "r1": Trunk(2, 1, functools.partial(_residual, "R1")),
    "r2": Trunk(8, 2, functools.partial(_residual, "R2")),
    "r3": Trunk(8, None, functools.partial(_residual, "R3")),
    "mlp": Trunk(3, None, _mlp),
}
"""Architectures by name. `auto` selects one of them."""


def _initialise(network: ValueNetwork, generator: torch.Generator) -> None:
    """Initialises weights as He et al. 2015, with zero biases.

    The second convolutions of n residual blocks are divided by √n, so that the sum of the branches does not explode.
    For the same reason, weights after global sum pooling are divided by the number of cells, as for a mean.
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
        weight.normal_(0.0, OUTPUT_GAIN * math.sqrt(2.0 / weight.shape[1]), generator=generator)
        if network.policy is not None:
            _initialise_policy(network.policy, generator)


def _initialise_policy(head: PolicyHead, generator: torch.Generator) -> None:
    """Initialises the policy head in the same way.

    Last layers are multiplied by `OUTPUT_GAIN`, so initial policies are nearly uniform.
    """
    hidden = head.pointwise if isinstance(head, DenseHead) else None
    for layer in head.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu", generator=generator)
            if layer is not hidden:
                layer.weight *= OUTPUT_GAIN
            assert layer.bias is not None
            layer.bias.zero_()
