"""Engine on a processor through OpenVINO, in bfloat16 if the processor has matrix units for it.

New weights arrive after each learning phase, so `load` must be cheap. It writes OpenVINO's graph directly from the
network's layers (`openvino_graph`), without a file or an exported model. The next step depends on the source of the
graph's weights:

- Inputs: the graph is compiled for each of `SIZES` when a batch first needs it. The programs are reused while networks
  of the same structure are loaded. A batch is split into parts of these sizes, the last one padded with empty rows.
- Constants: `load` compiles the graph for any number of rows, some 25 ms for a small network in bfloat16. Each new
  number of rows costs about half a millisecond. Large batches are split into equal parts, so that their sizes repeat.

Idle threads stop using the processor about a millisecond after a call.
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
"""Numbers of rows of programs with weights as inputs.

With the usual numbers of filters, boards of 16 rows would lie at distances that conflict in the processor's caches;
these do not.
"""
MAX_PART_ROWS = 256
"""Maximum number of rows per call of a program with constant weights. More rows are no faster per row."""


@functools.cache
def core() -> openvino.Core:
    """Returns the process's only OpenVINO core, which is never destroyed.

    The processor plugin of each core gives its loading thread another stack for signals, and at its end restores the
    earlier one. If two cores end in the order of their creation, that stack no longer exists, and the next Ctrl-C is a
    segmentation fault.
    """
    return openvino.Core()


class OpenVinoEngine:
    """Engine on OpenVINO's processor plugin.

    Args:
        shape: shape of one encoded state.
        precision: arithmetic. `auto` is bfloat16 if OpenVINO selects it and the processor has matrix units for it, else
            float32.
        threads: number of threads.

    Raises:
        ConfigError: bfloat16 is requested on a processor without it.
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
        """Configuration of an equal engine; see `Engine.config`."""
        return EngineConfig(name="openvino", precision=self.precision, threads=self._threads)

    def load(self, network: ValueNetwork) -> None:
        """Rebuilds the network in OpenVINO; see `Engine.load`."""
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
        """Evaluates a batch; see `Engine.infer`."""
        parts = self._parts(batch)
        answers = np.empty((len(batch), *self._row), np.float32)
        for start, end, program in parts:
            call = program.call(batch[start:end])
            answers[start:end] = call.infer()
            program.keep(call)
        return answers

    def start(self, batch: NDArray[np.float32]) -> Pending[Answers]:
        """Starts a batch in OpenVINO's own threads; see `Engine.start`.

        The first batch of a size may wait until its program is compiled.
        """
        started = _Started(batch, self._row, self._parts(batch))
        self._under_way.add(started)
        return started

    def _parts(self, batch: NDArray[np.float32]) -> list[tuple[int, int, _Program]]:
        """Splits a batch into parts (first row, end, program)."""
        if self._graph is None:
            raise no_network(self.name)
        check_rows(self.name, self.shape, batch)
        if self._graph.structure is None:
            return [(start, end, self._program(None)) for start, end in _equal_parts(len(batch))]
        return [(start, end, self._program(rows)) for start, end, rows in _filled_parts(len(batch))]

    def _program(self, rows: int | None) -> _Program:
        """Returns the program for a given number of rows, or for any number."""
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
    """A compiled graph with its idle calls.

    Args:
        compiled: compiled graph.
        rows: number of rows of each batch; None for any number.
        weights: inputs of the graph after the first.
    """

    def __init__(self, compiled: openvino.CompiledModel, rows: int | None, weights: list[NDArray[np.float32]]) -> None:
        self._compiled = compiled
        self._rows = rows
        self._weights = weights
        self._idle: list[_Call] = []

    def take(self, weights: list[NDArray[np.float32]]) -> None:
        """Uses these weights from now on. No call may be in progress."""
        self._weights = weights
        for call in self._idle:
            call.take(weights)

    def call(self, batch: NDArray[np.float32]) -> _Call:
        """Returns a call for this batch. `keep` makes it reusable afterwards."""
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
        """Makes a finished call reusable."""
        self._idle.append(call)


class _Call:
    """An inference request with all memory that OpenVINO reads for it, which OpenVINO's tensors do not keep alive."""

    def __init__(self, request: openvino.InferRequest) -> None:
        self._request = request
        self._weights: list[NDArray[np.float32]] = []
        self._memory = np.empty(0, np.float32)
        self._count = 0
        self._is_under_way = False

    def take(self, weights: list[NDArray[np.float32]]) -> None:
        """Sets the weights."""
        for index, array in enumerate(weights, start=1):
            self._request.set_input_tensor(index, openvino.Tensor(array, shared_memory=True))
        self._weights = weights

    def read(self, batch: NDArray[np.float32]) -> None:
        """Sets the batch without a copy, or as a copy if OpenVINO cannot read its layout."""
        memory = batch if batch.flags.carray else batch.copy()
        self._request.set_input_tensor(0, openvino.Tensor(memory, shared_memory=True))
        self._memory, self._count = memory, len(batch)

    def fill(self, batch: NDArray[np.float32], rows: int) -> None:
        """Copies the batch and pads it to `rows` rows. The padding holds earlier rows or zeros."""
        if len(self._memory) != rows:
            self._memory = np.zeros((rows, *batch.shape[1:]), np.float32)
            self._request.set_input_tensor(0, openvino.Tensor(self._memory, shared_memory=True))
        self._memory[: len(batch)] = batch
        self._count = len(batch)

    def infer(self) -> NDArray[np.float32]:
        """Computes the values, also in this thread, and returns a copy."""
        self._request.infer(share_outputs=True, decode_strings=False)
        return self._values()

    def start(self) -> None:
        """Starts the computation."""
        self._is_under_way = True
        self._request.start_async()

    def wait(self) -> NDArray[np.float32]:
        """Waits for the computation and returns a copy of the values."""
        self._request.wait()
        self._is_under_way = False
        return self._values()

    def _values(self) -> NDArray[np.float32]:
        return np.array(self._request.get_output_tensor().data[: self._count])

    def __del__(self) -> None:
        """Waits for a computation whose result was never requested, since OpenVINO still reads its memory."""
        if self._is_under_way:
            self._request.wait()


class _Started:
    """A batch in progress, in parts (first row, end, program)."""

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
        """Waits for all parts; see `Pending.result`."""
        while self._calls:
            start, end, program, call = self._calls.pop(0)
            self._values[start:end] = call.wait()
            program.keep(call)
        return self._values


def _equal_parts(count: int) -> list[tuple[int, int]]:
    """Splits `count` rows into equal parts of at most MAX_PART_ROWS rows, (first, end) each."""
    parts = -(-count // MAX_PART_ROWS)
    return [(count * part // parts, count * (part + 1) // parts) for part in range(parts)]


def _filled_parts(count: int) -> list[tuple[int, int, int]]:
    """Splits `count` rows into parts of the largest of `SIZES`, with the rest in the smallest that holds it.

    Each part is (first, end, size).
    """
    parts = []
    for start in range(0, count, SIZES[-1]):
        end = min(count, start + SIZES[-1])
        parts.append((start, end, next(size for size in SIZES if size >= end - start)))
    return parts
