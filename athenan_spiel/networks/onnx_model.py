"""Conversion of a network to an ONNX model, for programs and languages without this library.

The model is traced from the network's forward pass in float32, with plain convolutions. The packages onnx and
onnxscript (the extra `onnx`) are imported on conversion.

The input is `observations`, float32 [N, *shape]. The outputs are `values`, float32 [N], and for a network with a policy
`logits`, float32 [N, A]. N is dynamic.
"""

from __future__ import annotations

import importlib
import logging
import warnings
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

import athenan_spiel
from athenan_spiel.errors import ConfigError
from athenan_spiel.networks.architectures import ValueNetwork

OPSET = 18
"""Version of the ONNX operator set: that of 2022, which current runtimes support."""
OBSERVATIONS, VALUES, LOGITS = "observations", "values", "logits"
_SAMPLE_ROWS = 2
"""Batch size of the traced input. Tracing would treat 1 as a constant."""


class _Outputs(nn.Module):
    """Network that returns values and logits as separate outputs."""

    def __init__(self, network: ValueNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, ...]:
        answers = self.network(observations)
        count = self.network.values
        if self.network.policy is None:
            return (answers,)
        return answers[:, 0] if count == 1 else answers[:, :count], answers[:, count:]


def require_onnx() -> Any:
    """Returns the package onnx.

    Raises:
        ConfigError: it or onnxscript, which torch exports with, isn't installed.
    """
    try:
        importlib.import_module("onnxscript")
        return importlib.import_module("onnx")
    except ImportError as error:
        raise ConfigError(
            f"ONNX needs the packages onnx and onnxscript, got {str(error)!r}: pip install 'athenan-spiel[onnx]'"
        ) from None


def onnx_bytes(network: ValueNetwork, description: str, meaning: Mapping[str, str]) -> bytes:
    """Returns the content of an `.onnx` file that computes what `network` does.

    Args:
        description: description of the model.
        meaning: metadata by name: the meaning of the input and the outputs, and other facts.

    Raises:
        ConfigError: the packages onnx and onnxscript aren't installed.
    """
    onnx = require_onnx()
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it warns that torchvision is missing
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            _Outputs(network).eval(),
            (torch.zeros(_SAMPLE_ROWS, *network.shape),),
            dynamo=True,
            verbose=False,
            opset_version=OPSET,
            input_names=[OBSERVATIONS],
            output_names=[VALUES] if network.policy is None else [VALUES, LOGITS],
            dynamic_shapes=({0: torch.export.Dim("N")},),
        )
    assert program is not None
    model: Any = program.model_proto
    for part in (model, model.graph, *model.graph.node, *model.graph.value_info):
        part.ClearField("metadata_props")  # file paths and line numbers of this machine
    model.producer_name, model.producer_version = "athenan_spiel", athenan_spiel.__version__
    model.doc_string = "\n".join([description, *(f"{name}: {text}" for name, text in meaning.items())])
    onnx.helper.set_model_props(model, dict(meaning))
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString()
    return content
