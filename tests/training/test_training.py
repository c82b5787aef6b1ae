"""The training loop: what a run does, tells and leaves, and how it ends."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
import torch
from clocks import Clock
from training_runs import TIC_TAC_TOE, TINY, after, of_type, state_of

from athenan_spiel.config import (
    DescentConfig,
    EngineConfig,
    ExplorationConfig,
    NetworkConfig,
    TrainingConfig,
    UbfmConfig,
)
from athenan_spiel.errors import CheckpointError, ConfigError, UnsupportedGameError
from athenan_spiel.training import fitting, load_agent, preflight, preset, resume, train
from athenan_spiel.training.checkpoints import read_header
from athenan_spiel.training.events import (
    CheckpointWritten,
    Event,
    LearningFinished,
    MatchFinished,
    RoundFinished,
    RoundProgress,
    RunFinished,
    RunStarted,
)
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.model import make_model
from athenan_spiel.training.plan import plan_run
from athenan_spiel.training.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("forked_workers")

ENDLESS = dataclasses.replace(TINY, matches=None)


@pytest.mark.parametrize("spec", ["tic_tac_toe", "connect_four(rows=4,columns=4,x_in_row=3)"])
def test_the_same_seed_gives_the_same_run_bit_for_bit(tmp_path: Path, spec: str) -> None:
    game = pyspiel.load_game(spec)
    first, second, other = (
        train(game, dataclasses.replace(TINY, seed=seed), tmp_path / name)
        for name, seed in (("first", 3), ("second", 3), ("other", 4))
    )
    assert first.matches == 12
    assert first.reason == "matches"
    assert state_of(first.checkpoint) == state_of(second.checkpoint)
    assert state_of(first.checkpoint)["weights"] != state_of(other.checkpoint)["weights"]


def test_the_engine_that_auto_takes_gives_the_same_run_too(tmp_path: Path) -> None:
    game = pyspiel.load_game("connect_four")
    config = dataclasses.replace(
        TINY, matches=4, matches_at_once=4, network=NetworkConfig(filters=8, neurons=16), engine=EngineConfig(threads=1)
    )
    first, second = (train(game, config, tmp_path / name) for name in ("first", "second"))
    assert state_of(first.checkpoint) == state_of(second.checkpoint)


@pytest.mark.cuda
def test_a_run_on_cuda_goes_on_and_its_agent_plays_without(tmp_path: Path) -> None:
    config = dataclasses.replace(TINY, engine=EngineConfig(name="cuda"))
    run = train(TIC_TAC_TOE, config, tmp_path / "run")
    assert resume(run.folder, more_matches=3).matches == 15
    agent = load_agent(run.folder, seconds=0.05, engine=EngineConfig(name="torch"))
    assert agent.step(TIC_TAC_TOE.new_initial_state()) in range(9)


def test_the_trained_network_knows_the_last_matches_better_than_the_first_one(tmp_path: Path) -> None:
    config = dataclasses.replace(TINY, matches=30, learner=dataclasses.replace(TINY.learner, learning_rate=0.01))
    run = train(TIC_TAC_TOE, config, tmp_path / "run")
    checkpoint = RunFolder(run.folder).load()
    assert checkpoint is not None
    trained = LearnerSide(plan_run(TIC_TAC_TOE, config, header=checkpoint.header), checkpoint)
    (batch,) = trained.replay.sample(batch_size=10**6)

    def error(learner: LearnerSide) -> float:
        model = make_model(TIC_TAC_TOE, config, learner.outcome, learner.published().weights)
        values = model.evaluator.engine.infer(batch.observations.reshape(-1, *model.encoder.shape))
        return float(np.square(values - batch.labels.values).mean())

    assert error(trained) < 0.7 * error(LearnerSide(plan_run(TIC_TAC_TOE, config)))


def test_events_come_in_the_promised_order(tmp_path: Path) -> None:
    events: list[Event] = []
    run = train(TIC_TAC_TOE, TINY, tmp_path / "run", callbacks=[events.append])
    kinds = [type(event) for event in events if not isinstance(event, RoundProgress | CheckpointWritten)]
    one_round = [MatchFinished, LearningFinished] * 3 + [RoundFinished]
    assert kinds == [RunStarted, *one_round * 4, RunFinished]
    assert isinstance(events[1], CheckpointWritten)
    assert [event.matches for event in of_type(events, MatchFinished)] == list(range(1, 13))
    assert [event.matches for event in of_type(events, RoundFinished)] == [3, 6, 9, 12]
    for event in of_type(events, MatchFinished):
        assert 5 <= event.length <= 9
        assert event.evaluations > 0
        assert event.targets > 0
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert (last.matches, last.reason, last.checkpoint) == (12, "matches", run.checkpoint)
    seconds = [event.seconds for event in events if isinstance(event, RoundProgress | RoundFinished | RunFinished)]
    assert seconds == sorted(seconds)


def test_a_round_tells_what_it_did(tmp_path: Path) -> None:
    events: list[Event] = []
    train(TIC_TAC_TOE, dataclasses.replace(TINY, matches=3), tmp_path / "run", callbacks=[events.append])
    (played,) = of_type(events, RoundFinished)
    matches, learned = of_type(events, MatchFinished), of_type(events, LearningFinished)
    assert played.evaluations == sum(match.evaluations for match in matches)
    assert played.states_learned == sum(phase.states_learned for phase in learned)
    assert played.replay_states == sum(match.targets for match in matches)
    assert played.search_seconds > 0
    assert played.learning_seconds > 0
    (progress, *_) = of_type(events, RoundProgress)
    assert progress.matches == 0
    assert progress.evaluations > 0
    assert progress.evaluations_per_second > 0


def test_the_last_round_is_as_large_as_the_limit_leaves(tmp_path: Path) -> None:
    events: list[Event] = []
    train(TIC_TAC_TOE, dataclasses.replace(TINY, matches=4), tmp_path / "run", callbacks=[events.append])
    assert [event.matches for event in of_type(events, RoundFinished)] == [3, 4]


def test_the_folder_holds_a_run(tiny_run: Path) -> None:
    assert {path.name for path in tiny_run.iterdir()} == {
        ".lock",
        "config.toml",
        "metrics.jsonl",
        "tensorboard",
        "checkpoints",
    }
    header = read_header(tiny_run / "checkpoints" / "000012")
    assert header.game == str(TIC_TAC_TOE)
    assert header.config == TINY
    assert header.outcome == LearnerSide(plan_run(TIC_TAC_TOE, TINY)).outcome.parameters
    assert (header.counters.matches, header.counters.rounds) == (12, 4)


def test_a_run_is_never_trained_over(tiny_run: Path) -> None:
    before = state_of(tiny_run / "checkpoints" / "000012")
    with pytest.raises(CheckpointError, match="holds a run already: continue it with athenan resume"):
        train(TIC_TAC_TOE, TINY, tiny_run)
    assert state_of(tiny_run / "checkpoints" / "000012") == before


def test_a_folder_with_other_things_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(CheckpointError, match=r"which holds 'thesis.tex': choose another"):
        train(TIC_TAC_TOE, TINY, tmp_path)
    assert list(tmp_path.iterdir()) == [tmp_path / "thesis.tex"]


def test_a_game_that_cannot_be_trained_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedGameError):
        train(pyspiel.load_game("kuhn_poker"), TINY, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_outcome_that_the_game_lacks_leaves_no_run(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="score"):
        train(TIC_TAC_TOE, dataclasses.replace(TINY, outcome="score"), tmp_path / "run")
    assert not (tmp_path / "run" / "config.toml").exists()


def test_a_missing_device_is_said_before_anything_is_put_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match="needs a CUDA device"):
        train(TIC_TAC_TOE, dataclasses.replace(TINY, engine=EngineConfig(name="cuda")), tmp_path / "run")
    assert not (tmp_path / "run" / "config.toml").exists()


@pytest.mark.parametrize("calls", [1, 20, 60])
def test_a_stop_request_drops_the_round_and_saves_what_was_before_it(tmp_path: Path, calls: int) -> None:
    events: list[Event] = []
    run = train(TIC_TAC_TOE, ENDLESS, tmp_path / "run", callbacks=[events.append], stop=after(calls))
    assert run.reason == "stopped"
    assert run.matches % 3 == 0
    assert run.checkpoint.name == f"{run.matches:06d}"
    assert len(of_type(events, MatchFinished)) == run.matches
    matches = run.matches or 3
    whole = train(TIC_TAC_TOE, dataclasses.replace(TINY, matches=matches), tmp_path / "whole")
    if run.matches:
        assert state_of(run.checkpoint) == state_of(whole.checkpoint)
    on = resume(run.folder, more_matches=matches)
    longer = train(TIC_TAC_TOE, dataclasses.replace(TINY, matches=run.matches + matches), tmp_path / "longer")
    assert state_of(on.checkpoint) == state_of(longer.checkpoint)


def test_the_time_limit_is_kept_over_resumptions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(step=2**-8)
    monkeypatch.setattr("athenan_spiel.training.clock.time", clock)
    config = dataclasses.replace(ENDLESS, seconds=0.6, search=DescentConfig(iterations=30))
    run = train(pyspiel.load_game("connect_four"), config, tmp_path / "run")
    assert run.reason == "seconds"
    assert 0.6 <= run.seconds < 0.6 + 20 * clock.step
    assert read_header(run.checkpoint).counters.seconds == pytest.approx(run.seconds, abs=20 * clock.step)
    again = resume(run.folder)
    assert again.reason == "seconds"
    assert again.matches == run.matches
    more = resume(run.folder, more_seconds=0.4)
    assert more.seconds >= run.seconds + 0.4
    assert RunFolder(run.folder).settings()[1].seconds == pytest.approx(again.seconds + 0.4, abs=20 * clock.step)


def test_training_works_in_another_thread(tmp_path: Path) -> None:
    runs: list[Any] = []
    thread = threading.Thread(target=lambda: runs.append(train(TIC_TAC_TOE, TINY, tmp_path / "run")))
    thread.start()
    thread.join()
    assert runs[0].matches == 12


def test_how_much_of_a_run_lies_behind() -> None:
    assert TrainingConfig().fraction_done(5, 5.0) == 0.0
    assert TrainingConfig(matches=10).fraction_done(5, 5.0) == 0.5
    assert TrainingConfig(matches=10, seconds=6.0).fraction_done(3, 5.0) == pytest.approx(5 / 6)
    assert TrainingConfig(seconds=4.0).fraction_done(3, 5.0) == 1.0


@pytest.mark.parametrize("schedule", ["annealed", "constant"])
def test_every_schedule_trains(tmp_path: Path, schedule: Any) -> None:
    exploration = ExplorationConfig(schedule=schedule, exploitation=0.5 if schedule == "constant" else None)
    config = dataclasses.replace(TINY, exploration=exploration)
    assert train(TIC_TAC_TOE, config, tmp_path / "run").matches == 12


def test_moves_are_drawn_as_the_settings_say(tmp_path: Path) -> None:
    """One change of the settings after another, each makes another run of the same seeds."""
    explorations = [
        ExplorationConfig(),
        ExplorationConfig(completed=False),
        ExplorationConfig(distribution="epsilon_greedy"),
        ExplorationConfig(distribution="softmax"),
        ExplorationConfig(distribution="softmax", temperature=10.0),
        ExplorationConfig(distribution="best"),
        ExplorationConfig(distribution="visits"),
        ExplorationConfig(plies=2),
    ]
    runs = set()
    for i, exploration in enumerate(explorations):
        events: list[Event] = []
        config = dataclasses.replace(TINY, exploration=exploration)
        train(TIC_TAC_TOE, config, tmp_path / str(i), callbacks=[events.append])
        runs.add(tuple((match.length, match.evaluations) for match in of_type(events, MatchFinished)))
    assert len(runs) == len(explorations)


def test_ubfm_without_completion_and_the_gain_train_too(tmp_path: Path) -> None:
    search = UbfmConfig(completion=False, iterations=3)
    config = dataclasses.replace(TINY, search=search, outcome="gain", matches=3)
    assert train(TIC_TAC_TOE, config, tmp_path / "run").matches == 3


def test_without_settings_it_is_the_preset_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(preflight, "cores", lambda: 1)  # no workers
    monkeypatch.setattr(fitting, "evaluations_per_second", lambda *_, **__: 50_000.0)  # whatever else runs here
    monkeypatch.setattr(fitting, "explained_by_inputs", lambda *_: 0.0)
    runs = [train(TIC_TAC_TOE, stop=lambda: True) for _ in range(2)]
    assert [run.folder for run in runs] == [Path("runs/tic_tac_toe"), Path("runs/tic_tac_toe-2")]
    quick = preset("quick")
    for run in runs:
        assert run.config.encoding.symmetries == "all", "as the game has eight"
        assert dataclasses.replace(run.config, encoding=quick.encoding, network=quick.network) == quick


def test_limits_and_workers_are_arguments(tmp_path: Path) -> None:
    """With a preset's name the settings fit the game, and with settings of one's own they stay."""
    run = train(TIC_TAC_TOE, "quick", tmp_path / "named", matches=2, workers=0)
    assert (run.matches, run.config.matches, run.config.seconds) == (2, 2, None)
    assert run.config.encoding.symmetries == "all"
    own = train(TIC_TAC_TOE, dataclasses.replace(TINY, seconds=100.0), tmp_path / "own", matches=3)
    assert own.config == dataclasses.replace(TINY, matches=3)
    with pytest.raises(ConfigError, match=r"^preset must be one of quick, .*, got 'quik': did you mean 'quick'"):
        train(TIC_TAC_TOE, "quik", tmp_path / "none")
    with pytest.raises(ConfigError, match=r"workers.count"):
        train(TIC_TAC_TOE, workers=-1, folder=tmp_path / "none")
    assert not (tmp_path / "none").exists()
