"""Conversion of a value network to OpenVINO's graph, layer by layer.

In bfloat16 the graph is the network's: [N, F, H, W] boards and direct convolutions, for which such processors have
matrix units. In float32 boards are [H, W, N, F] from the first layer to the last, and convolutions of 3 x 3 use
Winograd's minimal filtering (`networks/winograd.py`).

Compiling such a convolution for another batch size takes milliseconds. The weights of networks that are not large are
therefore inputs of that graph: one graph serves a whole run, and each size is compiled once. Direct convolutions would
rearrange such weights in each call, which takes twice the time of a small batch; matrix products lose little.

The last layer is a product and a sum, not a matrix product: OpenVINO computes those in float32 even if the rest is in
bfloat16. Layers after a global sum are in float32, too (`_in_float32`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from athenan_spiel.engines.silent_openvino import openvino
from athenan_spiel.errors import ConfigError
from athenan_spiel.networks import (
    DenseHead,
    GlobalSumPooling,
    PlanesHead,
    PolicyHead,
    PreciseLinear,
    ResidualBlock,
    SqueezeExcitation,
    ValueNetwork,
    ValueOutput,
    winograd,
)

ops = openvino.opset13

MAX_INPUT_WEIGHTS = 1 << 19
"""Maximum number of weights that can be inputs of the graph. Larger networks have constant weights.

Their programs for each size would take too much memory, and rearranging their weights in each call too much time.
"""


@dataclass(frozen=True)
class Graph:
    """A network as OpenVINO's graph.

    Attributes:
        model: maps observations [N, *shape], followed by the weights that are inputs, to values [N] or to answers
            [N, 1 + A].
        weights: inputs after the observations, in order.
        structure: models of equal structure compute the same function of their inputs. None if the weights are
            constants.
    """

    model: openvino.Model
    weights: list[NDArray[np.float32]]
    structure: str | None


def graph_of(network: ValueNetwork, *, board_first: bool) -> Graph:
    """Converts a network to OpenVINO's graph, with a copy of its weights.

    Args:
        network: network to convert.
        board_first: uses the memory layout and convolutions for float32.

    Raises:
        ConfigError: a layer is not one of those in `networks`.
    """
    board_first = board_first and isinstance(network.layers[0], nn.Conv2d)
    as_inputs = board_first and sum(parameter.numel() for parameter in network.parameters()) <= MAX_INPUT_WEIGHTS
    weights = _Inputs() if as_inputs else _Constants()
    writer = _Writer(weights, _BoardFirst(network.shape, weights) if board_first else _StateFirst(weights))
    observations = ops.parameter([-1, *network.shape], np.float32, "observations")
    answers = writer.answers(observations, network)
    if not isinstance(weights, _Inputs):
        return Graph(openvino.Model([ops.result(answers)], [observations], "value"), [], None)
    model = openvino.Model([ops.result(answers)], [observations, *weights.nodes], "value")
    structure = f"{network.shape!r} {network.layers!r} {network.values} {network.output.bounded!r} {network.policy!r}"
    if isinstance(network.policy, PlanesHead):
        structure += f" {network.policy.indices.tolist()!r}"
    return Graph(model, weights.arrays, structure)


class _Weights(Protocol):
    """Source of the graph's weights."""

    def __call__(self, weights: torch.Tensor) -> openvino.Node:
        """Returns a node with a copy of the weights."""


def _array(weights: torch.Tensor) -> NDArray[np.float32]:
    """Returns a copy with denormal numbers replaced by zero, since they slow processors down."""
    array = np.array(weights.detach().cpu().numpy(), np.float32, order="C")
    array[np.abs(array) < np.finfo(np.float32).tiny] = 0.0
    return array


class _Constants:
    """Weights as constants of the graph."""

    def __call__(self, weights: torch.Tensor) -> openvino.Node:
        return ops.constant(_array(weights))


class _Inputs:
    """Weights as inputs of the graph. `nodes` are the inputs, `arrays` their values."""

    def __init__(self) -> None:
        self.nodes: list[openvino.Node] = []
        self.arrays: list[NDArray[np.float32]] = []

    def __call__(self, weights: torch.Tensor) -> openvino.Node:
        array = _array(weights)
        self.arrays.append(array)
        self.nodes.append(ops.parameter(list(array.shape), np.float32))
        return self.nodes[-1]


class _Writer:
    """Converts the layers of a network."""

    def __init__(self, weights: _Weights, boards: _Boards) -> None:
        self._weights = weights
        self._boards = boards

    def answers(self, observations: openvino.Node, network: ValueNetwork) -> openvino.Node:
        """Returns the node that computes the network's output."""
        node = self._boards.begin(observations)
        if network.policy is None:
            return self._values(node, network.layers, network.output)
        layers = list(network.layers)
        for layer in layers[: network.tower]:
            node = self._after(node, layer)
        logits = self._logits(node, network.policy)
        values = self._values(node, layers[network.tower :], network.output)
        return ops.concat([ops.unsqueeze(values, _integers([1])) if network.values == 1 else values, logits], 1)

    def _logits(self, node: openvino.Node, head: PolicyHead) -> openvino.Node:
        """Returns the node that computes the logits [N, A]."""
        if isinstance(head, DenseHead):
            if head.pointwise is not None:
                node = ops.relu(self._boards.convolution(node, head.pointwise))
            return self._dense(self._flat(node) if head.on_boards else node, head.dense)
        cells = self._flat(self._boards.convolution(node, head.planes))
        if head.beside is not None:
            means = ops.reduce_mean(node, _integers(self._boards.axes), keep_dims=False)
            cells = ops.concat([cells, self._dense(means, head.beside)], 1)
        return ops.gather(cells, _integers(head.indices.tolist()), _integers([1]))

    def _values(self, node: openvino.Node, layers: Iterable[nn.Module], output: ValueOutput) -> openvino.Node:
        """Returns the node that computes the values [N], or [N, V]."""
        for layer in layers:
            node = self._after(node, layer)
        if len(output.weight) == 1:
            node = self._dot(node, output.weight)
        else:  # OpenVINO 2026 has returned NaN in bfloat16 for one product with [V, H]
            each = [ops.unsqueeze(self._dot(node, weight[None]), _integers([1])) for weight in output.weight]
            node = ops.concat(each, 1)
        node = ops.add(node, self._weights(output.bias))
        return ops.tanh(node) if output.bounded else ops.multiply(node, self._weights(output.scale))

    def _dot(self, node: openvino.Node, weight: torch.Tensor) -> openvino.Node:
        """Returns the node that computes the products [N] of [N, H] with weights [1, H], in float32."""
        return ops.reduce_sum(ops.multiply(node, self._weights(weight)), _integers([1]), keep_dims=False)

    def _after(self, node: openvino.Node, layer: nn.Module) -> openvino.Node:
        """Returns the node that applies `layer` to the output of `node`."""
        if isinstance(layer, nn.Conv2d):
            return self._boards.convolution(node, layer)
        if isinstance(layer, nn.ReLU):
            return ops.relu(node)
        if isinstance(layer, ResidualBlock):
            change = self._after(ops.relu(node), layer.first)
            change = self._after(ops.relu(change), layer.second)
            if layer.excitation is not None:
                change = self._after(change, layer.excitation)
            return ops.relu(ops.add(node, change))
        if isinstance(layer, SqueezeExcitation):
            board = _integers(self._boards.axes)
            means = ops.reduce_mean(node, board, keep_dims=False)
            squeezed = ops.relu(ops.matmul(means, self._weights(layer.squeeze.weight), False, True))
            factors = ops.sigmoid(ops.matmul(squeezed, self._weights(layer.excite.weight), False, True))
            return ops.multiply(node, ops.unsqueeze(factors, board))
        if isinstance(layer, GlobalSumPooling):
            return ops.reduce_sum(node, _integers(self._boards.axes), keep_dims=False)
        if isinstance(layer, nn.Flatten):
            return self._flat(node)
        if isinstance(layer, PreciseLinear):
            return self._in_float32(node, layer)
        if isinstance(layer, nn.Linear):
            return self._dense(node, layer)
        raise _unknown(layer)

    def _flat(self, node: openvino.Node) -> openvino.Node:
        return ops.reshape(self._boards.end(node), _integers([0, -1]), special_zero=True)

    def _dense(self, node: openvino.Node, layer: nn.Linear) -> openvino.Node:
        product = ops.matmul(node, self._weights(layer.weight), False, True)
        return ops.add(product, self._weights(layer.bias.reshape(1, -1)))

    def _in_float32(self, node: openvino.Node, layer: PreciseLinear) -> openvino.Node:
        """Returns the dense layer as a transposed convolution of one board, whose cells are the rows of the batch.

        In bfloat16 the plugin keeps in float32 what follows the last convolution or matrix product. A transposed
        convolution does not count as one. With boards of one cell it would take ten times as long.
        """
        inputs, neurons = layer.in_features, layer.out_features
        board = _reshaped(ops.transpose(node, _integers([1, 0])), 1, inputs, -1, 1)
        weights = self._weights(layer.weight.T.reshape(inputs, neurons, 1, 1).contiguous())
        board = ops.convolution_backprop_data(board, weights, [1, 1], None, [0, 0], [0, 0], [1, 1])
        rows = ops.transpose(_reshaped(board, neurons, -1), _integers([1, 0]))
        return ops.add(rows, self._weights(layer.bias.reshape(1, -1)))


class _Boards(Protocol):
    """Memory layout of boards within the graph, with the operations that depend on it."""

    axes: tuple[int, int]
    """Axes of rows and columns."""

    def begin(self, observations: openvino.Node) -> openvino.Node:
        """Converts from [N, F, H, W]."""

    def convolution(self, node: openvino.Node, layer: nn.Conv2d) -> openvino.Node:
        """Returns the convolution by `layer`, with its bias."""

    def end(self, node: openvino.Node) -> openvino.Node:
        """Converts to [N, F, H, W]."""


class _StateFirst:
    """Layout [N, F, H, W], as in the network."""

    axes = (2, 3)

    def __init__(self, weights: _Weights) -> None:
        self._weights = weights

    def begin(self, observations: openvino.Node) -> openvino.Node:
        return observations

    def convolution(self, node: openvino.Node, layer: nn.Conv2d) -> openvino.Node:
        assert layer.bias is not None
        padding = [int(side) for side in layer.padding]
        sums = ops.convolution(node, self._weights(layer.weight), [1, 1], padding, padding, [1, 1])
        return ops.add(sums, self._weights(layer.bias.reshape(1, -1, 1, 1)))

    def end(self, node: openvino.Node) -> openvino.Node:
        return node


class _BoardFirst:
    """Layout [H, W, N, F], in which each step of a convolution is a matrix product."""

    axes = (0, 1)

    def __init__(self, shape: Sequence[int], weights: _Weights) -> None:
        self._board = tuple(shape[1:])
        self._weights = weights

    def begin(self, observations: openvino.Node) -> openvino.Node:
        return ops.transpose(observations, _integers([2, 3, 0, 1]))

    def convolution(self, node: openvino.Node, layer: nn.Conv2d) -> openvino.Node:
        assert layer.bias is not None
        if layer.kernel_size == (1, 1):
            sums = ops.matmul(node, self._weights(layer.weight.flatten(1)), False, True)
        elif layer.kernel_size != (winograd.KERNEL, winograd.KERNEL):
            raise _unknown(layer)
        else:
            height, width = self._board
            plan = winograd.filtering(height, width, int(layer.padding[0]))
            sums = self._filtered(node, layer.weight.detach().cpu(), plan)
            self._board = plan.shape
        return ops.add(sums, self._weights(layer.bias))

    def _filtered(self, node: openvino.Node, weight: torch.Tensor, plan: winograd.Filtering) -> openvino.Node:
        filters, inputs = weight.shape[:2]
        p, t, q, s = plan.grid
        node = self._through(node, plan.input_transform)
        if plan.interleaved:
            node = ops.transpose(_reshaped(node, p, t, q, s, -1), _integers([0, 2, 1, 3, 4]))
        node = _reshaped(node, plan.points, -1, inputs)
        node = ops.matmul(node, self._weights(plan.weights_at_points(weight)), False, False)
        if plan.interleaved:
            node = ops.transpose(_reshaped(node, p, q, t, s, -1), _integers([0, 2, 1, 3, 4]))
        return _reshaped(self._through(node, plan.output_transform), *plan.shape, -1, filters)

    def _through(self, node: openvino.Node, steps: Sequence[winograd.Step]) -> openvino.Node:
        for step in steps:
            cells = _reshaped(node, step.batch, step.matrix.shape[1], -1)
            node = ops.matmul(ops.constant(step.matrix[None]), cells, False, False)
        return node

    def end(self, node: openvino.Node) -> openvino.Node:
        return ops.transpose(node, _integers([2, 3, 0, 1]))


def _unknown(layer: nn.Module) -> ConfigError:
    return ConfigError(f"engine 'openvino' knows the layers that networks/ names, got {layer!r}: take engine 'torch'")


def _reshaped(node: openvino.Node, *shape: int) -> openvino.Node:
    return ops.reshape(node, _integers(shape), special_zero=False)


def _integers(numbers: Sequence[int]) -> openvino.Node:
    return ops.constant(np.array(numbers, np.int64))
