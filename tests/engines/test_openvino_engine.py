"""OpenVINO's engine: sizes of batches, when it compiles, what is under way, and the layers it knows."""

from __future__ import annotations

import hashlib
import itertools
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import openvino
import pytest
from every_engine import (
    CONNECT_FOUR,
    FLAT,
    HEX_11,
    a_match_of_boards,
    assert_close,
    loaded,
    needs_bfloat16,
    network,
    reference,
    some_batch,
)
from numpy.typing import NDArray
from torch import nn

from athenan_spiel.config import EngineConfig, NetworkName, Precision
from athenan_spiel.engines import make_engine, openvino_engine, openvino_graph
from athenan_spiel.engines.openvino_engine import SIZES, OpenVinoEngine, _Call
from athenan_spiel.engines.openvino_graph import graph_of
from athenan_spiel.errors import ConfigError
from athenan_spiel.networks import ValueNetwork


@pytest.mark.parametrize("most_inputs", [openvino_graph.MAX_INPUT_WEIGHTS, 0])
def test_denormal_weights_are_zero_in_the_graph(monkeypatch: pytest.MonkeyPatch, most_inputs: int) -> None:
    monkeypatch.setattr(openvino_graph, "MAX_INPUT_WEIGHTS", most_inputs)
    made, batch = network(CONNECT_FOUR), a_match_of_boards(CONNECT_FOUR, 20)
    engines = []
    for value in (0.0, 1e-40):
        for name, weights in made.state_dict().items():
            if name.endswith("weight"):
                weights.view(-1)[:5] = value
        engines.append(loaded("openvino float32", made))
        assert all(not ((w > 0) & (w < 1e-38)).any() for w in map(np.abs, graph_of(made, board_first=True).weights))
    assert engines[0].infer(batch).tobytes() == engines[1].infer(batch).tobytes()


@pytest.mark.parametrize("board", [(6, 7), (8, 8), (13, 13), (10, 5), (5, 10)], ids=str)
@pytest.mark.parametrize("architecture", ["auto", "r1", "r2", "r3"])
@pytest.mark.parametrize("most_inputs", [openvino_graph.MAX_INPUT_WEIGHTS, 0])
def test_openvino_knows_boards_of_every_size_with_weights_as_inputs_or_not(
    monkeypatch: pytest.MonkeyPatch, architecture: NetworkName, board: tuple[int, int], most_inputs: int
) -> None:
    monkeypatch.setattr(openvino_graph, "MAX_INPUT_WEIGHTS", most_inputs)
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


@pytest.mark.parametrize("rows", [1, 2, SIZES[3], SIZES[-1] - 1, SIZES[-1], SIZES[-1] + 1, 2 * SIZES[-1] + SIZES[2]])
def test_rows_that_openvino_fills_up_change_no_values(rows: int) -> None:
    made = network()
    engine = loaded("openvino float32", made)
    engine.infer(some_batch(CONNECT_FOUR, 300, seed=1))  # rows of which stay in the memory that is filled up
    batch = some_batch(CONNECT_FOUR, rows)
    np.testing.assert_allclose(engine.infer(batch), reference(made, batch), atol=1e-5)


@pytest.mark.parametrize("precision", [pytest.param("bfloat16", marks=needs_bfloat16), "float32"])
def test_openvino_values_have_the_same_bits_in_another_process(precision: Precision) -> None:
    program = f"""
        import hashlib, numpy as np
        from athenan_spiel.config import EngineConfig, NetworkConfig
        from athenan_spiel.engines import make_engine
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


def test_python_goes_on_while_openvino_computes_what_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting a batch waits for nothing; that is left to whoever asks for the values."""
    engine = OpenVinoEngine(HEX_11, "float32", threads=1)
    engine.load(network(HEX_11, "r2"))
    batch = some_batch(HEX_11, 200)
    engine.infer(batch)
    done: list[str] = []
    for deed in ("start", "wait", "infer"):
        original = getattr(_Call, deed)
        monkeypatch.setattr(_Call, deed, lambda call, d=deed, f=original: (done.append(d), f(call))[1])
    pending = engine.start(batch)
    assert set(done) == {"start"}
    started = len(done)
    values = pending.result()
    assert done[started:] == ["wait"] * started
    np.testing.assert_array_equal(values, engine.infer(batch))


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
        from athenan_spiel.engines import openvino_engine, openvino_graph
        from athenan_spiel.engines.openvino_engine import OpenVinoEngine
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
        openvino_graph.MAX_INPUT_WEIGHTS = {most_inputs}
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


def test_openvinos_precision_is_as_asked() -> None:
    engine = make_engine(EngineConfig(name="openvino", precision="float32"), FLAT)
    assert engine.name == "openvino float32"


class PlainProcessor:
    """An `openvino.Core` on a processor without bfloat16."""

    def get_property(self, device: str, name: str) -> Any:
        return {"INFERENCE_PRECISION_HINT": openvino.Type.f32, "OPTIMIZATION_CAPABILITIES": ["FP32", "INT8"]}[name]


class Processor:
    """An `openvino.Core` on a processor with bfloat16."""

    def get_property(self, device: str, name: str) -> Any:
        return {"INFERENCE_PRECISION_HINT": openvino.Type.bf16, "OPTIMIZATION_CAPABILITIES": ["FP32", "BF16"]}[name]


@pytest.mark.parametrize(("units", "precision"), [(True, "bfloat16"), (False, "float32")])
def test_auto_is_bfloat16_where_the_processor_has_matrix_units_for_it(
    monkeypatch: pytest.MonkeyPatch, units: bool, precision: str
) -> None:
    monkeypatch.setattr("athenan_spiel.engines.openvino_engine.core", Processor)
    monkeypatch.setattr("athenan_spiel.engines.openvino_engine.has_matrix_units", lambda: units)
    assert make_engine(EngineConfig(name="openvino"), FLAT).name == f"openvino {precision}"
    assert make_engine(EngineConfig(name="openvino", precision="bfloat16"), FLAT).name == "openvino bfloat16"


def test_a_processor_without_bfloat16_computes_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athenan_spiel.engines.openvino_engine.core", PlainProcessor)
    assert make_engine(EngineConfig(name="openvino"), FLAT).name == "openvino float32"
    with pytest.raises(ConfigError, match=r"engine.precision='bfloat16' needs a processor that has it"):
        make_engine(EngineConfig(name="openvino", precision="bfloat16"), FLAT)


def test_ctrl_c_is_no_crash_when_engines_have_gone() -> None:
    program = textwrap.dedent(
        """
        import os, signal
        from athenan_spiel.config import EngineConfig, NetworkConfig
        from athenan_spiel.engines import make_engine
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
