"""When checkpoints are written, and that what goes wrong leaves the last one as it was."""

from __future__ import annotations

import dataclasses
import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clocks import Clock
from training_runs import TIC_TAC_TOE, TINY, edit_settings, of_type, state_of

from athenan_spiel.errors import CheckpointError, EvaluatorError, LearningError
from athenan_spiel.training import resume, train
from athenan_spiel.training.events import (
    CheckpointWritten,
    Event,
    RoundFinished,
    RunFinished,
)
from athenan_spiel.training.run_folder import RunFolder


def test_nan_from_the_engine_ends_the_run_with_the_last_checkpoint_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from athenan_spiel.evaluators import NetworkEvaluator

    original = NetworkEvaluator.load
    loads = 0

    def load(self: NetworkEvaluator, network: Any) -> None:
        nonlocal loads
        loads += 1
        if loads == 3:
            for parameter in network.parameters():
                parameter.data.fill_(np.nan)
        original(self, network)

    monkeypatch.setattr(NetworkEvaluator, "load", load)
    events: list[Event] = []
    config = dataclasses.replace(TINY, checkpoint_seconds=3600.0)
    with pytest.raises(EvaluatorError, match="finite"):
        train(TIC_TAC_TOE, config, tmp_path / "run", callbacks=[events.append], max_rollbacks=0)
    monkeypatch.undo()
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert last.reason == "error"
    assert last.checkpoint == tmp_path / "run" / "checkpoints" / "000000"
    whole = train(TIC_TAC_TOE, TINY, tmp_path / "whole")
    assert state_of(resume(tmp_path / "run").checkpoint) == state_of(whole.checkpoint)


def test_a_loss_that_is_not_finite_ends_the_run_with_the_last_checkpoint_as_it_was(tmp_path: Path) -> None:
    learner = dataclasses.replace(TINY.learner, learning_rate=1e30, batch_size=8)
    with pytest.raises(LearningError, match=r"learner.learning_rate"):
        train(TIC_TAC_TOE, dataclasses.replace(TINY, learner=learner), tmp_path / "run", max_rollbacks=0)
    edit_settings(tmp_path / "run", "learning_rate = 1e+30", "learning_rate = 0.001")
    edit_settings(tmp_path / "run", "batch_size = 8", "batch_size = 32")
    whole = train(TIC_TAC_TOE, TINY, tmp_path / "whole")
    assert state_of(resume(tmp_path / "run").checkpoint) == state_of(whole.checkpoint)


def test_a_full_disk_ends_the_run_with_the_last_checkpoint_as_it_was(tmp_path: Path) -> None:
    def full(event: Event) -> None:
        if isinstance(event, RoundFinished) and event.matches == 6:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(CheckpointError, match="No space left on device; the last checkpoint is kept"):
        train(TIC_TAC_TOE, TINY, tmp_path / "run", callbacks=[full])
    whole = train(TIC_TAC_TOE, TINY, tmp_path / "whole")
    assert state_of(resume(tmp_path / "run").checkpoint) == state_of(whole.checkpoint)


def test_checkpoints_are_spaced_by_the_config(tmp_path: Path) -> None:
    events: list[Event] = []
    config = dataclasses.replace(TINY, checkpoint_seconds=3600.0)
    train(TIC_TAC_TOE, config, tmp_path / "run", callbacks=[events.append])
    assert [event.matches for event in of_type(events, CheckpointWritten)] == [0, 12]


def test_a_checkpoint_is_written_at_each_milestone_once(tmp_path: Path) -> None:
    events: list[Event] = []
    config = dataclasses.replace(TINY, checkpoint_seconds=3600.0)  # 12 matches, three a round
    train(TIC_TAC_TOE, config, tmp_path / "run", callbacks=[events.append], milestones=[0.75, 0.3, 0.4])
    assert [event.matches for event in of_type(events, CheckpointWritten)] == [0, 6, 9, 12]
    events.clear()
    resume(tmp_path / "run", more_matches=12, callbacks=[events.append], milestones=[0.3, 0.5, 0.6])
    assert [event.matches for event in of_type(events, CheckpointWritten)] == [15, 24]


def test_a_checkpoint_is_written_whenever_so_many_more_matches_are_learned(tmp_path: Path) -> None:
    events: list[Event] = []
    config = dataclasses.replace(TINY, checkpoint_seconds=3600.0, milestone_matches=4)  # 12 matches, three a round
    train(TIC_TAC_TOE, config, tmp_path / "run", callbacks=[events.append])
    assert [event.matches for event in of_type(events, CheckpointWritten)] == [0, 6, 9, 12]
    events.clear()
    run = resume(tmp_path / "run", more_matches=9, callbacks=[events.append])
    assert [event.matches for event in of_type(events, CheckpointWritten)] == [18, 21]
    assert [path.name for path in sorted(run.checkpoint.parent.iterdir())] == [
        f"0000{n}" for n in ("06", "09", 12, 18, 21)
    ]
    whole = train(TIC_TAC_TOE, dataclasses.replace(config, matches=21, milestone_matches=None), tmp_path / "whole")
    assert state_of(run.checkpoint) == state_of(whole.checkpoint), "milestones change nothing in the run"


def test_slow_checkpoints_are_spaced_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original, clock = RunFolder.save, Clock(step=2**-10)

    def slow(self: RunFolder, checkpoint: Any) -> Path:
        clock.now += 100
        return original(self, checkpoint)

    monkeypatch.setattr(RunFolder, "save", slow)
    monkeypatch.setattr("athenan_spiel.training.clock.time", clock)
    events: list[Event] = []
    train(TIC_TAC_TOE, TINY, tmp_path / "run", callbacks=[events.append])
    assert [event.matches for event in of_type(events, CheckpointWritten)] == [0, 12]
