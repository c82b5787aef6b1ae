"""A run that is killed, stopped or cut short ends, once resumed, with the same weights as one that is not."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspiel
import pytest
from clocks import HANG_SECONDS
from forking import forkserver
from training_runs import TINY, state_of

from athenan_spiel.config import DescentConfig, EncodingConfig, ReplayConfig, TrainingConfig, WarmUpConfig
from athenan_spiel.errors import CheckpointError, ConfigError
from athenan_spiel.system.stopping import StopRequests
from athenan_spiel.training import preset, resume, train
from athenan_spiel.training.events import (
    Event,
    LearningFinished,
    MatchFinished,
    RoundFinished,
    RoundProgress,
    RunFinished,
    RunStarted,
    StopNoticed,
)
from athenan_spiel.training.run_folder import RunFolder

SPEC = "connect_four(rows=4,columns=4,x_in_row=3)"
GAME = pyspiel.load_game(SPEC)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the run comes to when nothing happens to it."""
    return state_of(train(GAME, TINY, tmp_path_factory.mktemp("runs") / "whole").checkpoint)


def go_on(folder: Path) -> dict[str, Any]:
    """What the run in `folder` comes to, resumed to its end."""
    run = resume(folder)
    assert run.reason == "matches"
    return state_of(run.checkpoint)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def train_or_resume(
    folder: Path, stop: Callable[[], bool] | None = None, spec: str = SPEC, config: TrainingConfig = TINY
) -> None:
    if (folder / "config.toml").exists():
        resume(folder, stop=stop)
    else:
        train(spec, config, folder, stop=stop)


def die_in_a_match(folder: Path, question: int, spec: str = SPEC, config: TrainingConfig = TINY) -> None:
    """Train until the `question`-th batch of states has been answered."""
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        if asked == question:
            die()
        return False

    train_or_resume(folder, stop, spec, config)


def die_in_a_write(folder: Path, write: int) -> None:
    """Train until just before the `write`-th time that something is made to last."""
    done = 0

    def counted(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal done
            done += 1
            if done == write:
                die()
            return original(*arguments, **options)

        return call

    os.fsync = counted(os.fsync)
    Path.rename = counted(Path.rename)  # type: ignore[method-assign]
    train_or_resume(folder)


def killed(target: Callable[..., None], *arguments: Any) -> None:
    process = forkserver().Process(target=target, args=arguments)
    process.start()
    process.join(HANG_SECONDS)
    assert process.exitcode == -signal.SIGKILL


@pytest.mark.parametrize("question", [1, 50, 130])
def test_a_kill_in_the_middle_of_a_match(tmp_path: Path, uninterrupted: dict[str, Any], question: int) -> None:
    killed(die_in_a_match, tmp_path / "run", question)
    assert go_on(tmp_path / "run") == uninterrupted


@pytest.mark.parametrize("spec", ["pig(players=2,winscore=8)", "pig(players=3,winscore=8)", "einstein_wurfelt_nicht"])
def test_a_kill_in_a_game_with_chance(tmp_path: Path, spec: str) -> None:
    """The seed determines the dice, and expectations and rows proven in earlier games are saved."""
    search = DescentConfig(iterations=4, longest_descent=8, resolved_hours=1.0)
    config = dataclasses.replace(TINY, search=search, warm_up=WarmUpConfig(states=64, processes=1))
    require_same_after_a_kill(tmp_path, spec, config)


def test_a_kill_in_learning_by_td_lambda(tmp_path: Path) -> None:
    td = preset("td_lambda")
    config = dataclasses.replace(TINY, search=td.search, targets=td.targets, exploration=td.exploration)
    require_same_after_a_kill(tmp_path, "pig(players=2,winscore=30)", config)


def require_same_after_a_kill(folder: Path, spec: str, config: TrainingConfig) -> None:
    whole = state_of(train(spec, config, folder / "whole").checkpoint)
    killed(die_in_a_match, folder / "run", 200, spec, config)
    assert go_on(folder / "run") == whole


@pytest.mark.parametrize("write", [1, 2, 3, 5, 8, 9, 12, 15])
def test_a_kill_in_the_middle_of_a_write(tmp_path: Path, uninterrupted: dict[str, Any], write: int) -> None:
    killed(die_in_a_write, tmp_path / "run", write)
    if (tmp_path / "run" / "config.toml").exists():
        assert go_on(tmp_path / "run") == uninterrupted
    else:
        assert state_of(train(GAME, TINY, tmp_path / "run").checkpoint) == uninterrupted


def test_kills_again_and_again(tmp_path: Path, uninterrupted: dict[str, Any]) -> None:
    for target, moment in [(die_in_a_match, 60), (die_in_a_write, 12), (die_in_a_match, 70), (die_in_a_write, 3)]:
        killed(target, tmp_path / "run", moment)
    assert go_on(tmp_path / "run") == uninterrupted


def test_kills_at_random_moments(tmp_path: Path, uninterrupted: dict[str, Any]) -> None:
    rng = random.Random(5)
    for _ in range(4):
        process = forkserver().Process(target=train_or_resume, args=(tmp_path / "run",))
        process.start()
        process.join(rng.uniform(0.05, 1.5))
        process.kill()
        process.join()
    train_or_resume(tmp_path / "run")
    assert state_of(RunFolder(tmp_path / "run").checkpoints()[-1]) == uninterrupted


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0)  # signals are heard between two steps of the interpreter


@pytest.mark.parametrize("kind", [RoundProgress, MatchFinished, LearningFinished, RoundFinished])
def test_ctrl_c_saves_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uninterrupted: dict[str, Any], kind: type
) -> None:
    monkeypatch.setattr("athenan_spiel.training.clock.PROGRESS_SECONDS", 0.0)
    before = signal.getsignal(signal.SIGINT)
    told: list[Event] = []

    def callback(event: Event) -> None:
        told.append(event)
        if sum(type(event) is kind and event.matches >= 4 for event in told) == 1 and type(event) is kind:
            interrupt()

    run = train(GAME, TINY, tmp_path / "run", callbacks=[callback])
    assert run.reason == "stopped"
    assert run.matches == 6
    assert sum(isinstance(event, StopNoticed) for event in told) == (kind in (MatchFinished, LearningFinished))
    assert run.checkpoint.name == f"{run.matches:06d}", "saved at once, though no checkpoint was due"
    assert signal.getsignal(signal.SIGINT) is before
    assert go_on(tmp_path / "run") == uninterrupted


METHODS = [
    TINY,
    dataclasses.replace(TINY, replay=ReplayConfig(method="plain", states=60, sampling=0.5)),
    dataclasses.replace(TINY, replay=ReplayConfig(method="per_match", matches=2, sampling=0.5)),
    dataclasses.replace(
        TINY,
        outcome="gain",
        search=DescentConfig(iterations=3, resolved_hours=1.0),
        encoding=EncodingConfig(symmetries="all"),
    ),
]


@pytest.mark.parametrize("config", METHODS, ids=["stratified", "plain", "per_match", "resolved states and symmetries"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_learning_that_takes_too_long_after_a_request_is_dropped_and_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: TrainingConfig, number: int
) -> None:
    """The state before the round is saved, whatever was learned of it; here no time at all is given to learning."""
    monkeypatch.setattr("athenan_spiel.training.clock.LEARNING_SECONDS", -1.0)
    heard: list[Event] = []

    def callback(event: Event) -> None:
        heard.append(event)
        if isinstance(event, MatchFinished) and event.matches == 3 + number:
            interrupt()

    run = train(GAME, config, tmp_path / "run", callbacks=[callback])
    expected = 6 if number == 3 else 3  # the last match's phase had begun, so the round came to its end
    assert (run.reason, run.matches, run.checkpoint.name) == ("stopped", expected, f"{expected:06d}")
    assert sum(isinstance(event, StopNoticed) for event in heard) <= (number < 3), "not while matches are in play"
    assert state_of(resume(tmp_path / "run").checkpoint) == state_of(train(GAME, config, tmp_path / "whole").checkpoint)


@pytest.mark.parametrize("kind", [RunStarted, RoundProgress, MatchFinished, LearningFinished, RoundFinished])
def test_an_error_of_a_callback_is_raised_unchanged_and_the_run_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uninterrupted: dict[str, Any], kind: type
) -> None:
    monkeypatch.setattr("athenan_spiel.training.clock.PROGRESS_SECONDS", 0.0)
    config = dataclasses.replace(TINY, checkpoint_seconds=3600.0)
    heard: list[Event] = []

    def faulty(event: Event) -> None:
        if isinstance(event, kind) and (event.matches >= 4 or kind is RunStarted):
            raise ZeroDivisionError("a bug of the user's")

    with pytest.raises(ZeroDivisionError, match="a bug of the user's"):
        train(GAME, config, tmp_path / "run", callbacks=[faulty, heard.append])
    assert isinstance(heard[-1], RunFinished)
    saved = 0 if kind is RunStarted else 3 if kind in (MatchFinished, LearningFinished) else 6
    assert (heard[-1].reason, heard[-1].matches) == ("error", saved)
    assert [path.name for path in RunFolder(tmp_path / "run").checkpoints()][-1] == f"{saved:06d}"
    assert go_on(tmp_path / "run") == uninterrupted


@pytest.mark.parametrize("moved", [True, False])
@pytest.mark.parametrize("kind", [RoundProgress, LearningFinished, RoundFinished])
def test_a_folder_that_is_gone_is_said_in_one_line_and_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uninterrupted: dict[str, Any], kind: type, moved: bool
) -> None:
    monkeypatch.setattr("athenan_spiel.training.clock.PROGRESS_SECONDS", 0.0)
    folder = tmp_path / "run"

    def callback(event: Event) -> None:
        if isinstance(event, kind) and event.matches >= 4 and folder.exists():
            folder.rename(tmp_path / "elsewhere")
            if not moved:
                shutil.rmtree(tmp_path / "elsewhere")

    with pytest.raises(CheckpointError) as error:
        train(GAME, TINY, folder, callbacks=[callback])
    assert str(error.value) == (
        f"the run's folder {str(folder)!r} was moved or deleted during the run: "
        "everything learned since its last checkpoint is lost"
    )
    assert not folder.exists()
    if moved:
        assert go_on(tmp_path / "elsewhere") == uninterrupted


def test_a_folder_that_was_emptied_is_gone_too(tmp_path: Path) -> None:
    def callback(event: Event) -> None:
        if isinstance(event, RoundFinished):
            (tmp_path / "run" / "config.toml").unlink(missing_ok=True)

    with pytest.raises(CheckpointError, match="was moved or deleted"):
        train(GAME, TINY, tmp_path / "run", callbacks=[callback])


def test_ctrl_c_twice_during_a_write_destroys_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uninterrupted: dict[str, Any]
) -> None:
    original = os.fsync
    config = dataclasses.replace(TINY, checkpoint_seconds=3600.0)
    played: list[Event] = []

    def callback(event: Event) -> None:
        played.append(event)
        if isinstance(event, RoundProgress) and event.matches >= 6:
            interrupt()

    def interrupted_fsync(descriptor: int) -> None:
        if any(event.matches >= 6 for event in played):
            interrupt()
        original(descriptor)

    monkeypatch.setattr(os, "fsync", interrupted_fsync)
    monkeypatch.setattr("athenan_spiel.training.clock.PROGRESS_SECONDS", 0.0)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        train(GAME, config, tmp_path / "run", callbacks=[callback])
    monkeypatch.undo()
    assert signal.getsignal(signal.SIGINT) is before
    assert [path.name for path in (tmp_path / "run" / "checkpoints").iterdir()] == ["000000"]
    assert go_on(tmp_path / "run") == uninterrupted


def test_a_disk_that_is_full_when_the_run_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uninterrupted: dict[str, Any]
) -> None:
    config = dataclasses.replace(TINY, checkpoint_seconds=3600.0)

    def callback(event: Event) -> None:
        if isinstance(event, RoundFinished) and event.matches == 6:

            def full(descriptor: int) -> None:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            monkeypatch.setattr(os, "fsync", full)
            interrupt()

    with pytest.raises(CheckpointError, match=r"No space left on device; .*000000 is kept: make room and resume"):
        train(GAME, config, tmp_path / "run", callbacks=[callback])
    monkeypatch.undo()
    assert [path.name for path in (tmp_path / "run" / "checkpoints").iterdir()] == ["000000"]
    assert go_on(tmp_path / "run") == uninterrupted


def test_a_damaged_checkpoint_is_said_and_the_older_one_goes_on(tmp_path: Path, uninterrupted: dict[str, Any]) -> None:
    run = train(GAME, dataclasses.replace(TINY, milestone_matches=3), tmp_path / "run")
    os.truncate(run.checkpoint / "replay.safetensors", 50)
    with pytest.raises(CheckpointError, match=r"9 is complete: continue from there with athenan resume .*run --from 9"):
        resume(run.folder)
    for again in ("aside-000012", "aside-000012-2"):
        assert state_of(resume(run.folder, checkpoint=9).checkpoint) == uninterrupted
        names = sorted(path.name for path in (run.folder / "checkpoints").iterdir())
        assert {"000009", "000012", again} <= set(names), "nothing is removed"


@pytest.mark.parametrize(
    ("checkpoint", "problem"),
    [
        (7, "expected the number of a checkpoint in .*, got 7: there are .*9, 12"),
        (True, "checkpoint must be a whole number, got True"),
        (2.5, "checkpoint must be a whole number, got 2.5"),
    ],
)
def test_a_run_goes_on_from_a_checkpoint_that_there_is(checkpoint: Any, problem: str, tmp_path: Path) -> None:
    run = train(GAME, dataclasses.replace(TINY, milestone_matches=3), tmp_path / "run")
    before = state_of(run.checkpoint)
    with pytest.raises((CheckpointError, ConfigError), match=problem):
        resume(run.folder, checkpoint=checkpoint)
    assert state_of(run.checkpoint) == before


def test_matches_that_the_metrics_lack_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = dataclasses.replace(TINY, matches=4)
    metrics = train(GAME, config, tmp_path / "run").folder / "metrics.jsonl"
    lines = metrics.read_text().splitlines(keepends=True)
    metrics.write_text("".join(line for line in lines if '"matches": 2,' not in line))
    resume(tmp_path / "run", more_matches=1)
    assert "contains 3 of the 4 games that the checkpoint counts" in caplog.text
    metrics.unlink()
    resume(tmp_path / "run", more_matches=1)
    assert "contains 0 of the 5 games" in caplog.text


def test_metrics_with_an_endless_line_are_left_as_they_are(tmp_path: Path) -> None:
    metrics = train(GAME, dataclasses.replace(TINY, matches=1), tmp_path / "run").folder / "metrics.jsonl"
    content = metrics.read_bytes() + b"x" * 2**21
    metrics.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"has a line of 1,048,576 bytes or more: move it away"):
        resume(tmp_path / "run", more_matches=1)
    assert metrics.read_bytes() == content


def test_metrics_of_a_resumed_run_say_each_match_once(tmp_path: Path) -> None:
    def callback(event: Event) -> None:
        if isinstance(event, RoundFinished) and event.matches == 6:
            raise OSError(errno.ENOSPC, "full")

    config = dataclasses.replace(TINY, checkpoint_seconds=3600.0)
    with pytest.raises(CheckpointError):
        train(GAME, config, tmp_path / "run", callbacks=[callback])
    run = resume(tmp_path / "run")
    records = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    matches = [record for record in records if record["event"] == "match_finished"]
    assert [record["matches"] for record in matches] == list(range(1, 13))
    whole = train(GAME, TINY, tmp_path / "whole")
    others = [json.loads(line) for line in (whole.folder / "metrics.jsonl").read_text().splitlines()]
    for record in (*matches, *others):
        del record["time"]
    assert matches == [record for record in others if record["event"] == "match_finished"]


def test_a_request_is_kept_where_work_must_not_be_dropped() -> None:
    with StopRequests() as stops:
        assert not stops.requested
        interrupt()
        assert stops.requested
        with pytest.raises(KeyboardInterrupt), stops.droppable():
            pytest.fail("a request that came before is heard on entry")
        with pytest.raises(KeyboardInterrupt):
            interrupt()


def test_a_request_is_heard_at_once_where_work_may_be_dropped() -> None:
    with StopRequests() as stops:
        with pytest.raises(KeyboardInterrupt), stops.droppable():
            interrupt()
        assert stops.requested


def test_a_caller_can_ask_too() -> None:
    asked = False
    with StopRequests(lambda: asked) as stops:
        assert not stops.requested
        asked = True
        assert stops.requested
