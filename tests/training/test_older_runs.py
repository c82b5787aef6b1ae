"""A run folder that an older version wrote plays, and one line says that it can't be resumed.

`older_run` is a run of four games of Tic-tac-toe with a checkpoint of format 3: `config.toml`, `state.json` and
`weights.safetensors` as that version wrote them.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import safetensors.torch
import torch

from athenan_spiel.cli.main import main
from athenan_spiel.search import Budget
from athenan_spiel.training import load_agent
from athenan_spiel.training.checkpoints import read_header

OLDER = Path(__file__).parent / "older_run"
COUNTS = {"matches": 4, "rounds": 2, "evaluations": 755, "states_learned": 726}


@pytest.fixture
def older_run(tmp_path: Path) -> Path:
    """The folder as the older version left it, but for what its checkpoint held beside the network."""
    checkpoint = tmp_path / "run" / "checkpoints" / "000004"
    checkpoint.mkdir(parents=True)
    shutil.copy(OLDER / "config.toml", tmp_path / "run")
    (tmp_path / "run" / ".lock").touch()
    for name in ("weights.safetensors", "state.json"):
        shutil.copy(OLDER / name, checkpoint)
    for name in ("optimizer.pt", "replay.npz", "resolved.npz"):
        (checkpoint / name).write_bytes(b"in formats that are not read any more")
    return tmp_path / "run"


def test_its_header_is_read_as_it_was_written(older_run: Path) -> None:
    written = json.loads((OLDER / "state.json").read_text())
    header = read_header(older_run / "checkpoints" / "000004")
    assert {name: getattr(header.counters, name) for name in COUNTS} == COUNTS
    assert header.generators == written["generators"]
    assert header.outcome == written["outcome"]


def test_a_line_says_that_it_cannot_be_resumed(older_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in older_run.rglob("*") if path.is_file()}
    assert main(["resume", str(older_run), "--matches", "4"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "000004 has format version 3, which this athenan_spiel" in line
    assert line.endswith("can play, but not resume: begin a new run")
    assert {path: path.read_bytes() for path in older_run.rglob("*") if path.is_file()} == before


def test_it_plays(older_run: Path) -> None:
    agent = load_agent(older_run, budget=Budget(iterations=4), seed=1)
    state = agent.game.new_initial_state()
    assert agent.network is not None
    weights = safetensors.torch.load_file(OLDER / "weights.safetensors")
    assert all(torch.equal(tensor, weights[name]) for name, tensor in agent.network.state_dict().items())
    while not state.is_terminal():
        state.apply_action(agent.step(state))
