"""Every engine keeps the numbered promises of `evaluators/engine.py`."""

from __future__ import annotations

import hashlib
import itertools
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import openvino
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from athenan_spiel.config import EngineConfig, NetworkConfig, NetworkName, Precision
from athenan_spiel.errors import ConfigError, EvaluatorError
from athenan_spiel.evaluators import Engine, make_engine, openvino_engine, openvino_graph
from athenan_spiel.evaluators.cuda_engine import CudaEngine
from athenan_spiel.evaluators.openvino_engine import LARGEST_PART, SIZES, OpenVinoEngine
from athenan_spiel.evaluators.openvino_graph import graph_of
from athenan_spiel.evaluators.torch_engine import TorchEngine
from athenan_spiel.networks import SqueezeExcitation, ValueNetwork, make_network

HEX_11 = (10, 11, 11)
CONNECT_FOUR = (4, 6, 7)
FLAT = (40,)

needs_bfloat16 = pytest.mark.skipif(
    "BF16" not in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"),
    reason="needs a processor with bfloat16, and OpenVINO finds none",
)
ENGINES: dict[str, Callable[[tuple[int, ...]], Engine]] = {
    "openvino bfloat16": lambda shape: OpenVinoEngine(shape, "bfloat16", threads=2),
    "openvino float32": lambda shape: OpenVinoEngine(shape, "float32", threads=2),
    "torch bfloat16": lambda shape: TorchEngine(shape, "bfloat16"),
    "torch float32": lambda shape: TorchEngine(shape),
    "cpu float32": lambda shape: CudaEngine(shape, device="cpu"),
    "cpu bfloat16": lambda shape: CudaEngine(shape, "bfloat16", device="cpu"),
    "cuda bfloat16": lambda shape: CudaEngine(shape, "bfloat16"),
    "cuda float32": lambda shape: CudaEngine(shape, "float32"),
}
MARKS = {
    "openvino bfloat16": [needs_bfloat16],
    "cuda bfloat16": [pytest.mark.cuda],
    "cuda float32": [pytest.mark.cuda],
}
every_engine = pytest.mark.parametrize("kind", [pytest.param(kind, marks=MARKS.get(kind, [])) for kind in ENGINES])


def network(
    shape: tuple[int, ...] = CONNECT_FOUR,
    architecture: NetworkName = "auto",
    *,
    scale: float | None = None,
    seed: int = 0,
    layers: int | None = None,
    squeeze_excitation: int | None = None,
) -> ValueNetwork:
    """Bounded if no scale is given."""
    config = NetworkConfig(
        architecture=architecture, filters=32, layers=layers, neurons=50, squeeze_excitation=squeeze_excitation
    )
    return make_network(shape, config, bounded=scale is None, scale=scale or 1.0, seed=seed)


def a_match_of_boards(shape: tuple[int, ...], rows: int) -> NDArray[np.float32]:
    """Boards from empty to full, as in a match."""
    filled = np.linspace(0.0, 1.0, rows).reshape(-1, 1, 1, 1)
    return (np.random.default_rng(0).random((rows, *shape)) < filled).astype(np.float32)


def some_batch(shape: tuple[int, ...], rows: int, seed: int = 0) -> NDArray[np.float32]:
    """Distinct rows of zeros and ones."""
    made = (np.random.default_rng(seed).random((rows, *shape)) < 0.3).astype(np.float32)
    assert len(np.unique(made, axis=0)) == rows
    return made


def reference(of: ValueNetwork, batch: NDArray[np.float32]) -> NDArray[np.float32]:
    with torch.inference_mode():
        values: NDArray[np.float32] = of(torch.from_numpy(batch)).numpy()
    return values


def loaded(kind: str, of: ValueNetwork) -> Engine:
    engine = ENGINES[kind](of.shape)
    engine.load(of)
    return engine


def assert_close(kind: str, values: NDArray[np.float32], expected: NDArray[np.float32]) -> None:
    """The error is small against the spread of the values, which is what a search compares."""
    tolerance = 0.02 if "bfloat16" in kind else 1e-4
    assert values.dtype == np.float32
    assert values.shape == expected.shape
    assert np.sqrt(np.mean((values - expected) ** 2)) < tolerance * expected.std()


@every_engine
@pytest.mark.parametrize(
    ("shape", "architecture"),
    [
        (HEX_11, "c"),
        (CONNECT_FOUR, "auto"),
        (CONNECT_FOUR, "r1"),
        (CONNECT_FOUR, "r2"),
        (FLAT, "mlp"),
        (CONNECT_FOUR, "mlp"),
    ],
    ids=str,
)
@pytest.mark.parametrize("scale", [None, 121.0], ids=["tanh", "linear"])
def test_values_are_the_networks(
    kind: str, shape: tuple[int, ...], architecture: NetworkName, scale: float | None
) -> None:
    made = network(shape, architecture, scale=scale)
    batch = some_batch(shape, 200)
    values = loaded(kind, made).infer(batch)
    assert_close(kind, values, reference(made, batch))
    assert len(np.unique(values)) == len(batch)  # promise 4


@every_engine
@pytest.mark.parametrize(
    ("architecture", "ratio"), [("r3", None), ("r3", 4), ("r1", 8), ("r2", 16)], ids=lambda value: str(value)
)
def test_values_are_the_networks_with_pooling_and_with_squeeze_and_excitation(
    kind: str, architecture: NetworkName, ratio: int | None
) -> None:
    made = network(HEX_11, architecture, squeeze_excitation=ratio)
    with torch.no_grad():  # factors that differ much from 1/2, and from plane to plane and state to state
        for layer in made.modules():
            if isinstance(layer, SqueezeExcitation):
                layer.squeeze.weight *= 3.0
                layer.excite.weight *= 3.0
    batch = a_match_of_boards(HEX_11, 200)
    assert_close(kind, loaded(kind, made).infer(batch), reference(made, batch))


@every_engine
@pytest.mark.parametrize("ratio", [None, 16])
def test_equally_full_boards_are_told_apart_after_a_global_sum(kind: str, ratio: int | None) -> None:
    """Their sums are large and alike. By how much rounded weights move all values together is left out."""
    made = network(HEX_11, "r3", squeeze_excitation=ratio)
    batch = some_batch(HEX_11, 200)
    expected = reference(made, batch)
    values = loaded(kind, made).infer(batch)
    assert_close(kind, values - values.mean(), expected - expected.mean())


@every_engine
def test_the_name_says_what_computes_and_how(kind: str) -> None:
    assert ENGINES[kind](FLAT).name == kind


@every_engine
def test_later_changes_of_the_network_need_a_new_load(kind: str) -> None:
    made = network()
    batch = some_batch(made.shape, 20)
    engine = loaded(kind, made)
    before = engine.infer(batch)
    with torch.no_grad():
        made.output.weight *= 2.0
    np.testing.assert_array_equal(engine.infer(batch), before)
    engine.load(made)
    assert_close(kind, engine.infer(batch), reference(made, batch))


@every_engine
def test_each_load_counts(kind: str) -> None:
    batch = some_batch(CONNECT_FOUR, 20)
    engine = ENGINES[kind](CONNECT_FOUR)
    for seed in range(8):
        made = network(seed=seed)
        engine.load(made)
        assert_close(kind, engine.infer(batch), reference(made, batch))


@pytest.mark.parametrize("board", [(6, 7), (8, 8), (13, 13), (10, 5), (5, 10)], ids=str)
@pytest.mark.parametrize("architecture", ["auto", "r1", "r2", "r3"])
@pytest.mark.parametrize("most_inputs", [openvino_graph.MOST_INPUTS, 0])
def test_openvino_knows_boards_of_every_size_with_weights_as_inputs_or_not(
    monkeypatch: pytest.MonkeyPatch, architecture: NetworkName, board: tuple[int, int], most_inputs: int
) -> None:
    monkeypatch.setattr(openvino_graph, "MOST_INPUTS", most_inputs)
    residual = architecture != "auto"
    made = network(
        (4, *board), architecture, layers=1 if residual else None, squeeze_excitation=4 if residual else None
    )
    batch = a_match_of_boards((4, *board), 60)
    assert_close("float32", loaded("openvino float32", made).infer(batch), reference(made, batch))


def test_openvino_compiles_once_for_networks_that_differ_in_weights_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = loaded("openvino float32", network(seed=1))
    batch = some_batch(CONNECT_FOUR, 30)
    engine.infer(batch)
    monkeypatch.setattr(engine, "_core", None)  # which compiles
    made = network(seed=2)
    engine.load(made)
    assert_close("float32", engine.infer(batch), reference(made, batch))


@pytest.mark.parametrize("other", [network(scale=5.0), network(architecture="r1")], ids=["linear", "r1"])
def test_openvino_compiles_again_for_networks_of_another_structure(other: ValueNetwork) -> None:
    engine = loaded("openvino float32", network())
    batch = some_batch(CONNECT_FOUR, 30)
    engine.infer(batch)
    engine.load(other)
    assert_close("float32", engine.infer(batch), reference(other, batch))


@every_engine
def test_the_same_batch_has_the_same_bits(kind: str) -> None:
    batch = some_batch(CONNECT_FOUR, 100)
    engine = loaded(kind, network())
    first = engine.infer(batch)
    engine.infer(some_batch(CONNECT_FOUR, 33, seed=1))
    np.testing.assert_array_equal(engine.infer(batch), first)
    np.testing.assert_array_equal(loaded(kind, network()).infer(batch), first)


@every_engine
@pytest.mark.parametrize("rows", [1, 2, 7, 64, LARGEST_PART, LARGEST_PART + 1, 3 * LARGEST_PART - 1])
def test_batches_may_have_any_size(kind: str, rows: int) -> None:
    made = network(FLAT)
    batch = some_batch(FLAT, rows)
    values = loaded(kind, made).infer(batch)
    np.testing.assert_allclose(values, reference(made, batch), atol=1e-5 if "float32" in kind else 5e-3)


@pytest.mark.parametrize("rows", [1, 2, SIZES[3], SIZES[-1] - 1, SIZES[-1], SIZES[-1] + 1, 2 * SIZES[-1] + SIZES[2]])
def test_rows_that_openvino_fills_up_change_no_values(rows: int) -> None:
    made = network()
    engine = loaded("openvino float32", made)
    engine.infer(some_batch(CONNECT_FOUR, 300, seed=1))  # rows of which stay in the memory that is filled up
    batch = some_batch(CONNECT_FOUR, rows)
    np.testing.assert_allclose(engine.infer(batch), reference(made, batch), atol=1e-5)


@every_engine
@pytest.mark.parametrize("shape", [CONNECT_FOUR, FLAT], ids=str)
def test_no_rows_have_no_values(kind: str, shape: tuple[int, ...]) -> None:
    assert loaded(kind, network(shape)).infer(np.empty((0, *shape), np.float32)).shape == (0,)


@every_engine
def test_values_stay_when_the_next_batch_is_computed(kind: str) -> None:
    engine = loaded(kind, network())
    first = engine.infer(some_batch(CONNECT_FOUR, 10))
    before = first.copy()
    engine.infer(some_batch(CONNECT_FOUR, 10, seed=1))
    np.testing.assert_array_equal(first, before)


@every_engine
@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
def test_rows_need_not_be_contiguous_or_writable(kind: str) -> None:
    engine = loaded(kind, network())
    batch = some_batch(CONNECT_FOUR, 20)
    expected = engine.infer(batch[:10].copy())
    batch.flags.writeable = False
    np.testing.assert_array_equal(engine.infer(batch[:10]), expected)
    spread = np.repeat(batch[:10], 2, axis=0)[::2]
    assert not spread.flags.c_contiguous
    np.testing.assert_array_equal(engine.infer(spread), expected)


@every_engine
def test_a_network_is_needed_before_the_first_batch(kind: str) -> None:
    with pytest.raises(EvaluatorError, match=rf"{kind}: expected a network before the first batch, got none"):
        ENGINES[kind](FLAT).infer(some_batch(FLAT, 1))
    with pytest.raises(EvaluatorError, match="call load"):
        ENGINES[kind](FLAT).start(some_batch(FLAT, 1)).result()


@every_engine
def test_a_network_for_another_game_is_refused(kind: str) -> None:
    with pytest.raises(ConfigError, match=r"expected a network for \(40,\), got one for \(4, 6, 7\)"):
        ENGINES[kind](FLAT).load(network(CONNECT_FOUR))


@pytest.mark.parametrize("precision", ["auto", "float32"])
def test_openvino_values_have_the_same_bits_in_another_process(precision: Precision) -> None:
    program = f"""
        import hashlib, numpy as np
        from athenan_spiel.config import EngineConfig, NetworkConfig
        from athenan_spiel.evaluators import make_engine
        from athenan_spiel.networks import make_network
        engine = make_engine(EngineConfig(name="openvino", precision="{precision}", threads=2), {CONNECT_FOUR})
        engine.load(make_network({CONNECT_FOUR}, NetworkConfig(filters=32, neurons=50), bounded=True, seed=0))
        batch = (np.random.default_rng(0).random((300, *{CONNECT_FOUR})) < 0.3).astype(np.float32)
        print(hashlib.sha256(engine.infer(batch).tobytes()).hexdigest())
    """
    engine = make_engine(EngineConfig(name="openvino", precision=precision, threads=2), CONNECT_FOUR)
    engine.load(network())
    here = hashlib.sha256(engine.infer(some_batch(CONNECT_FOUR, 300)).tobytes()).hexdigest()
    there = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    assert there.stdout.strip() == here


def test_python_goes_on_while_openvino_computes_what_was_started() -> None:
    """Starting takes a small part of the time that the values take, and waiting lets other threads run."""
    engine = OpenVinoEngine(HEX_11, "float32", threads=1)
    engine.load(network(HEX_11, "r2"))
    batch = some_batch(HEX_11, 200)
    engine.infer(batch)
    begin = time.perf_counter()
    pending = engine.start(batch)
    started = time.perf_counter() - begin
    values = pending.result()
    assert started < (time.perf_counter() - begin) / 2
    np.testing.assert_array_equal(values, engine.infer(batch))


@every_engine
def test_started_batches_are_answered_in_any_order(kind: str) -> None:
    engine = loaded(kind, network())
    batches = [some_batch(CONNECT_FOUR, rows, seed=rows) for rows in (1, 300, 7, 30)]
    pending = [engine.start(batch) for batch in batches]
    for batch, later in reversed(list(zip(batches, pending, strict=True))):
        np.testing.assert_array_equal(later.result(), engine.infer(batch))
    assert engine.start(batches[0][:0]).result().shape == (0,)


def test_openvino_values_what_was_started_with_the_weights_of_its_time() -> None:
    """Also where nobody comes back for the values, as after a round that was broken off."""
    engine = loaded("openvino float32", network(seed=1))
    batch = some_batch(CONNECT_FOUR, 300)
    before = engine.infer(batch)
    forgotten, kept = engine.start(batch), engine.start(batch)
    del forgotten
    engine.load(network(seed=2))
    np.testing.assert_array_equal(kept.result(), before)
    np.testing.assert_array_equal(kept.result(), before)
    after = engine.infer(batch)
    assert not np.array_equal(after, before)
    np.testing.assert_array_equal(engine.start(batch).result(), after)


def in_another_process(program: str) -> str:
    """What a program prints; it has a network `made`, whose batches take a while, a batch of it, and an engine."""
    begin = f"""
        import gc, numpy as np
        from athenan_spiel.config import NetworkConfig
        from athenan_spiel.evaluators import openvino_engine, openvino_graph
        from athenan_spiel.evaluators.openvino_engine import OpenVinoEngine
        from athenan_spiel.networks import make_network
        made = make_network({HEX_11}, NetworkConfig(architecture="r1"), bounded=True, seed=0)
        batch = (np.random.default_rng(0).random((124, *{HEX_11})) < 0.3).astype(np.float32)
        engine = OpenVinoEngine({HEX_11}, "float32", threads=1)
        gc.disable()
    """
    text = textwrap.dedent(begin) + textwrap.dedent(program)
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("most_inputs", [1 << 30, 0])
def test_what_was_started_outlives_its_engine(most_inputs: int) -> None:
    """OpenVINO reads memory that Python frees, unless somebody holds it: the end would be a segmentation fault."""
    program = f"""
        openvino_graph.MOST_INPUTS = {most_inputs}
        engine.load(made)
        expected = engine.infer(batch)
        pending = engine.start(batch)
        del engine
        print((pending.result() == expected).all())
        engine = OpenVinoEngine({HEX_11}, "float32", threads=1)
        engine.load(made)
        pending = engine.start(batch)
        del pending, engine, batch
        print("well")
    """
    assert in_another_process(program).split() == ["True", "well"]


def test_a_broken_wait_leaves_the_engine_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with Ctrl-C while the second of three parts is waited for."""
    made = network()
    engine = loaded("openvino float32", made)
    batch = some_batch(CONNECT_FOUR, 3 * SIZES[-1])
    pending = engine.start(batch)
    wait, calls = openvino_engine._Call.wait, itertools.count()

    def broken(call: openvino_engine._Call) -> NDArray[np.float32]:
        if next(calls) == 1:
            raise KeyboardInterrupt
        return wait(call)

    monkeypatch.setattr(openvino_engine._Call, "wait", broken)
    with pytest.raises(KeyboardInterrupt):
        pending.result()
    engine.load(made)
    later = [engine.start(batch) for _ in range(3)]
    for one in later:
        np.testing.assert_allclose(one.result(), reference(made, batch), atol=1e-5)
    assert np.isnan(pending.result()).sum() == SIZES[-1]


@every_engine
def test_rows_of_another_shape_are_refused(kind: str) -> None:
    engine = loaded(kind, network())
    engine.infer(some_batch(CONNECT_FOUR, 20))
    for shape in [(20, 4, 1, 7), (4, 6, 7), (7,)]:
        with pytest.raises(EvaluatorError, match=rf"{kind}: expected rows of shape \(4, 6, 7\), got"):
            engine.infer(np.zeros(shape, np.float32))


class OtherLayer(nn.Module):
    """What no engine knows."""


def test_a_layer_that_openvinos_graph_lacks_is_refused() -> None:
    made = network()
    made.layers.append(OtherLayer())
    with pytest.raises(ConfigError, match=r"knows the layers that networks/ names, got OtherLayer\(\)"):
        graph_of(made, board_first=False)


def test_a_kernel_that_openvinos_graph_lacks_is_refused() -> None:
    made = network()
    made.layers[0] = nn.Conv2d(4, 32, 5, padding=2)
    with pytest.raises(ConfigError, match=r"knows the layers that networks/ names, got Conv2d\(4, 32"):
        graph_of(made, board_first=True)


# --- the choice of an engine ---


def test_auto_is_openvino_without_a_cuda_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert isinstance(make_engine(EngineConfig(), FLAT), OpenVinoEngine)


@pytest.mark.cuda
@pytest.mark.parametrize("name", ["auto", "cuda"])
def test_auto_is_cuda_with_a_device(name: Any) -> None:
    assert isinstance(make_engine(EngineConfig(name=name), FLAT), CudaEngine)


def test_torch_is_there_for_the_asking() -> None:
    threads = torch.get_num_threads()
    try:
        engine = make_engine(EngineConfig(name="torch", precision="bfloat16", threads=1), FLAT)
        assert engine.name == "torch bfloat16"
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(threads)


def test_openvinos_precision_is_as_asked() -> None:
    engine = make_engine(EngineConfig(name="openvino", precision="float32"), FLAT)
    assert engine.name == "openvino float32"


def test_a_missing_cuda_device_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match=r"engine.name='cuda' needs a CUDA device, and torch finds none: take 'auto'"):
        make_engine(EngineConfig(name="cuda"), FLAT)


def test_a_missing_package_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.delitem(sys.modules, "athenan_spiel.evaluators.openvino_engine")
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(ConfigError, match=r"engine.name='auto' needs the package openvino, got .*: install it or take"):
        make_engine(EngineConfig(), FLAT)


class PlainProcessor:
    """An `openvino.Core` on a processor without bfloat16."""

    def get_property(self, device: str, name: str) -> Any:
        return {"INFERENCE_PRECISION_HINT": openvino.Type.f32, "OPTIMIZATION_CAPABILITIES": ["FP32", "INT8"]}[name]


def test_a_processor_without_bfloat16_computes_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athenan_spiel.evaluators.openvino_engine.core", PlainProcessor)
    assert make_engine(EngineConfig(name="openvino"), FLAT).name == "openvino float32"
    with pytest.raises(ConfigError, match=r"engine.precision='bfloat16' needs a processor that has it"):
        make_engine(EngineConfig(name="openvino", precision="bfloat16"), FLAT)


def test_ctrl_c_is_no_crash_when_engines_have_gone() -> None:
    program = textwrap.dedent(
        """
        import os, signal
        from athenan_spiel.config import EngineConfig, NetworkConfig
        from athenan_spiel.evaluators import make_engine
        from athenan_spiel.networks import make_network

        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
        network = make_network((8,), NetworkConfig(), bounded=True, scale=1.0, seed=0)
        engines = [make_engine(EngineConfig(name="openvino"), (8,)) for _ in range(2)]
        for engine in engines:
            engine.load(network)
        engine = None
        while engines:
            engines.pop(0)  # in the order of their making
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            print("interrupted")
        """
    )
    finished = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert (finished.returncode, finished.stdout) == (0, "interrupted\n"), finished.stderr


def test_openvino_is_not_imported_before_an_engine_wants_it() -> None:
    program = "import sys, athenan_spiel.evaluators; sys.exit('openvino' in sys.modules or 'torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
