"""The network on a processor through OpenVINO, in bfloat16 where the processor has instructions for it.

New weights come after each learning phase, so refreshing must be cheap: `load` writes OpenVINO's graph straight
from the network's layers, without a file or an exported model between, and compiles it, some 25 ms in all however
many weights there are. Weights as inputs of the graph would need no compilation, but then each call would lay
them out anew: twice the time of a small batch.

The batch dimension is dynamic, and each size met for the first time after `load` costs about half a millisecond.
A large batch is therefore cut into equal parts of at most `LARGEST_PART` rows: the sizes of the parts repeat where
those of whole batches would hardly ever, and the parts' activations stay in the cache.

The last layer is a product and a sum, not a matrix product: OpenVINO computes those in float32 even where the
rest is in bfloat16. What follows a global sum is in float32, too (`_in_float32`). Threads wait without using the
processor from about a millisecond after a call on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np
import openvino  # type: ignore[import-untyped]
import torch
from numpy.typing import NDArray
from openvino import opset13 as ops
from torch import nn

from athenan_spiel.config import Precision
from athenan_spiel.errors import ConfigError
from athenan_spiel.evaluators.engine import Pending, check_shape, no_network
from athenan_spiel.networks import GlobalSumPooling, PreciseLinear, ResidualBlock, SqueezeExcitation, ValueNetwork

LARGEST_PART = 256
"""Rows that are computed together; more are no faster per row."""


@functools.cache
def core() -> openvino.Core:
    """The one core of this process, which is never destroyed.

    Each core's processor plugin gives the thread that loads it another stack for signals, and at its end puts back the
    one it found. When two of them end in the order of their making, that one is gone already, and the next Ctrl-C is a
    segmentation fault.
    """
    return openvino.Core()


class OpenVinoEngine:
    """An engine on OpenVINO's processor plugin.

    Args:
        shape: of one encoded state.
        precision: `auto` is bfloat16 where OpenVINO itself would take it, else float32.
        threads: how many compute.

    Raises:
        ConfigError: bfloat16 is asked for on a processor without it.
    """

    def __init__(self, shape: Sequence[int], precision: Precision, threads: int) -> None:
        self.shape = tuple(shape)
        self._core = core()
        self.precision = self._resolve(precision)
        self.name = f"openvino {self.precision}"
        self._properties = {
            "INFERENCE_PRECISION_HINT": "bf16" if self.precision == "bfloat16" else "f32",
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            "ENABLE_CPU_PINNING": False,  # the search and the learner want the same cores
        }
        self._compiled: openvino.CompiledModel | None = None
        self._idle: list[openvino.InferRequest] = []
        self._under_way: set[_Started] = set()

    def load(self, network: ValueNetwork) -> None:
        """Rebuild the network in OpenVINO and compile it; see `Engine.load`."""
        check_shape(self.name, self.shape, network)
        for started in tuple(self._under_way):  # with the old weights; a round that was broken off never asks for it
            started.result()
        self._compiled = self._core.compile_model(graph_of(network), "CPU", self._properties)
        self._idle = [self._compiled.create_infer_request()]

    def infer(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        """Values of a batch; see `Engine.infer`."""
        if self._compiled is None:
            raise no_network(self.name)
        batch = _readable(batch)
        values = np.empty(len(batch), np.float32)
        request = self._request()
        for start, end in _parts(len(batch)):
            request.set_input_tensor(openvino.Tensor(batch[start:end], shared_memory=True))
            request.infer(share_outputs=True, decode_strings=False)
            values[start:end] = request.get_output_tensor().data
        self._idle.append(request)
        return values

    def start(self, batch: NDArray[np.float32]) -> Pending:
        """Begin to compute in OpenVINO's own threads and return; see `Engine.start`."""
        if self._compiled is None:
            raise no_network(self.name)
        started = _Started(_readable(batch), self._request, self._finish)
        self._under_way.add(started)
        return started

    def _request(self) -> openvino.InferRequest:
        assert self._compiled is not None
        return self._idle.pop() if self._idle else self._compiled.create_infer_request()

    def _finish(self, started: _Started) -> None:
        self._under_way.discard(started)
        self._idle += started.requests

    def _resolve(self, precision: Precision) -> Precision:
        if precision == "auto":
            default = self._core.get_property("CPU", "INFERENCE_PRECISION_HINT")
            return "bfloat16" if default == openvino.Type.bf16 else "float32"
        if precision == "bfloat16" and "BF16" not in self._core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
            raise ConfigError("engine.precision='bfloat16' needs a processor that has it: take 'auto' or 'float32'")
        return precision


class _Started:
    """A batch under way, in parts; it holds the memory that OpenVINO reads until the last part is done."""

    def __init__(
        self,
        batch: NDArray[np.float32],
        new_request: Callable[[], openvino.InferRequest],
        on_finish: Callable[[_Started], None],
    ) -> None:
        self._batch = batch
        self._on_finish = on_finish
        self._values: NDArray[np.float32] | None = None
        self.requests: list[openvino.InferRequest] = []
        for start, end in _parts(len(batch)):
            request = new_request()
            request.set_input_tensor(openvino.Tensor(batch[start:end], shared_memory=True))
            request.start_async()
            self.requests.append(request)

    def result(self) -> NDArray[np.float32]:
        """Wait for all parts; see `Pending.result`."""
        if self._values is None:
            self._values = np.empty(len(self._batch), np.float32)
            for request, (start, end) in zip(self.requests, _parts(len(self._batch)), strict=True):
                request.wait()
                self._values[start:end] = request.get_output_tensor().data
            self._on_finish(self)
            self.requests = []  # they are another batch's now
        return self._values

    def __del__(self) -> None:
        """Nobody came back for the values; the memory must stay until OpenVINO has read it all the same."""
        for request in self.requests:
            request.wait()


def _readable(batch: NDArray[np.float32]) -> NDArray[np.float32]:
    """OpenVINO reads rows where they are, and wants them contiguous and writable."""
    return batch if batch.flags.carray else batch.copy()


def _parts(rows: int) -> list[tuple[int, int]]:
    """Equal parts of at most LARGEST_PART rows, (first, end) each."""
    count = -(-rows // LARGEST_PART)
    return [(rows * part // count, rows * (part + 1) // count) for part in range(count)]


def graph_of(network: ValueNetwork) -> openvino.Model:
    """The network as OpenVINO's graph, [N, *shape] to [N], with the weights copied into it."""
    observations = ops.parameter([-1, *network.shape], np.float32, "observations")
    node = observations
    for layer in network.layers:
        node = _after(node, layer)
    output = network.output
    node = ops.reduce_sum(ops.multiply(node, _constant(output.weight)), _integers([1]), keep_dims=False)
    node = ops.add(node, _constant(output.bias))
    node = ops.tanh(node) if output.bounded else ops.multiply(node, _constant(output.scale))
    return openvino.Model([ops.result(node)], [observations], "value")


def _after(node: openvino.Node, layer: nn.Module) -> openvino.Node:
    """The node that computes `layer` of what `node` computes."""
    if isinstance(layer, nn.Conv2d):
        assert layer.bias is not None
        padding = [int(side) for side in layer.padding]
        node = ops.convolution(node, _constant(layer.weight), [1, 1], padding, padding, [1, 1])
        return ops.add(node, _constant(layer.bias.reshape(1, -1, 1, 1)))
    if isinstance(layer, nn.ReLU):
        return ops.relu(node)
    if isinstance(layer, ResidualBlock):
        change = _after(ops.relu(node), layer.first)
        change = _after(ops.relu(change), layer.second)
        if layer.excitation is not None:
            change = _after(change, layer.excitation)
        return ops.relu(ops.add(node, change))
    if isinstance(layer, SqueezeExcitation):
        means = ops.reduce_mean(node, _integers([2, 3]), keep_dims=False)
        squeezed = ops.relu(ops.matmul(means, _constant(layer.squeeze.weight), False, True))
        factors = ops.sigmoid(ops.matmul(squeezed, _constant(layer.excite.weight), False, True))
        return ops.multiply(node, ops.unsqueeze(factors, _integers([2, 3])))
    if isinstance(layer, GlobalSumPooling):
        return ops.reduce_sum(node, _integers([2, 3]), keep_dims=False)
    if isinstance(layer, nn.Flatten):
        return ops.reshape(node, _integers([0, -1]), special_zero=True)
    if isinstance(layer, PreciseLinear):
        return _in_float32(node, layer)
    if isinstance(layer, nn.Linear):
        product = ops.matmul(node, _constant(layer.weight), False, True)
        return ops.add(product, _constant(layer.bias.reshape(1, -1)))
    raise ConfigError(f"engine 'openvino' knows the layers that networks/ names, got {layer!r}: take engine 'torch'")


def _in_float32(node: openvino.Node, layer: PreciseLinear) -> openvino.Node:
    """The dense layer as a transposed convolution of one board, whose cells are the rows of the batch.

    In bfloat16 the plugin leaves in float32 what comes behind the last convolution or product of matrices. A transposed
    convolution does not count as one; with boards of one cell it would take ten times as long.
    """
    inputs, neurons = layer.in_features, layer.out_features
    board = ops.reshape(ops.transpose(node, _integers([1, 0])), _integers([1, inputs, -1, 1]), special_zero=False)
    weights = _constant(layer.weight.T.reshape(inputs, neurons, 1, 1).contiguous())
    board = ops.convolution_backprop_data(board, weights, [1, 1], None, [0, 0], [0, 0], [1, 1])
    rows = ops.transpose(ops.reshape(board, _integers([neurons, -1]), special_zero=False), _integers([1, 0]))
    return ops.add(rows, _constant(layer.bias.reshape(1, -1)))


def _constant(weights: torch.Tensor) -> openvino.Node:
    return ops.constant(weights.detach().cpu().numpy())


def _integers(numbers: Sequence[int]) -> openvino.Node:
    return ops.constant(np.array(numbers, np.int64))
