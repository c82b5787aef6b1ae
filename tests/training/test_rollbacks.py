"""Learning that diverges: the run goes back to its last good checkpoint and learns slower, and says so."""

from __future__ import annotations

import dataclasses
import json
import logging
import math
import shutil
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest
import torch
from training_runs import EVALUATED, TIC_TAC_TOE, TINY, edit_settings, of_type, state_of

from athenan_spiel.config import DescentConfig, TrainingConfig, WarmUpConfig, WorkersConfig
from athenan_spiel.errors import CheckpointError, ConfigError, DivergedError, EvaluatorError, LearningError
from athenan_spiel.evaluators import NetworkEvaluator
from athenan_spiel.learning.learner import Learner
from athenan_spiel.training import resume, train
from athenan_spiel.training.checkpoints import read_checkpoint
from athenan_spiel.training.events import (
    CheckpointWritten,
    EvaluationFinished,
    Event,
    RolledBack,
    RunFinished,
    RunStarted,
)
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("forked_workers")

BY_MATCHES = dataclasses.replace(TINY, checkpoint_seconds=3600.0, milestone_matches=6)
"""Checkpoints after 0, 6 and 12 matches, whatever the clock says."""
RATE = TINY.learner.learning_rate
KINDS = ("loss", "weights", "moments")


class Spoiling:
    """Learning diverges in some matches while the learning rate is above a bound.

    Args:
        kind: what becomes NaN or infinite: the loss that is told, or a weight or a moment after the last step.
    """

    def __init__(self, patch: pytest.MonkeyPatch, kind: str, matches: Collection[int], above: float) -> None:
        self.kind = kind
        self.spoils = False
        learn, warm_up, step = LearnerSide.learn, LearnerSide.learn_warm_up, Learner._step

        def learning(side: LearnerSide, record: Any, on_batch: Callable[[], None]) -> Any:
            rate = side.config.learner.learning_rate
            self.spoils = side.counters.matches + 1 in matches and rate > above
            return learn(side, record, on_batch)

        def warming(side: LearnerSide, batch: Any) -> float:
            done = side.counters.warm_up_states + len(batch.labels)
            self.spoils = -done in matches and side.config.learner.learning_rate > above
            return warm_up(side, batch)

        def stepping(learner: Learner, batch: Any, with_values: bool) -> Any:
            loss, of_policies = step(learner, batch, with_values)
            if self.spoils and kind == "loss":
                return loss * math.nan, of_policies
            if self.spoils:
                weights = next(learner.network.parameters())
                (weights.data if kind == "weights" else learner._optimizers[0].state[weights]["exp_avg_sq"]).fill_(
                    math.inf
                )
            return loss, of_policies

        patch.setattr(LearnerSide, "learn", learning)
        patch.setattr(LearnerSide, "learn_warm_up", warming)
        patch.setattr(Learner, "_step", stepping)


def lines(folder: Path, event: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [line for line in found if line["event"] == event]


def rate_in(folder: Path) -> float:
    return RunFolder(folder).settings()[1].learner.learning_rate


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_goes_back_to_its_last_checkpoint_and_learns_slower(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    Spoiling(monkeypatch, kind, {8}, 0.6 * RATE)
    events: list[Event] = []

    def copy(event: Event) -> None:
        if isinstance(event, RolledBack):
            shutil.copytree(tmp_path / "run", tmp_path / "copy")

    with caplog.at_level(logging.WARNING):
        run = train(TIC_TAC_TOE, BY_MATCHES, tmp_path / "run", callbacks=[events.append, copy])
    assert (run.reason, run.matches, run.config.learner.learning_rate) == ("matches", 12, RATE / 2)
    (told,) = of_type(events, RolledBack)
    assert (told.matches, told.dropped, told.learning_rate, told.checkpoint.name) == (6, 1, RATE / 2, "000006")
    assert f"lower learner.learning_rate, now {RATE!r}" in told.problem
    assert "rolled back to checkpoint" in caplog.text
    assert "and loses 1 games" in caplog.text
    assert rate_in(run.folder) == RATE / 2
    assert [event.matches for event in of_type(events, CheckpointWritten)] == [0, 6, 12]
    assert len(of_type(events, RunStarted)) == len(of_type(events, RunFinished)) == 1
    for event in ("match_finished", "learning_finished"):
        assert [line["matches"] for line in lines(run.folder, event)] == list(range(1, 13)), "each match is told once"
    (line,) = lines(run.folder, "rolled_back")
    assert (line["matches"], line["dropped"], line["checkpoint"]) == (6, 1, "000006")
    resumed = resume(tmp_path / "copy")
    assert state_of(resumed.checkpoint) == state_of(run.checkpoint), "as if it had been resumed with half the rate"


def test_equal_runs_are_rolled_back_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = dataclasses.replace(BY_MATCHES, outcome="gain", search=DescentConfig(iterations=3, resolved_hours=1.0))
    Spoiling(monkeypatch, "weights", {5, 11}, 0.3 * RATE)
    runs = [train(TIC_TAC_TOE, config, tmp_path / name) for name in ("one", "other")]
    assert [rate_in(run.folder) for run in runs] == [RATE / 4] * 2
    assert len({str(lines(run.folder, "rolled_back")[-1]["dropped"]) for run in runs}) == 1
    assert state_of(runs[0].checkpoint) == state_of(runs[1].checkpoint)


def test_a_checkpoint_that_comes_to_nothing_again_gives_way_to_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Spoiling(monkeypatch, "weights", {8}, 0.3 * RATE)
    events: list[Event] = []
    run = train(TIC_TAC_TOE, BY_MATCHES, tmp_path / "run", callbacks=[events.append])
    assert [(event.matches, event.learning_rate) for event in of_type(events, RolledBack)] == [
        (6, RATE / 2),
        (0, RATE / 4),
    ]
    assert run.matches == 12
    assert "aside-000006" in {path.name for path in run.checkpoint.parent.iterdir()}, "nothing is removed"
    assert [line["matches"] for line in lines(run.folder, "match_finished")] == list(range(1, 13))
    assert [line["matches"] for line in lines(run.folder, "rolled_back")] == [0], (
        "that to 6 is taken back with the rest"
    )


def test_a_run_that_diverges_again_and_again_ends_and_names_the_checkpoint_that_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        Spoiling(patch, "loss", {8}, 0.0)
        with pytest.raises(DivergedError) as raised:
            train(TIC_TAC_TOE, BY_MATCHES, tmp_path / "run", max_rollbacks=2)
    first, second = str(raised.value).splitlines()
    assert first.endswith(f"lower learner.learning_rate, now {RATE / 4!r}; rollbacks so far: 2")
    assert second == (
        f"checkpoint 6 is complete: set a lower learning_rate in {tmp_path / 'run' / 'config.toml'}, "
        f"then continue with athenan resume {tmp_path / 'run'} --from 6"
    )
    assert isinstance(raised.value, LearningError)
    assert isinstance(raised.value, EvaluatorError)
    assert resume(tmp_path / "run", checkpoint=6).matches == 12


def test_without_rollbacks_it_ends_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Spoiling(monkeypatch, "weights", {8}, 0.0)
    with pytest.raises(DivergedError, match=rf"learning_rate, now {RATE!r}$"):
        train(TIC_TAC_TOE, BY_MATCHES, tmp_path / "run", max_rollbacks=0)
    assert rate_in(tmp_path / "run") == RATE
    with pytest.raises(ConfigError, match="max_rollbacks must be from 0 to 1,000,000,000, got -1"):
        resume(tmp_path / "run", max_rollbacks=-1)


@pytest.mark.parametrize("kind", KINDS)
def test_no_checkpoint_holds_what_is_not_finite(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The phase that spoils the weights is the last of its round, after which a checkpoint is due."""
    Spoiling(monkeypatch, kind, {3, 6, 9}, 0.0)
    seen = 0

    def look(event: Event) -> None:
        nonlocal seen
        if isinstance(event, CheckpointWritten | RolledBack):
            checkpoint = read_checkpoint(event.checkpoint)  # which refuses weights that are not finite
            moments = checkpoint.optimizer.values()
            assert all(bool(tensor.isfinite().all()) for tensor in [*checkpoint.weights.values(), *moments])
            seen += 1

    with pytest.raises(DivergedError):
        train(TIC_TAC_TOE, dataclasses.replace(TINY, milestone_matches=1), tmp_path / "run", callbacks=[look])
    assert seen >= 5


def test_values_that_are_not_finite_set_a_run_back_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load, loads = NetworkEvaluator.load, 0

    def loading(evaluator: NetworkEvaluator, network: Any) -> None:
        nonlocal loads
        loads += 1
        if loads == 3:  # with which the second round begins
            for parameter in network.parameters():
                parameter.data.fill_(math.nan)
        load(evaluator, network)

    monkeypatch.setattr(NetworkEvaluator, "load", loading)
    events: list[Event] = []
    run = train(TIC_TAC_TOE, BY_MATCHES, tmp_path / "run", callbacks=[events.append])
    (told,) = of_type(events, RolledBack)
    assert (told.matches, told.checkpoint.name) == (6, "000006")
    assert told.problem.startswith("the evaluator must return finite values")
    assert (run.matches, rate_in(run.folder)) == (12, RATE / 2)


def test_a_network_that_has_learned_nothing_is_not_learnings_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = NetworkEvaluator.load

    def loading(evaluator: NetworkEvaluator, network: Any) -> None:
        for parameter in network.parameters():
            parameter.data.fill_(math.nan)
        load(evaluator, network)

    monkeypatch.setattr(NetworkEvaluator, "load", loading)
    with pytest.raises(EvaluatorError, match="finite values") as raised:
        train(TIC_TAC_TOE, TINY, tmp_path / "run")
    assert not isinstance(raised.value, DivergedError)
    assert rate_in(tmp_path / "run") == RATE


def test_a_warm_up_is_rolled_back_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Spoiling(monkeypatch, "weights", {-64}, 0.6 * RATE)
    config = dataclasses.replace(TINY, warm_up=WarmUpConfig(states=96, processes=1))
    events: list[Event] = []
    run = train(TIC_TAC_TOE, config, tmp_path / "run", callbacks=[events.append])
    (told,) = of_type(events, RolledBack)
    assert (told.matches, told.dropped) == (0, 0)
    assert (run.matches, rate_in(run.folder)) == (12, RATE / 2)
    assert read_checkpoint(run.checkpoint).header.counters.warm_up_states == 96


def test_evaluations_begin_again_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Spoiling(monkeypatch, "weights", {8}, 0.3 * RATE)
    config = dataclasses.replace(EVALUATED, checkpoint_seconds=3600.0, milestone_matches=6)
    events: list[Event] = []
    run = train(TIC_TAC_TOE, config, tmp_path / "run", callbacks=[events.append])
    assert run.matches == 12
    assert [event.matches for event in of_type(events, RolledBack)] == [6, 0]
    assert of_type(events, EvaluationFinished)[-1].matches == 12
    assert read_checkpoint(run.checkpoint).header.counters.evaluated_at == 12


def test_a_damaged_checkpoint_is_passed_over_and_put_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Spoiling(monkeypatch, "loss", {8}, 0.6 * RATE)
    events: list[Event] = []

    def damage(event: Event) -> None:
        if isinstance(event, CheckpointWritten) and event.matches == 6 and not of_type(events, RolledBack):
            (event.checkpoint / "replay.safetensors").write_bytes(b"no arrays")

    run = train(TIC_TAC_TOE, BY_MATCHES, tmp_path / "run", callbacks=[events.append, damage])
    assert [event.matches for event in of_type(events, RolledBack)] == [0]
    assert "aside-000006" in {path.name for path in run.checkpoint.parent.iterdir()}


def test_with_no_whole_checkpoint_a_run_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Spoiling(monkeypatch, "loss", {2}, 0.0)

    def damage(event: Event) -> None:
        if isinstance(event, CheckpointWritten):
            (event.checkpoint / "state.json").unlink()

    with pytest.raises(DivergedError, match="no checkpoint is complete: begin a new run"):
        train(TIC_TAC_TOE, BY_MATCHES, tmp_path / "run", callbacks=[damage])


def test_a_folder_that_is_gone_is_not_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoiling = Spoiling(monkeypatch, "loss", {8}, 0.0)
    learn = Learner.learn

    def learning(learner: Learner, *arguments: Any, **options: Any) -> Any:
        if spoiling.spoils:
            shutil.rmtree(tmp_path / "run")
        return learn(learner, *arguments, **options)

    monkeypatch.setattr(Learner, "learn", learning)
    with pytest.raises(CheckpointError, match="was moved or deleted"):
        train(TIC_TAC_TOE, BY_MATCHES, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_real_divergence(tmp_path: Path) -> None:
    """Nothing is injected: at this rate Adam's steps take the weights beyond what float32 holds."""
    learner = dataclasses.replace(TINY.learner, learning_rate=1e30, batch_size=8)
    with pytest.raises(DivergedError, match=r"now 3\.125e\+28; rollbacks so far: 5\ncheckpoint 0 is complete"):
        train(TIC_TAC_TOE, dataclasses.replace(TINY, learner=learner), tmp_path / "run")
    edit_settings(tmp_path / "run", "learning_rate = 3.125e+28", f"learning_rate = {RATE!r}")
    edit_settings(tmp_path / "run", "batch_size = 8", "batch_size = 32")
    whole = train(TIC_TAC_TOE, TINY, tmp_path / "whole")
    assert state_of(resume(tmp_path / "run").checkpoint) == state_of(whole.checkpoint)


# With workers


def test_a_rollback_with_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Spoiling(monkeypatch, "weights", {20}, 0.6 * RATE)
    events: list[Event] = []
    config: TrainingConfig = dataclasses.replace(
        TINY, matches=40, workers=WorkersConfig(count=2, max_staleness=12), milestone_matches=5
    )
    run = train(TIC_TAC_TOE, config, tmp_path / "run", callbacks=[events.append])
    (told,) = of_type(events, RolledBack)
    assert told.matches + told.dropped == 19
    assert (run.matches, run.reason, rate_in(run.folder)) == (40, "matches", RATE / 2)
    assert [line["matches"] for line in lines(run.folder, "match_finished")] == list(range(1, 41))
    assert all(0 <= line["staleness"] <= 12 for line in lines(run.folder, "match_finished"))
    assert all(bool(torch.isfinite(tensor).all()) for tensor in read_checkpoint(run.checkpoint).weights.values())
