"""The network on a processor through OpenVINO, in bfloat16 where the processor has instructions for it.

New weights come after each learning phase, so `load` must be cheap. It writes OpenVINO's graph straight from the
network's layers (`openvino_graph`), without a file or an exported model between. What then happens depends on where the
graph has its weights from:

- As inputs: the graph is compiled for each of `SIZES` when a batch first needs that, and the programs serve as long as
  networks of the same structure are loaded. A batch is cut into parts of these sizes, the last one filled up with
  empty rows.
- As constants: `load` compiles it, some 25 ms for a network that is not large, for any number of rows. Each number that
  is met for the first time costs about half a millisecond, and large batches are cut into equal parts, since then
  their sizes repeat.

Threads wait without using the processor from about a millisecond after a call on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np
import openvino  # type: ignore[import-untyped]
from numpy.typing import NDArray

from athenan_spiel.config import Precision
from athenan_spiel.errors import ConfigError
from athenan_spiel.evaluators.engine import Pending, check_shape, no_network
from athenan_spiel.evaluators.openvino_graph import Graph, graph_of
from athenan_spiel.networks import ValueNetwork

SIZES = (1, 4, 7, 12, 20, 28, 36, 44, 52, 60, 76, 92, 108, 124)
"""Rows that a program with weights as inputs may have. With the usual numbers of filters, boards of 16 rows would lie
such distances apart that they are in each other's way in the processor's caches; these do not."""
LARGEST_PART = 256
"""Rows that a program with constant weights computes together; more are no faster per row."""


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
        self._graph: Graph | None = None
        self._programs: dict[int | None, _Program] = {}
        self._under_way: set[_Started] = set()

    def load(self, network: ValueNetwork) -> None:
        """Rebuild the network in OpenVINO; see `Engine.load`."""
        check_shape(self.name, self.shape, network)
        for started in tuple(self._under_way):  # with the old weights; a round that was broken off never asks for it
            started.result()
        graph = graph_of(network, board_first=self.precision == "float32")
        if self._graph is None or graph.structure is None or graph.structure != self._graph.structure:
            self._programs = {}
        self._graph = graph
        if graph.structure is None:
            self._program(None)
        for program in self._programs.values():
            program.take(graph.weights)

    def infer(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        """Values of a batch; see `Engine.infer`."""
        values = np.empty(len(batch), np.float32)
        for start, end, program in self._parts(len(batch)):
            call = program.call(batch[start:end])
            call.request.infer(share_outputs=True, decode_strings=False)  # this thread computes, too
            values[start:end] = call.values()
        return values

    def start(self, batch: NDArray[np.float32]) -> Pending:
        """Begin to compute in OpenVINO's own threads and return; see `Engine.start`."""
        calls = [(start, end, program.call(batch[start:end])) for start, end, program in self._parts(len(batch))]
        started = _Started(len(batch), calls, self._under_way.discard)
        self._under_way.add(started)
        return started

    def _parts(self, count: int) -> list[tuple[int, int, _Program]]:
        """How a batch of `count` rows is cut: (first, end, program) each."""
        if self._graph is None:
            raise no_network(self.name)
        if self._graph.structure is None:
            return [(start, end, self._program(None)) for start, end in _equal_parts(count)]
        return [(start, end, self._program(rows)) for start, end, rows in _filled_parts(count)]

    def _program(self, rows: int | None) -> _Program:
        """The program for so many rows, or for any number of them."""
        assert self._graph is not None
        if rows not in self._programs:
            model = self._graph.model.clone()
            if rows is not None:
                model.reshape({model.inputs[0]: [rows, *self.shape]})
            compiled = self._core.compile_model(model, "CPU", self._properties)
            self._programs[rows] = _Program(compiled, rows, self._graph.weights)
        return self._programs[rows]

    def _resolve(self, precision: Precision) -> Precision:
        if precision == "auto":
            default = self._core.get_property("CPU", "INFERENCE_PRECISION_HINT")
            return "bfloat16" if default == openvino.Type.bf16 else "float32"
        if precision == "bfloat16" and "BF16" not in self._core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
            raise ConfigError("engine.precision='bfloat16' needs a processor that has it: take 'auto' or 'float32'")
        return precision


class _Program:
    """A compiled graph, and the requests that no batch needs now.

    Args:
        rows: that each batch of it has; none: any number.
        weights: its inputs after the first.
    """

    def __init__(self, compiled: openvino.CompiledModel, rows: int | None, weights: list[NDArray[np.float32]]) -> None:
        self._compiled = compiled
        self._rows = rows
        self._weights = weights
        self._idle: list[_Call] = []

    def take(self, weights: list[NDArray[np.float32]]) -> None:
        """Compute with these weights from now on; no call may be under way."""
        self._weights = weights
        for call in self._idle:
            self._give_weights(call.request)

    def call(self, batch: NDArray[np.float32]) -> _Call:
        """A call with a copy of this batch, to be run."""
        if self._idle:
            call = self._idle.pop()
        else:
            call = _Call(self._compiled.create_infer_request(), self._idle.append)
            self._give_weights(call.request)
        call.give(batch, self._rows or len(batch))
        return call

    def _give_weights(self, request: openvino.InferRequest) -> None:
        for index, array in enumerate(self._weights, start=1):
            request.set_input_tensor(index, openvino.Tensor(array, shared_memory=True))


class _Call:
    """A request, and the memory from which it reads its batch."""

    def __init__(self, request: openvino.InferRequest, leave: Callable[[_Call], None]) -> None:
        self.request = request
        self._leave = leave
        self._memory = np.empty(0, np.float32)
        self._count = 0

    def give(self, batch: NDArray[np.float32], rows: int) -> None:
        """Take a copy of the batch, with what was there before, or zeros, in as many more rows as are needed."""
        self._count = len(batch)
        if len(self._memory) != rows:
            self._memory = np.zeros((rows, *batch.shape[1:]), np.float32)
            self.request.set_input_tensor(0, openvino.Tensor(self._memory, shared_memory=True))
        self._memory[: len(batch)] = batch

    def values(self) -> NDArray[np.float32]:
        """What was computed, a copy; the call is another batch's now."""
        values = np.array(self.request.get_output_tensor().data[: self._count])
        self._leave(self)
        return values


class _Started:
    """A batch under way in calls (first row, end, call)."""

    def __init__(self, count: int, calls: list[tuple[int, int, _Call]], on_finish: Callable[[_Started], None]) -> None:
        self._on_finish = on_finish
        self._calls = calls
        self._values = np.empty(count, np.float32)
        for _, _, call in calls:
            call.request.start_async()

    def result(self) -> NDArray[np.float32]:
        """Wait for all calls; see `Pending.result`."""
        for start, end, call in self._calls:
            call.request.wait()
            self._values[start:end] = call.values()
        self._calls = []
        self._on_finish(self)
        return self._values

    def __del__(self) -> None:
        """Nobody came back for the values; the memory must stay until OpenVINO has read it all the same."""
        for _, _, call in self._calls:
            call.request.wait()


def _equal_parts(count: int) -> list[tuple[int, int]]:
    """Equal parts of at most LARGEST_PART rows, (first, end) each."""
    parts = -(-count // LARGEST_PART)
    return [(count * part // parts, count * (part + 1) // parts) for part in range(parts)]


def _filled_parts(count: int) -> list[tuple[int, int, int]]:
    """Parts of the largest of `SIZES`, and the rest in the smallest that holds it: (first, end, size) each."""
    parts = []
    for start in range(0, count, SIZES[-1]):
        end = min(count, start + SIZES[-1])
        parts.append((start, end, next(size for size in SIZES if size >= end - start)))
    return parts
