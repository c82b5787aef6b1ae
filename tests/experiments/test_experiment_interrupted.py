"""Stopped and killed experiments: finished work is not repeated."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from experiment_runs import MATCHES, TRAININGS, Recorder, rows, run_tiny, sorted_rows, tiny_file

from athenan_spiel.errors import CheckpointError, EvaluatorError
from athenan_spiel.experiments import report
from athenan_spiel.experiments.plan import Plan
from athenan_spiel.experiments.run import shared_cores
from athenan_spiel.experiments.training import TrainingTask, is_finished, stage_path
from athenan_spiel.training.checkpoints import read_header, read_weights
from athenan_spiel.training.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("forked_workers")


def test_a_second_start_repeats_nothing(tiny_experiment: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_experiment, tmp_path / "tiny")
    before = {path: path.stat().st_mtime_ns for path in (folder / "trainings").rglob("*") if path.is_file()}
    matches = (folder / "matches.jsonl").read_bytes()
    (folder / "report.md").unlink()
    recorder = Recorder()
    run_tiny(folder, recorder=recorder)
    assert recorder.trained == []
    assert recorder.training_counts == [(TRAININGS, TRAININGS)]
    assert recorder.match_counts == [(MATCHES, MATCHES)]
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert (folder / "matches.jsonl").read_bytes() == matches
    assert (folder / "report.md").exists()


def test_two_processes_give_the_results_of_one(tiny_experiment: Path, tmp_path: Path) -> None:
    run_tiny(tmp_path / "two", processes=2)
    assert sorted_rows(tmp_path / "two") == sorted_rows(tiny_experiment)
    assert (tmp_path / "two" / "final.csv").read_bytes() == (tiny_experiment / "final.csv").read_bytes()


class StopAfter(Recorder):
    """Raises KeyboardInterrupt after a number of trainings or of games."""

    def __init__(self, trainings: int | None = None, matches: int | None = None) -> None:
        super().__init__()
        self._at = (trainings, matches)

    def finished(self, training: Any) -> None:
        super().finished(training)
        if len(self.trained) == self._at[0]:
            raise KeyboardInterrupt

    def matches(self, done: int, total: int) -> None:
        super().matches(done, total)
        if done == self._at[1]:
            raise KeyboardInterrupt


def test_an_interrupted_experiment_continues(tiny_experiment: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    with pytest.raises(KeyboardInterrupt):
        run_tiny(folder, recorder=StopAfter(trainings=3))
    with pytest.raises(KeyboardInterrupt):
        run_tiny(folder, recorder=(second := StopAfter(matches=20)))
    assert len(second.trained) == TRAININGS - 3
    assert len(rows(folder)) == 20
    third = Recorder()
    run_tiny(folder, recorder=third)
    assert third.trained == []
    assert third.match_counts[0] == (20, MATCHES)
    assert sorted_rows(folder) == sorted_rows(tiny_experiment)


def test_a_stopped_training_ends_with_the_same_network(tiny_experiment: Path, tmp_path: Path) -> None:
    plan = Plan(tiny_file().experiment)
    training = plan.trainings()[0]
    task = TrainingTask(tmp_path / "run", training.game, shared_cores(training.config, 1), (0.5, 1.0))
    asked = iter([False] * 40)
    calls = 0

    def stop() -> bool:
        nonlocal calls
        calls += 1
        return next(asked, True)

    assert task.run(lambda share: None, stop) is False
    assert not is_finished(tmp_path / "run", 2)
    shares: list[float] = []
    assert task.run(shares.append, lambda: False) is True
    assert shares[-1] == 1.0
    for stage in (1, 2):
        ours = read_weights(stage_path(tmp_path / "run", stage))
        theirs = read_weights(stage_path(tiny_experiment / training.folder, stage))
        assert all((ours[name] == theirs[name]).all() for name in theirs)


def test_a_missing_stage_is_copied_from_the_checkpoint(tiny_experiment: Path, tmp_path: Path) -> None:
    training = Plan(tiny_file().experiment).trainings()[0]
    folder = shutil.copytree(tiny_experiment / training.folder, tmp_path / "run")
    for stage in (1, 2):
        for file in stage_path(folder, stage).iterdir():
            file.unlink()
        stage_path(folder, stage).rmdir()
    task = TrainingTask(folder, training.game, shared_cores(training.config, 1), (0.5, 1.0))
    with pytest.raises(CheckpointError, match="contains only a network, as in a finished experiment"):
        task.run(lambda share: None, lambda: False)
    assert read_header(stage_path(folder, 1)).counters.matches == 4


def test_damaged_weights_become_no_stage(tiny_experiment: Path, tmp_path: Path) -> None:
    training = Plan(tiny_file().experiment).trainings()[0]
    folder = shutil.copytree(tiny_experiment / training.folder, tmp_path / "run")
    shutil.rmtree(folder / "stages")
    newest = RunFolder(folder).newest()
    assert newest is not None
    os.truncate(newest / "weights.safetensors", 100)
    task = TrainingTask(folder, training.game, shared_cores(training.config, 1), (0.5, 1.0))
    with pytest.raises(CheckpointError, match=r"weights.safetensors \(100 bytes\) does not match its checksum"):
        task.run(lambda share: None, lambda: False)
    assert not (folder / "stages").exists()


def test_a_locked_training_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training = Plan(tiny_file().experiment).trainings()[0]
    task = TrainingTask(tmp_path / "run", training.game, shared_cores(training.config, 1), (0.5, 1.0))
    with RunFolder(tmp_path / "run").locked(), monkeypatch.context() as patience:
        patience.setattr("athenan_spiel.experiments.training.PATIENCE_SECONDS", 0.2)
        with pytest.raises(CheckpointError, match="another process is training"):
            task.run(lambda share: None, lambda: False)
    locked = threading.Event()

    def other() -> None:
        with RunFolder(tmp_path / "run").locked():
            locked.set()
            time.sleep(0.3)

    thread = threading.Thread(target=other)
    thread.start()
    locked.wait()
    assert task.run(lambda share: None, lambda: False)
    thread.join()


def run_in_this_process(folder: str, die_after: int) -> None:
    class Dying(Recorder):
        def finished(self, training: Any) -> None:
            super().finished(training)
            if len(self.trained) == die_after:
                os.kill(os.getpid(), signal.SIGKILL)

    run_tiny(Path(folder), recorder=Dying())


def test_a_killed_experiment_continues(tiny_experiment: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    process = multiprocessing.get_context("spawn").Process(target=run_in_this_process, args=(str(folder), 2))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    recorder = Recorder()
    run_tiny(folder, recorder=recorder)
    assert len(recorder.trained) == TRAININGS - 2
    assert sorted_rows(folder) == sorted_rows(tiny_experiment)


def test_finished_trainings_are_kept_if_a_variant_fails(tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    text = "learner.learning_rate = 1e30\nmatches = 40"
    recorder = Recorder()
    with pytest.raises(EvaluatorError) as raised:
        run_tiny(folder, 1, recorder, tiny_file('search.algorithm = "ubfm"', text))
    failed = folder / "trainings" / "tic_tac_toe" / "ubfm" / "1"
    assert str(raised.value).startswith("the evaluator must return finite values, got ")
    assert str(raised.value).endswith(f": lower learner.learning_rate, now 1e+30 (in {failed})")
    again = Recorder()
    with pytest.raises(EvaluatorError):
        run_tiny(folder, 1, again, tiny_file('search.algorithm = "ubfm"', text))
    assert len(recorder.trained) >= 1
    assert again.training_counts[0] == (len(recorder.trained), TRAININGS)


def test_truncated_games_are_played_again(tiny_experiment: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_experiment, tmp_path / "tiny")
    lines = (folder / "matches.jsonl").read_text().splitlines(keepends=True)
    (folder / "matches.jsonl").write_text("".join(lines[:10]) + lines[10][:30])
    assert not report(tiny_file(), folder).complete
    assert "Not finished" in (folder / "report.md").read_text()
    recorder = Recorder()
    run_tiny(folder, recorder=recorder)
    assert recorder.match_counts[0] == (10, MATCHES)
    assert sorted_rows(folder) == sorted_rows(tiny_experiment)
