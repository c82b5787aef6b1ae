"""Evaluations beside a run: learning does not wait for them, nothing in them changes or ends it, and the best stays."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any, ClassVar

import pytest
from test_evaluation_in_runs import result, row
from training_runs import EVALUATED, TIC_TAC_TOE, TINY, edit_settings, of_type, state_of

from athenan_spiel.config import EvaluationConfig, TrainingConfig
from athenan_spiel.config.evaluation import EvaluationRequest
from athenan_spiel.errors import CheckpointError, ConfigError
from athenan_spiel.system.process_call import CallResult
from athenan_spiel.training import evaluation, load_agent, loop, resume, train
from athenan_spiel.training.best import BEST, RECORD
from athenan_spiel.training.checkpoints import read_header, read_weights
from athenan_spiel.training.evaluation import EVALUATE
from athenan_spiel.training.events import (
    BestReplaced,
    EvaluationFailed,
    EvaluationFinished,
    EvaluationStarted,
    Event,
    RoundFinished,
    RunFinished,
)
from athenan_spiel.training.run_folder import EVALUATING, RunFolder

pytestmark = pytest.mark.usefixtures("forked_workers")


class FakeCall:
    """Returns a given result after being polled a number of times."""

    begun: ClassVar[list[FakeCall]] = []
    results: ClassVar[list[CallResult | None]] = []
    """Results of the calls in turn; None: the call never ends. After the last one, all win 3 of 4."""
    looks: ClassVar[int] = 0

    def __init__(self, function: str, request: EvaluationRequest) -> None:
        assert function == EVALUATE
        self.request = request
        self.network = Path(request.agent.rpartition(":")[0])
        self.header = read_header(self.network)
        self.weights = read_weights(self.network)
        default = result(*map(row, request.opponents))
        self._result = self.results.pop(0) if self.results else default
        self._looks = self.looks
        self.ended = False
        self.told_to_end = False
        self.begun.append(self)

    def result(self, seconds: float = 0.0) -> CallResult | None:
        self._looks -= 1
        return self._result if self._looks < 0 else None

    def terminate(self) -> None:
        self.told_to_end = True

    def close(self) -> None:
        self.ended = True


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> type[FakeCall]:
    monkeypatch.setattr(FakeCall, "begun", [])
    monkeypatch.setattr(FakeCall, "results", [])
    monkeypatch.setattr(FakeCall, "looks", 0)
    monkeypatch.setattr(evaluation, "ProcessCall", FakeCall)
    monkeypatch.setattr(loop, "require_opponents", lambda game, config, programs: None)
    return FakeCall


def with_evaluation(**changes: Any) -> TrainingConfig:
    return dataclasses.replace(EVALUATED, evaluation=dataclasses.replace(EVALUATED.evaluation, **changes))


def events_of(config: TrainingConfig, folder: Path) -> list[Event]:
    events: list[Event] = []
    train(TIC_TAC_TOE, config, folder, callbacks=[events.append])
    return events


def test_an_evaluation_is_told_and_changes_nothing(tmp_path: Path) -> None:
    """By a real call, at the end of a run that is shorter than it."""
    events: list[Event] = []
    run = train(TIC_TAC_TOE, EVALUATED, tmp_path / "run", callbacks=[events.append])
    finished = of_type(events, EvaluationFinished)
    assert [(event.matches, event.opponent) for event in finished[-2:]] == [(12, "mcts:2"), (12, "random")]
    for event in finished:
        assert event.wins + event.draws + event.losses == 2
        assert event.points == (event.wins + event.draws / 2) / 2
        assert 0 <= event.low <= event.points <= event.high <= 1
        assert (event.confidence, event.forfeits) == (0.95, 0)
    assert of_type(events, EvaluationFailed) == []
    assert read_header(run.checkpoint).counters.evaluated_at == 12
    best = of_type(events, BestReplaced)[-1]
    assert read_header(run.folder / BEST).counters.matches == best.matches
    assert json.loads((run.folder / BEST / RECORD).read_text())["points"] == best.points
    load_agent(run.folder, checkpoint="best").step(TIC_TAC_TOE.new_initial_state())
    assert not (run.folder / EVALUATING).exists()
    assert multiprocessing.active_children() == []
    plain = train(TIC_TAC_TOE, TINY, tmp_path / "plain")
    assert state_of(run.checkpoint) == state_of(plain.checkpoint)


def test_opponents_that_cannot_be_met_are_told_before_there_is_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"evaluation.opponents cannot be used: .*'mtcs:5'"):
        train(TIC_TAC_TOE, with_evaluation(opponents=("mtcs:5",)), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_they_are_told_at_a_resumption_too(tmp_path: Path) -> None:
    run = train(TIC_TAC_TOE, TINY, tmp_path / "run")
    edit_settings(run.folder, '[evaluation]\nevery_matches = "none"', "[evaluation]\nevery_matches = 3")
    edit_settings(run.folder, '"mcts:100"', '"mtcs:5"')
    with pytest.raises(ConfigError, match=r"evaluation.opponents cannot be used: .*'mtcs:5'"):
        resume(run.folder, more_matches=3)


def test_each_is_of_the_network_as_it_was(tmp_path: Path, fake: type[FakeCall]) -> None:
    """Which lies in the run's folder with one thread to compute with, and is the run's own when it is the best."""
    config = dataclasses.replace(EVALUATED, milestone_matches=3)
    events = events_of(config, tmp_path / "run")
    assert [event.matches for event in of_type(events, EvaluationStarted)] == [6, 12]
    assert [call.header.counters.matches for call in fake.begun] == [6, 12]
    assert [event.matches for event in of_type(events, EvaluationFinished)] == [6, 6, 12, 12]
    for call in fake.begun:
        assert call.network == tmp_path / "run" / EVALUATING
        assert call.header.config.engine.threads == 1
        milestone = read_weights(RunFolder(tmp_path / "run").checkpoint(call.header.counters.matches))
        assert all((call.weights[name] == milestone[name]).all() for name in milestone)
    assert read_header(tmp_path / "run" / BEST).config == config


def test_learning_does_not_wait_and_one_runs_at_a_time(tmp_path: Path, fake: type[FakeCall]) -> None:
    """The one that becomes due meanwhile is of the newest network, and says how many were skipped."""
    fake.looks = 2
    config = with_evaluation(every_matches=1, final_seconds=None)
    events = events_of(dataclasses.replace(config, matches_at_once=1), tmp_path / "run")
    started, finished = of_type(events, EvaluationStarted), of_type(events, EvaluationFinished)
    assert [(event.matches, event.skipped) for event in started] == [(1, 0), (4, 2), (7, 2), (10, 2)]
    assert [event.matches for event in finished] == [1, 1, 4, 4, 7, 7]
    rounds = [event.matches for event in events if isinstance(event, RoundFinished | EvaluationFinished)]
    assert rounds[:6] == [1, 2, 3, 4, 1, 1], "three rounds were played meanwhile"
    (failed,) = of_type(events, EvaluationFailed)
    assert (failed.matches, "evaluation.final_seconds" in failed.problem) == (10, True)
    assert all(call.ended for call in fake.begun)


def test_the_last_network_is_evaluated_where_that_is_asked_for(tmp_path: Path, fake: type[FakeCall]) -> None:
    events = events_of(with_evaluation(every_matches=7), tmp_path / "run")
    assert [event.matches for event in of_type(events, EvaluationStarted)] == [9, 12]
    assert isinstance(events[-1], RunFinished)
    assert read_header(RunFolder(tmp_path / "run").checkpoint()).counters.evaluated_at == 12
    told = [json.loads(line)["event"] for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert told[-4:] == ["evaluation_finished", "evaluation_finished", "best_replaced", "run_finished"]


def test_it_is_waited_for_no_longer_than_was_said(tmp_path: Path, fake: type[FakeCall]) -> None:
    fake.results = [None]
    events = events_of(with_evaluation(every_matches=7, final_seconds=0.01), tmp_path / "run")
    (failed,) = of_type(events, EvaluationFailed)
    assert failed.problem == "it did not end within the 0.01 s of evaluation.final_seconds"
    (finished,) = of_type(events, RunFinished)
    assert finished.reason == "matches"
    assert [call.ended for call in fake.begun] == [True]
    assert read_header(RunFolder(tmp_path / "run").checkpoint()).counters.evaluated_at == 0


def test_the_time_of_waiting_is_not_the_runs(tmp_path: Path, fake: type[FakeCall]) -> None:
    fake.looks = 10**9
    run = train(TIC_TAC_TOE, with_evaluation(every_matches=12, final_seconds=0.5), tmp_path / "run")
    assert read_header(run.checkpoint).counters.seconds == pytest.approx(run.seconds)
    record = json.loads((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[-1])
    assert record["seconds"] == pytest.approx(run.seconds)


def test_by_time(tmp_path: Path, fake: type[FakeCall], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each match takes a second of the run, and evaluations are two seconds apart."""
    seconds = 0.0

    def callback(event: Event) -> None:
        nonlocal seconds
        seconds += isinstance(event, RoundFinished)

    monkeypatch.setattr("athenan_spiel.training.clock.RunClock.seconds", lambda self: seconds)
    config = dataclasses.replace(with_evaluation(every_matches=None, every_seconds=2.0), matches_at_once=1, matches=7)
    train(TIC_TAC_TOE, config, tmp_path / "run", callbacks=[callback])
    assert [call.header.counters.matches for call in fake.begun] == [2, 4, 6, 7]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (CallResult(problem="no engine"), "no engine"),
        (CallResult(problem="its process ended by signal 9 (SIGKILL)"), "its process ended by signal 9 (SIGKILL)"),
    ],
)
def test_one_that_fails_ends_nothing(tmp_path: Path, fake: type[FakeCall], given: CallResult, problem: str) -> None:
    fake.results = [given]
    events = events_of(EVALUATED, tmp_path / "run")
    (failed,) = of_type(events, EvaluationFailed)
    assert (failed.matches, failed.problem[: len(problem)]) == (6, problem)
    assert [event.matches for event in of_type(events, EvaluationFinished)] == [12, 12]
    assert of_type(events, RunFinished)[0].reason == "matches"


@pytest.mark.parametrize("name", ["ProcessCall", "write_network", "replace_best"])
def test_what_the_system_refuses_ends_nothing(
    tmp_path: Path, fake: type[FakeCall], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def refused(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(evaluation, name, refused)
    events = events_of(EVALUATED, tmp_path / "run")
    problems = [event.problem for event in of_type(events, EvaluationFailed)]
    assert len(problems) == 2
    assert all(problem.endswith(": No space left on device") for problem in problems)
    assert (of_type(events, RunFinished)[0].reason, of_type(events, BestReplaced)) == ("matches", [])
    assert not (tmp_path / "run" / EVALUATING).exists()


def points(wins: int) -> CallResult:
    return result(row("mcts:2", wins, 4 - wins), row("random", wins, 4 - wins))


def test_the_best_network_stays(tmp_path: Path, fake: type[FakeCall]) -> None:
    """Until another one has as many points; a session that goes on knows it."""
    fake.results = [points(wins) for wins in (2, 1, 2, 3)]
    events = events_of(with_evaluation(every_matches=3), tmp_path / "run")
    assert [(event.matches, event.points) for event in of_type(events, BestReplaced)] == [
        (3, 0.5),
        (9, 0.5),
        (12, 0.75),
    ]
    fake.results = [points(2)]
    more: list[Event] = []
    run = resume(tmp_path / "run", more_matches=3, callbacks=[more.append])
    assert ([*of_type(more, BestReplaced)], run.matches) == ([], 15)
    assert read_header(tmp_path / "run" / BEST).counters.matches == 12
    edit_settings(tmp_path / "run", "opening_plies = 2", "opening_plies = 1")
    fake.results = [points(1)]
    resume(tmp_path / "run", more_matches=3, callbacks=[more.append])
    assert [event.matches for event in of_type(more, BestReplaced)] == [18], "with other openings nothing is compared"


def test_it_outlives_the_checkpoints(tmp_path: Path, fake: type[FakeCall]) -> None:
    fake.results = [points(wins) for wins in (4, 1, 1, 1)]
    events_of(with_evaluation(every_matches=3), tmp_path / "run")
    assert "000003" not in [path.name for path in RunFolder(tmp_path / "run").checkpoints()]
    assert read_header(tmp_path / "run" / BEST).counters.matches == 3


def test_a_request_to_stop_ends_it_at_once(tmp_path: Path, fake: type[FakeCall]) -> None:
    """Before the run is saved; and what was broken off comes after the resumption."""
    fake.results = [None]
    events: list[Event] = []
    run = train(
        TIC_TAC_TOE,
        with_evaluation(every_matches=3),
        tmp_path / "run",
        callbacks=[events.append],
        stop=lambda: len(of_type(events, RoundFinished)) == 2,
    )
    assert (run.reason, run.matches) == ("stopped", 6)
    assert [event.problem for event in of_type(events, EvaluationFailed)] == ["a stop of the run was requested"]
    assert [(call.told_to_end, call.ended) for call in fake.begun] == [(True, True)]
    events.clear()
    resume(run.folder, callbacks=[events.append])
    assert [event.matches for event in of_type(events, EvaluationStarted)] == [6, 9, 12]


def test_a_request_to_stop_ends_the_waiting(tmp_path: Path, fake: type[FakeCall]) -> None:
    """With the reason that the training had ended for."""
    fake.results = [None]
    events: list[Event] = []
    run = train(
        TIC_TAC_TOE,
        with_evaluation(every_matches=12, final_seconds=10**6),
        tmp_path / "run",
        callbacks=[events.append],
        stop=lambda: bool(of_type(events, EvaluationStarted)),
    )
    assert (run.reason, run.matches) == ("matches", 12)
    assert [event.problem for event in of_type(events, EvaluationFailed)] == ["a stop of the run was requested"]


def test_ctrl_c_ends_the_process(tmp_path: Path) -> None:
    """That of a real call, which would last for hours."""
    config = with_evaluation(opponents=("mcts:100000",), matches=1000, every_matches=3)
    config = dataclasses.replace(config, matches=None)
    processes: list[int | None] = []

    def callback(event: Event) -> None:
        if isinstance(event, EvaluationStarted):
            processes.extend(process.pid for process in multiprocessing.active_children())
        if isinstance(event, RoundFinished) and processes:
            os.kill(os.getpid(), signal.SIGINT)

    run = train("connect_four(rows=4,columns=5,x_in_row=3)", config, tmp_path / "run", callbacks=[callback])
    assert run.reason == "stopped"
    assert len(processes) == 1
    assert multiprocessing.active_children() == []
    assert not (run.folder / EVALUATING).exists()


def test_an_error_of_a_callback_ends_it(tmp_path: Path, fake: type[FakeCall]) -> None:
    def callback(event: Event) -> None:
        if isinstance(event, EvaluationFinished):
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        train(TIC_TAC_TOE, EVALUATED, tmp_path / "run", callbacks=[callback])
    assert all(call.ended for call in fake.begun)
    assert RunFolder(tmp_path / "run").checkpoint().name == "000009", "it is saved first"


def test_what_a_kill_has_left_is_removed(tmp_path: Path, fake: type[FakeCall]) -> None:
    run = train(TIC_TAC_TOE, EVALUATED, tmp_path / "run")
    (run.folder / EVALUATING).mkdir()
    (run.folder / EVALUATING / "weights.safetensors").write_bytes(b"some")
    resume(run.folder, more_matches=3)
    assert not (run.folder / EVALUATING).exists()


def test_a_link_in_its_place_is_not_followed(tmp_path: Path, fake: type[FakeCall]) -> None:
    run = train(TIC_TAC_TOE, EVALUATED, tmp_path / "run")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "thesis.tex").touch()
    (run.folder / EVALUATING).symlink_to(elsewhere)
    resume(run.folder, more_matches=3)
    assert not (run.folder / EVALUATING).exists()
    assert (elsewhere / "thesis.tex").exists()


def test_a_game_for_one_player_has_none(tmp_path: Path) -> None:
    for settings in ({"every_matches": 3}, {"every_seconds": 3.0}):
        config = dataclasses.replace(TINY, outcome="score", evaluation=EvaluationConfig(**settings))  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match=f"evaluation.{min(settings)} must be none in a game for one player"):
            train("morpion_solitaire", config, tmp_path / "run")


def test_a_run_without_evaluations_has_no_best_network(tmp_path: Path) -> None:
    run = train(TIC_TAC_TOE, TINY, tmp_path / "run")
    with pytest.raises(CheckpointError, match="has no best network"):
        load_agent(run.folder, checkpoint="best")
