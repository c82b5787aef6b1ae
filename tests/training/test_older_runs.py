"""A run folder that an older version wrote loads, resumes and plays.

`older_run` is a run of four matches of Tic-tac-toe, with symmetries and proven states, as the version before the actor
and the learner side wrote it: `config.toml`, `state.json` and `weights.safetensors` as they were; what the optimiser,
the replay and the memory of proven states held is in safetensors, of which the files are made here that it wrote.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import safetensors.torch
import torch

from athenan_spiel.search import Budget
from athenan_spiel.system.files import opened, sha256
from athenan_spiel.training import load_agent, resume
from athenan_spiel.training.checkpoints import read_checkpoint, read_header, signed
from athenan_spiel.training.events import Event, MatchFinished, RunStarted

OLDER = Path(__file__).parent / "older_run"
COUNTS = {"matches": 4, "rounds": 2, "evaluations": 755, "states_learned": 726}


@pytest.fixture
def older_run(tmp_path: Path) -> Path:
    """The folder as the older version left it."""
    folder = tmp_path / "run"
    checkpoint = folder / "checkpoints" / "000004"
    checkpoint.mkdir(parents=True)
    shutil.copy(OLDER / "config.toml", folder)
    shutil.copy(OLDER / "weights.safetensors", checkpoint)
    moments: dict[int, dict[str, torch.Tensor]] = {}
    for name, tensor in safetensors.torch.load_file(OLDER / "optimizer.safetensors").items():
        index, _, kind = name.partition(".")
        moments.setdefault(int(index), {})[kind] = tensor
    torch.save({"state": moments, "param_groups": []}, checkpoint / "optimizer.pt")
    for name in ("replay", "resolved"):
        arrays = safetensors.numpy.load_file(OLDER / f"{name}.safetensors")
        np.savez(checkpoint / f"{name}.npz", **arrays)
    state = json.loads((OLDER / "state.json").read_text())
    for name in state["sha256"]:
        with opened(checkpoint / name, 2**20) as file:
            state["sha256"][name] = sha256(file)
    (checkpoint / "state.json").write_bytes(signed(state))
    return folder


def test_its_header_is_read_as_it_was_written(older_run: Path) -> None:
    written = json.loads((OLDER / "state.json").read_text())
    for path in (OLDER, older_run / "checkpoints" / "000004"):  # the first has the older version's own checksum
        header = read_header(path)
        assert {name: getattr(header.counters, name) for name in COUNTS} == COUNTS
        assert header.generators == written["generators"]
        assert header.outcome == written["outcome"]


def test_it_goes_on(older_run: Path) -> None:
    before = read_checkpoint(older_run / "checkpoints" / "000004")
    events: list[Event] = []
    run = resume(older_run, more_matches=4, listeners=[events.append])
    assert (run.matches, run.reason) == (8, "matches")
    (started,) = (event for event in events if isinstance(event, RunStarted))
    assert (started.matches, started.seconds) == (4, before.header.counters.seconds)
    assert [event.matches for event in events if isinstance(event, MatchFinished)] == [5, 6, 7, 8]
    after = read_checkpoint(run.checkpoint)
    assert after.header.counters.states_learned > COUNTS["states_learned"]
    assert after.resolved is not None
    assert before.resolved is not None
    kept, known = ({row.tobytes() for row in each["digests"]} for each in (before.resolved, after.resolved))
    assert kept < known, "what was proven is kept"
    assert any(not torch.equal(after.weights[name], before.weights[name]) for name in before.weights)


def test_it_goes_on_alike_each_time(older_run: Path, tmp_path: Path) -> None:
    shutil.copytree(older_run, tmp_path / "twin")
    first, second = (
        read_checkpoint(resume(each, more_matches=4).checkpoint) for each in (older_run, tmp_path / "twin")
    )
    assert all(torch.equal(first.weights[name], second.weights[name]) for name in first.weights)


def test_it_plays(older_run: Path) -> None:
    agent = load_agent(older_run, budget=Budget(iterations=4), seed=1)
    state = agent.game.new_initial_state()
    assert agent.network is not None
    weights = safetensors.torch.load_file(OLDER / "weights.safetensors")
    assert all(torch.equal(tensor, weights[name]) for name, tensor in agent.network.state_dict().items())
    while not state.is_terminal():
        state.apply_action(agent.step(state))
