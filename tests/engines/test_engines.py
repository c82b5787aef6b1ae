"""Every engine keeps the numbered promises of `engines/base.py`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from every_engine import (
    CONNECT_FOUR,
    ENGINES,
    FLAT,
    HEX_11,
    a_match_of_boards,
    assert_close,
    every_engine,
    loaded,
    network,
    reference,
    some_batch,
)

from athenan_spiel.config import EngineConfig, NetworkName
from athenan_spiel.engines import make_engine
from athenan_spiel.engines.cuda_engine import CudaEngine
from athenan_spiel.engines.openvino_engine import MAX_PART_ROWS, OpenVinoEngine
from athenan_spiel.errors import ConfigError, EvaluatorError
from athenan_spiel.networks import SqueezeExcitation


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
def test_values_that_were_asked_for_before_a_load_are_those_of_the_weights_before_it(kind: str) -> None:
    """New weights come while matches are in play."""
    batch = some_batch(CONNECT_FOUR, 20)
    engine = loaded(kind, network(seed=1))
    before = engine.infer(batch)
    pending = engine.start(batch)
    engine.load(network(seed=2))
    np.testing.assert_array_equal(pending.result(), before)
    assert not np.array_equal(engine.infer(batch), before)


@every_engine
def test_each_load_counts(kind: str) -> None:
    batch = some_batch(CONNECT_FOUR, 20)
    engine = ENGINES[kind](CONNECT_FOUR)
    for seed in range(8):
        made = network(seed=seed)
        engine.load(made)
        assert_close(kind, engine.infer(batch), reference(made, batch))


@every_engine
def test_the_same_batch_has_the_same_bits(kind: str) -> None:
    batch = some_batch(CONNECT_FOUR, 100)
    engine = loaded(kind, network())
    first = engine.infer(batch)
    engine.infer(some_batch(CONNECT_FOUR, 33, seed=1))
    np.testing.assert_array_equal(engine.infer(batch), first)
    np.testing.assert_array_equal(loaded(kind, network()).infer(batch), first)


@every_engine
@pytest.mark.parametrize("rows", [1, 2, 7, 64, MAX_PART_ROWS, MAX_PART_ROWS + 1, 3 * MAX_PART_ROWS - 1])
def test_batches_may_have_any_size(kind: str, rows: int) -> None:
    made = network(FLAT)
    batch = some_batch(FLAT, rows)
    values = loaded(kind, made).infer(batch)
    np.testing.assert_allclose(values, reference(made, batch), atol=1e-5 if "float32" in kind else 5e-3)


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


@every_engine
def test_started_batches_are_answered_in_any_order(kind: str) -> None:
    engine = loaded(kind, network())
    batches = [some_batch(CONNECT_FOUR, rows, seed=rows) for rows in (1, 300, 7, 30)]
    pending = [engine.start(batch) for batch in batches]
    for batch, later in reversed(list(zip(batches, pending, strict=True))):
        np.testing.assert_array_equal(later.result(), engine.infer(batch))
    assert engine.start(batches[0][:0]).result().shape == (0,)


@every_engine
def test_rows_of_another_shape_are_refused(kind: str) -> None:
    engine = loaded(kind, network())
    engine.infer(some_batch(CONNECT_FOUR, 20))
    for shape in [(20, 4, 1, 7), (4, 6, 7), (7,)]:
        with pytest.raises(EvaluatorError, match=rf"{kind}: expected rows of shape \(4, 6, 7\), got"):
            engine.infer(np.zeros(shape, np.float32))


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


def test_a_missing_cuda_device_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match=r"engine.name='cuda' needs a CUDA device, and torch finds none: take 'auto'"):
        make_engine(EngineConfig(name="cuda"), FLAT)


def test_a_missing_package_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for name in ("openvino_engine", "openvino_graph", "silent_openvino"):
        monkeypatch.delitem(sys.modules, f"athenan_spiel.engines.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(ConfigError, match=r"engine.name='auto' needs the package openvino, got .*: install it or take"):
        make_engine(EngineConfig(), FLAT)


def test_openvino_reports_to_nobody_and_writes_nothing_to_the_users_home(tmp_path: Path) -> None:
    program = (
        "import sys, athenan_spiel.engines.openvino_engine\n"
        "told = [name for name in sys.modules if name.startswith('openvino_telemetry')]\n"
        "sys.exit(f'imported {told}' if told else 0)"
    )
    home = tmp_path / "home"
    home.mkdir()
    environment = {**os.environ, "HOME": str(home)}
    done = subprocess.run([sys.executable, "-c", program], check=False, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert list(home.iterdir()) == []


def test_openvino_is_not_imported_before_an_engine_wants_it() -> None:
    program = "import sys, athenan_spiel.engines; sys.exit('openvino' in sys.modules or 'torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
