"""The ONNX model of a network computes what the network does, in a runtime of others."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from every_engine import CONNECT_FOUR, FLAT, HEX_11, some_batch

import athenan_spiel as ath
from athenan_spiel.config import NetworkConfig
from athenan_spiel.encoding import Encoder
from athenan_spiel.errors import CheckpointError, ConfigError
from athenan_spiel.networks import OUTPUT_GAIN, PolicyShape, ValueNetwork, make_network
from athenan_spiel.networks.onnx_model import onnx_bytes, require_onnx
from athenan_spiel.training.loading import load_agent

onnx_alone = pytest.mark.skipif(
    importlib.util.find_spec("onnxscript") is None, reason="needs onnxscript, which is not installed"
)
runtime = pytest.mark.skipif(
    importlib.util.find_spec("onnxscript") is None or importlib.util.find_spec("onnxruntime") is None,
    reason="needs onnxscript and onnxruntime, of which one is not installed",
)
ON_CELLS = PolicyShape(122, 1, (*range(121), -1))
NETWORKS: dict[str, tuple[tuple[int, ...], dict[str, Any], PolicyShape | None]] = {
    "c": (CONNECT_FOUR, {"architecture": "auto", "filters": 32}, None),
    "c without padding": (HEX_11, {"architecture": "c", "layers": 3, "filters": 16}, None),
    "r1": (HEX_11, {"architecture": "r1", "layers": 2, "filters": 16}, None),
    "r2": (CONNECT_FOUR, {"architecture": "r2", "layers": 3, "filters": 16, "dense_layers": 2}, None),
    "r2 with squeeze-and-excitation": (
        CONNECT_FOUR,
        {"architecture": "r2", "layers": 2, "filters": 32, "squeeze_excitation": 8},
        None,
    ),
    "r3": (HEX_11, {"architecture": "r3", "layers": 2, "filters": 16, "pointwise_filters": 40}, None),
    "mlp": (FLAT, {"architecture": "mlp", "layers": 2}, None),
    "a policy on cells": (HEX_11, {"architecture": "auto", "filters": 16, "policy": "planes"}, ON_CELLS),
    "a dense policy": (CONNECT_FOUR, {"architecture": "r1", "filters": 16, "policy": "dense"}, PolicyShape(7)),
    "a dense policy behind filters": (
        HEX_11,
        {"architecture": "r1", "filters": 16, "policy": "dense", "policy_filters": 2},
        PolicyShape(121),
    ),
    "a policy without boards": (FLAT, {"architecture": "mlp", "layers": 2, "policy": "dense"}, PolicyShape(9)),
}
TOLERANCE = 1e-5
"""Of float32, in the unit of values, which is their scale."""


def network(name: str, *, scale: float | None = None) -> ValueNetwork:
    shape, settings, policy = NETWORKS[name]
    config = NetworkConfig(neurons=30, **settings)
    made = make_network(shape, config, bounded=scale is None, scale=scale or 1.0, seed=1, policy=policy)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():  # first values are near zero, and first biases zero
        made.output.weight /= OUTPUT_GAIN
        for name, weights in made.named_parameters():
            if name.endswith("bias"):
                weights += 0.1 * torch.randn(weights.shape, generator=generator)
    return made


def answers(content: bytes, batch: Any) -> list[Any]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    found: list[Any] = session.run(None, {"observations": batch})
    return found


def assert_close(found: Any, expected: Any, scale: float | None = None) -> None:
    assert found.dtype == np.float32
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < TOLERANCE * (scale or 1.0)


@runtime
@pytest.mark.parametrize(
    ("name", "scale"), [*((name, None) for name in NETWORKS), ("c", 32.0), ("mlp", 32.0), ("a dense policy", 32.0)]
)
def test_a_model_answers_as_the_network(name: str, scale: float | None) -> None:
    made = network(name, scale=scale)
    content = onnx_bytes(made, "a network", {})
    for rows in (1, 7):
        batch = some_batch(made.shape, rows)
        with torch.inference_mode():
            expected = made(torch.from_numpy(batch)).numpy().reshape(rows, -1)
        found = answers(content, batch)
        assert expected[:, 0].std() > 0 or rows == 1
        by_name = dict(zip(["values", "logits"] if made.policy else ["values"], found, strict=True))
        assert_close(by_name["values"], expected[:, 0], scale)
        if made.policy is not None:
            assert_close(by_name["logits"], expected[:, 1:])


@runtime
@pytest.mark.parametrize("game", ["connect_four", "hex(board_size=5)", "othello"])
def test_a_run_is_written_for_others(game: str, tmp_path: Path) -> None:
    """Of a trained network, on positions of random play."""
    config = ath.TrainingConfig(
        matches=2,
        matches_at_once=2,
        outcome="score" if game == "othello" else "gain" if game == "connect_four" else "additive_depth",
        encoding=ath.EncodingConfig(edges=game.startswith("hex")),
        search=ath.DescentConfig(iterations=1),
        network=ath.NetworkConfig(filters=8, neurons=16),
    )
    run = ath.train(game, config, tmp_path / "run")
    path = ath.export_onnx(run.folder, tmp_path / "network.onnx")
    loaded = load_agent(run.folder)
    assert loaded.network is not None
    rng, states = np.random.default_rng(0), [loaded.game.new_initial_state()]
    while not states[-1].is_terminal() and len(states) < 30:
        states.append(states[-1].child(int(rng.choice(states[-1].legal_actions()))))
    batch = Encoder(loaded.game, edges=config.encoding.edges).encode(states)
    with torch.inference_mode():
        expected = loaded.network(torch.from_numpy(batch)).numpy()
    assert_close(answers(path.read_bytes(), batch)[0], expected, float(loaded.network.scale))
    again = ath.export_onnx(ath.export_agent(run.folder, tmp_path / "agent"), tmp_path / "again.onnx")
    assert again.read_bytes() == path.read_bytes(), "of a file as of a run"


@onnx_alone
def test_a_model_says_what_its_numbers_mean(tmp_path: Path) -> None:
    config = ath.TrainingConfig(matches=1, matches_at_once=1, encoding=ath.EncodingConfig(edges=True))
    run = ath.train("hex(board_size=4)", config, tmp_path / "run")
    onnx = require_onnx()
    model = onnx.load(ath.export_onnx(run.folder, tmp_path / "hex.onnx"))
    (given,), (values,) = model.graph.input, model.graph.output
    dimensions = [each.dim_param or each.dim_value for each in given.type.tensor_type.shape.dim]
    assert (given.name, dimensions) == ("observations", ["N", 10, 6, 6])
    assert (values.name, values.type.tensor_type.shape.dim[0].dim_param) == ("values", "N")
    told = {prop.key: prop.value for prop in model.metadata_props}
    assert told["game"] == "hex(board_size=4)"
    assert told["observations"] == (
        "float32 [N, 10, 6, 6], N states as planes, rows, columns; planes 0 to 8: OpenSpiel's observation tensor of "
        "player 0, whoever is to move; one cell around the board on each side, with the stones of the player who "
        "owns that side; plane 9: 1 if player 1 is to move, else 0, in every cell"
    )
    assert told["values"].startswith(
        "outcome 'additive_depth' for player 0, whoever is to move: positive if player 0 wins, "
    )
    assert "logits" not in told
    assert all(text in model.doc_string for text in told.values())
    operators = [node.op_type for node in model.graph.node]
    assert operators.count("Conv") == 3, "plain convolutions"
    assert "MatMul" not in operators


@onnx_alone
def test_a_model_says_nothing_of_the_machine_and_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    content = onnx_bytes(network("a policy on cells"), "a network", {"game": "hex"})
    assert capfd.readouterr() == ("", "")
    for name in (str(Path(torch.__file__).parent), str(Path(ath.__file__).parent), "layers.py", "stack_trace"):
        assert name.encode() not in content


def test_without_the_package_a_line_says_what_to_install(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str, *rest: Any) -> Any:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(
        ConfigError, match=r"^ONNX needs the packages onnx and onnxscript, got .*: pip install 'athenan-spiel\[onnx"
    ):
        require_onnx()
    with pytest.raises(ConfigError, match="ONNX needs the packages onnx"):
        ath.export_onnx(tiny_run, tmp_path / "x.onnx")
    assert list(tmp_path.iterdir()) == []


@onnx_alone
def test_what_is_there_is_kept(tiny_run: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.onnx"
    path.write_text("mine")
    with pytest.raises(CheckpointError, match=r"x.onnx' exists"):
        ath.export_onnx(tiny_run, path)
    assert path.read_text() == "mine"
    assert ath.export_onnx(tiny_run, path, overwrite=True).stat().st_size > 1000
