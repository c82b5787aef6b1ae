"""Tiny runs for the tests of training: their settings, and what of a run must be the same to the bit."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspiel

from athenan_spiel.config import (
    DescentConfig,
    EngineConfig,
    EvaluationConfig,
    LearnerConfig,
    NetworkConfig,
    ReplayConfig,
    TrainingConfig,
)
from athenan_spiel.training.checkpoints import Checkpoint, read_checkpoint
from athenan_spiel.training.events import Event

TIC_TAC_TOE = pyspiel.load_game("tic_tac_toe")
TINY = TrainingConfig(
    matches=12,
    matches_at_once=3,
    checkpoint_seconds=0.0,
    search=DescentConfig(iterations=3),
    network=NetworkConfig(architecture="mlp", layers=1, neurons=16),
    replay=ReplayConfig(matches=5, duplication=2.0),
    learner=LearnerConfig(batch_size=32, precision="float32"),
    engine=EngineConfig(name="torch", precision="float32", threads=1),
)
"""Four rounds of three matches, a second's work."""
EVALUATED = dataclasses.replace(
    TINY,
    evaluation=EvaluationConfig(
        every_matches=5, opponents=("mcts:2", "random"), matches=2, seconds=None, iterations=2, final_seconds=60.0
    ),
)


def state_of(path: Path) -> dict[str, Any]:
    """Everything in a checkpoint that two equal runs must have in common, as comparable values."""
    return comparable(read_checkpoint(path))


def comparable(checkpoint: Checkpoint) -> dict[str, Any]:
    header = checkpoint.header
    return {
        "weights": {name: tensor.numpy().tobytes() for name, tensor in checkpoint.weights.items()},
        "optimizer": {name: tensor.numpy().tobytes() for name, tensor in checkpoint.optimizer.items()},
        "replay": {name: array.tobytes() for name, array in checkpoint.replay.items()},
        "resolved": checkpoint.resolved and {name: array.tobytes() for name, array in checkpoint.resolved.items()},
        "outcome": header.outcome,
        "calibration": header.calibration.to_json(),
        "generators": header.generators,
        "counters": dataclasses.replace(header.counters, seconds=0.0, evaluated_at=0),
    }


def edit_settings(folder: Path, old: str, new: str) -> None:
    """Change the text of a run's `config.toml`."""
    path = folder / "config.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def of_type(events: list[Event], kind: type) -> list[Any]:
    """Those of `events` that are of this kind."""
    return [event for event in events if isinstance(event, kind)]


def after(calls: int) -> Callable[[], bool]:
    """A stop request that comes when it was looked at more than `calls` times."""
    count = 0

    def stop() -> bool:
        nonlocal count
        count += 1
        return count > calls

    return stop
