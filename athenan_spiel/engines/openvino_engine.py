"""The network on a processor through OpenVINO, in bfloat16 where the processor has matrix units for it.

New weights come after each learning phase, so `load` must be cheap. It writes OpenVINO's graph straight from the
network's layers (`openvino_graph`), without a file or an exported model between. What then happens depends on where the
graph has its weights from:

- As inputs: the graph is compiled for each of `SIZES` when a batch first needs that, and the programs serve as long as
  networks of the same structure are loaded. A batch is cut into parts of these sizes, the last one filled up with
  empty rows.
- As constants: `load` compiles it for any number of rows, some 25 ms for a small network in bfloat16. Each number that
  is met for the first time costs about half a millisecond, and large batches are cut into equal parts, since then
  their sizes repeat.

Threads wait without using the processor from about a millisecond after a call on.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.config import EngineConfig, Precision
from athenan_spiel.engines.base import Answers, Pending, answer_row, check_rows, check_shape, no_network
from athenan_spiel.engines.openvino_graph import Graph, graph_of
from athenan_spiel.engines.silent_openvino import openvino
from athenan_spiel.engines.threads import has_matrix_units, torch_threads
from athenan_spiel.errors import ConfigError
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
        precision: `auto` is bfloat16 where OpenVINO would take it and the processor has matrix units for it, else
            float32.
        threads: how many compute.

    Raises:
        ConfigError: bfloat16 is asked for on a processor without it.
    """

    def __init__(self, shape: Sequence[int], precision: Precision, threads: int) -> None:
        self.shape = tuple(shape)
        self._core = core()
        self.precision = self._resolve(precision)
        self.name = f"openvino {self.precision}"
        self._threads = threads
        self._properties = {
            "INFERENCE_PRECISION_HINT": "bf16" if self.precision == "bfloat16" else "f32",
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            "ENABLE_CPU_PINNING": False,  # the search and the learner want the same cores
        }
        self._graph: Graph | None = None
        self._row: tuple[int, ...] = ()
        self._programs: dict[int | None, _Program] = {}
        self._under_way: weakref.WeakSet[_Started] = weakref.WeakSet()

    @property
    def config(self) -> EngineConfig:
        """As `Engine.config`."""
        return EngineConfig(name="openvino", precision=self.precision, threads=self._threads)

    def load(self, network: ValueNetwork) -> None:
        """Rebuild the network in OpenVINO; see `Engine.load`."""
        check_shape(self.name, self.shape, network)
        for started in list(self._under_way):  # with the old weights
            started.result()
        with torch_threads(self._threads):
            graph = graph_of(network, board_first=self.precision == "float32")
        if self._graph is None or graph.structure is None or graph.structure != self._graph.structure:
            self._programs = {}
        self._graph = graph
        self._row = answer_row(network)
        if graph.structure is None:
            self._program(None)
        for program in self._programs.values():
            program.take(graph.weights)

    def infer(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        """Values of a batch; see `Engine.infer`."""
        parts = self._parts(batch)
        answers = np.empty((len(batch), *self._row), np.float32)
        for start, end, program in parts:
            call = program.call(batch[start:end])
            answers[start:end] = call.infer()
            program.keep(call)
        return answers

    def start(self, batch: NDArray[np.float32]) -> Pending[Answers]:
        """Begin to compute in OpenVINO's own threads and return; see `Engine.start`.

        The first batch of a size may have to wait until its program is compiled.
        """
        started = _Started(batch, self._row, self._parts(batch))
        self._under_way.add(started)
        return started

    def _parts(self, batch: NDArray[np.float32]) -> list[tuple[int, int, _Program]]:
        """How a batch is cut: (first row, end, program) each."""
        if self._graph is None:
            raise no_network(self.name)
        check_rows(self.name, self.shape, batch)
        if self._graph.structure is None:
            return [(start, end, self._program(None)) for start, end in _equal_parts(len(batch))]
        return [(start, end, self._program(rows)) for start, end, rows in _filled_parts(len(batch))]

    def _program(self, rows: int | None) -> _Program:
        """The program for a given number of rows, or for any number."""
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
            return "bfloat16" if default == openvino.Type.bf16 and has_matrix_units() else "float32"
        if precision == "bfloat16" and "BF16" not in self._core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
            raise ConfigError.at(
                "engine.precision", "='bfloat16' needs a processor that has it: take 'auto' or 'float32'"
            )
        return precision


class _Program:
    """A compiled graph, and the calls of it that no batch needs now.

    Args:
        compiled: the graph.
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
            call.take(weights)

    def call(self, batch: NDArray[np.float32]) -> _Call:
        """A call for this batch, to be run; `keep` takes it back."""
        if self._idle:
            call = self._idle.pop()
        else:
            call = _Call(self._compiled.create_infer_request())
            call.take(self._weights)
        if self._rows is None:
            call.read(batch)
        else:
            call.fill(batch, self._rows)
        return call

    def keep(self, call: _Call) -> None:
        """Keep a call, of which the values were taken, for another batch."""
        self._idle.append(call)


class _Call:
    """A request, and all memory that OpenVINO reads for it: a tensor of OpenVINO's does not hold it by itself."""

    def __init__(self, request: openvino.InferRequest) -> None:
        self._request = request
        self._weights: list[NDArray[np.float32]] = []
        self._memory = np.empty(0, np.float32)
        self._count = 0
        self._is_under_way = False

    def take(self, weights: list[NDArray[np.float32]]) -> None:
        """Compute with these weights."""
        for index, array in enumerate(weights, start=1):
            self._request.set_input_tensor(index, openvino.Tensor(array, shared_memory=True))
        self._weights = weights

    def read(self, batch: NDArray[np.float32]) -> None:
        """Take the batch from where it is, or a copy where OpenVINO cannot read that."""
        memory = batch if batch.flags.carray else batch.copy()
        self._request.set_input_tensor(0, openvino.Tensor(memory, shared_memory=True))
        self._memory, self._count = memory, len(batch)

    def fill(self, batch: NDArray[np.float32], rows: int) -> None:
        """Take a copy of the batch and, in as many more rows as are needed, what was there before, or zeros."""
        if len(self._memory) != rows:
            self._memory = np.zeros((rows, *batch.shape[1:]), np.float32)
            self._request.set_input_tensor(0, openvino.Tensor(self._memory, shared_memory=True))
        self._memory[: len(batch)] = batch
        self._count = len(batch)

    def infer(self) -> NDArray[np.float32]:
        """Compute, in this thread, too; the values are a copy."""
        self._request.infer(share_outputs=True, decode_strings=False)
        return self._values()

    def start(self) -> None:
        """Begin to compute."""
        self._is_under_way = True
        self._request.start_async()

    def wait(self) -> NDArray[np.float32]:
        """Wait for the values of what was started; they are a copy."""
        self._request.wait()
        self._is_under_way = False
        return self._values()

    def _values(self) -> NDArray[np.float32]:
        return np.array(self._request.get_output_tensor().data[: self._count])

    def __del__(self) -> None:
        """Nobody came back for the values; the memory must stay until OpenVINO has read it all the same."""
        if self._is_under_way:
            self._request.wait()


class _Started:
    """A batch under way, in parts (first row, end, program)."""

    def __init__(
        self, batch: NDArray[np.float32], row: tuple[int, ...], parts: Sequence[tuple[int, int, _Program]]
    ) -> None:
        self._values = np.full((len(batch), *row), np.nan, np.float32)
        self._calls: list[tuple[int, int, _Program, _Call]] = []
        for start, end, program in parts:
            call = program.call(batch[start:end])
            call.start()
            self._calls.append((start, end, program, call))

    def result(self) -> NDArray[np.float32]:
        """Wait for all parts; see `Pending.result`."""
        while self._calls:
            start, end, program, call = self._calls.pop(0)
            self._values[start:end] = call.wait()
            program.keep(call)
        return self._values


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
