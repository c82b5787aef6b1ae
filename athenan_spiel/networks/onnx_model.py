"""A network as an ONNX model, written straight from its layers, for programs and languages without this library.

The graph is the network's, layer by layer, in float32: convolutions are plain ones, whatever sums an engine here
computes them by. The package onnx (the extra `onnx`) is imported when a model is asked for, and not before.

Input `observations`, float32 [N, *shape]; outputs `values`, float32 [N], and of a network with a policy `logits`,
float32 [N, A]. N is free.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

import athenan_spiel
from athenan_spiel.errors import ConfigError
from athenan_spiel.networks.architectures import ValueNetwork
from athenan_spiel.networks.layers import GlobalSumPooling, Output, ResidualBlock, SqueezeExcitation
from athenan_spiel.networks.policy import DenseHead, PolicyHead

OPSET, IR_VERSION = 18, 9
"""Of 2022 and 2023: runtimes of today read them."""
OBSERVATIONS, VALUES, LOGITS = "observations", "values", "logits"


def require_onnx() -> Any:
    """The package onnx.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        importlib.import_module("onnx.helper")
        importlib.import_module("onnx.numpy_helper")
        return importlib.import_module("onnx")
    except ImportError as error:
        raise ConfigError(
            f"ONNX needs the package onnx, got {str(error)!r}: pip install 'athenan-spiel[onnx]'"
        ) from None


def onnx_bytes(network: ValueNetwork, description: str, meaning: Mapping[str, str]) -> bytes:
    """The content of an `.onnx` file that computes what `network` does.

    Args:
        description: of the model.
        meaning: of its input and its outputs, by their names, and what else is to be told: the model's metadata.

    Raises:
        ConfigError: the package onnx is not installed, or a layer is none of those that `networks` has.
    """
    onnx = require_onnx()
    writer = _Writer(onnx)
    writer.write(network)
    floats = onnx.TensorProto.FLOAT
    outputs = [onnx.helper.make_tensor_value_info(VALUES, floats, ["N"])]
    if network.policy is not None:
        outputs.append(onnx.helper.make_tensor_value_info(LOGITS, floats, ["N", network.actions]))
    graph = onnx.helper.make_graph(
        writer.nodes,
        "network",
        [onnx.helper.make_tensor_value_info(OBSERVATIONS, floats, ["N", *network.shape])],
        outputs,
        writer.constants,
    )
    model = onnx.helper.make_model(
        graph,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="athenan_spiel",
        producer_version=athenan_spiel.__version__,
        doc_string="\n".join([description, *(f"{name}: {text}" for name, text in meaning.items())]),
    )
    onnx.helper.set_model_props(model, dict(meaning))
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString()
    return content


class _Writer:
    """Writes the layers of a network; each method that writes one takes the name of its input and gives that of its
    output."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def write(self, network: ValueNetwork) -> None:
        """All of it, to the outputs."""
        layers = list(network.layers)
        tower = len(layers) if network.policy is None else network.tower
        node = self._after(OBSERVATIONS, layers[:tower])
        if network.policy is not None:
            self._node("Identity", self._logits(node, network.policy), name=LOGITS)
        self._node("Identity", self._values(self._after(node, layers[tower:]), network.output), name=VALUES)

    def _node(self, operator: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        name = name or f"{operator}_{len(self.nodes)}"
        self.nodes.append(self._onnx.helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def _constant(self, array: Any) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def _weights(self, weights: torch.Tensor) -> str:
        return self._constant(weights.detach().cpu().numpy().astype(np.float32))

    def _integers(self, numbers: Sequence[int]) -> str:
        return self._constant(np.array(numbers, np.int64))

    def _after(self, node: str, layers: Iterable[nn.Module]) -> str:
        for layer in layers:
            node = self._layer(node, layer)
        return node

    def _layer(self, node: str, layer: nn.Module) -> str:
        if isinstance(layer, nn.Conv2d):
            top, left = (int(side) for side in layer.padding)
            weights = [self._weights(layer.weight)] + ([] if layer.bias is None else [self._weights(layer.bias)])
            return self._node("Conv", node, *weights, pads=[top, left, top, left], kernel_shape=[*layer.kernel_size])
        if isinstance(layer, nn.ReLU):
            return self._node("Relu", node)
        if isinstance(layer, ResidualBlock):
            change = self._layer(self._node("Relu", node), layer.first)
            change = self._layer(self._node("Relu", change), layer.second)
            if layer.excitation is not None:
                change = self._layer(change, layer.excitation)
            return self._node("Relu", self._node("Add", node, change))
        if isinstance(layer, SqueezeExcitation):
            squeezed = self._node("Relu", self._layer(self._means(node), layer.squeeze))
            factors = self._node("Sigmoid", self._layer(squeezed, layer.excite))
            return self._node("Mul", node, self._node("Unsqueeze", factors, self._integers([2, 3])))
        if isinstance(layer, GlobalSumPooling):
            return self._node("ReduceSum", node, self._integers([2, 3]), keepdims=0)
        if isinstance(layer, nn.Flatten):
            return self._node("Flatten", node, axis=1)
        if isinstance(layer, nn.Linear):
            weights = [self._weights(layer.weight)] + ([] if layer.bias is None else [self._weights(layer.bias)])
            return self._node("Gemm", node, *weights, transB=1)
        raise ConfigError(f"ONNX is written of the layers that networks/ names, got {layer!r}")

    def _means(self, node: str) -> str:
        """Of each plane."""
        return self._node("ReduceMean", node, self._integers([2, 3]), keepdims=0)

    def _values(self, node: str, output: Output) -> str:
        node = self._node("Gemm", node, self._weights(output.weight), self._weights(output.bias), transB=1)
        node = self._node("Squeeze", node, self._integers([1]))
        return self._node("Tanh", node) if output.bounded else self._node("Mul", node, self._weights(output.scale))

    def _logits(self, node: str, head: PolicyHead) -> str:
        if isinstance(head, DenseHead):
            if head.pointwise is not None:
                node = self._node("Relu", self._layer(node, head.pointwise))
            return self._layer(self._node("Flatten", node, axis=1) if head.on_boards else node, head.dense)
        cells = self._node("Flatten", self._layer(node, head.planes), axis=1)
        if head.beside is not None:
            cells = self._node("Concat", cells, self._layer(self._means(node), head.beside), axis=1)
        return self._node("Gather", cells, self._integers(head.places.tolist()), axis=1)
