"""A run's folder with two checkpoints that no training has made."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import torch

from athenan_spiel.config import TrainingConfig
from athenan_spiel.training import checkpoints
from athenan_spiel.training.checkpoints import Checkpoint, Counters, Header
from athenan_spiel.training.run_folder import RunFolder

GAME = "tic_tac_toe()"
CONFIG = TrainingConfig(matches=8)


def sample(matches: int = 0) -> Checkpoint:
    generator = np.random.default_rng(matches)
    generator.integers(7, size=3, dtype=np.int32)
    header = Header(
        game=GAME,
        config=CONFIG,
        outcome={"longest": 9, "exact": True},
        counters=Counters(matches=matches, rounds=3, seconds=1.5, evaluations=70, states_learned=30, evaluated_at=1),
        generators={"matches": generator.bit_generator.state},
    )
    weights = {"layer.weight": torch.arange(6.0).reshape(2, 3), "layer.bias": torch.tensor([1e-30, -0.0])}
    optimizer = {"0.step": torch.tensor(3.0), "0.exp_avg": torch.ones(2)}
    replay = {"values": np.linspace(0, 1, 5, dtype=np.float32), "bits": np.arange(4, dtype=np.uint8)}
    return Checkpoint(header=header, weights=weights, optimizer=optimizer, replay=replay)


def two_checkpoints(path: Path) -> RunFolder:
    """A run with checkpoints after 4 and 8 matches."""
    folder = RunFolder(path)
    with folder.locked():
        folder.require_new()
        folder.write_settings(GAME, CONFIG)
        folder.save(sample(4))
        folder.save(sample(8))
    return folder


def newest(folder: RunFolder) -> Path:
    path = folder.newest()
    assert path is not None
    return path


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 3)


def edit_state(path: Path, **changes: object) -> None:
    """As a hostile hand would: its checksum is right."""
    state = json.loads((path / "state.json").read_text())
    (path / "state.json").write_bytes(checkpoints.signed(state | changes))


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
