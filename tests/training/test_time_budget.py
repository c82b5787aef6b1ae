"""The settings of a run with a limit in time: its first games end within a tenth of it, however long games are."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pyspiel
import pytest
from clocks import Clock
from training_runs import TINY, of_type

from athenan_spiel.config import SearchConfig, TrainingConfig, WorkersConfig
from athenan_spiel.play.self_play import Round
from athenan_spiel.training import preset, resume, train
from athenan_spiel.training.checkpoints import read_header
from athenan_spiel.training.events import (
    Event,
    LearningIsLate,
    MatchFinished,
    RoundProgress,
    RunStarted,
    SettingsAdapted,
)
from athenan_spiel.training.fitting import BY_TIME, Measured, fit_to
from athenan_spiel.training.fleet.matches import Matches
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.run_folder import RunFolder
from athenan_spiel.training.time_budget import (
    FIRST_GAMES_SHARE,
    REUSE_FACTOR,
    WORKER_START_SECONDS,
    Lengths,
    evaluations_per_move,
    evaluations_per_second,
    fit_to_time,
    reduced,
)

QUICK = preset("quick")
GAME = pyspiel.load_game("connect_four")
SHORT, MIDDLE, LONG, WIDE = Lengths(22, 7), Lengths(70, 11), Lengths(480, 24), Lengths(172, 104)


def numbers(config: TrainingConfig) -> tuple[int | None, ...]:
    return config.matches_at_once, config.search.evaluations, config.search.longest_descent


def first_games_seconds(config: TrainingConfig, lengths: Lengths, speed: float) -> float:
    """When the first games end, if they last as long as random ones."""
    evaluations = config.matches_at_once * lengths.length * evaluations_per_move(config.search, lengths)
    return evaluations * REUSE_FACTOR / speed


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("seconds", [60.0, 180.0, 600.0, 3600.0])
@pytest.mark.parametrize(("lengths", "longest"), [(SHORT, 42), (MIDDLE, 17695), (LONG, 17695), (WIDE, 190)])
@pytest.mark.parametrize("speed", [4_000.0, 16_000.0, 50_000.0])
def test_the_first_games_end_within_a_tenth_of_the_time(
    speed: float, lengths: Lengths, longest: int, seconds: float, workers: int
) -> None:
    config = dataclasses.replace(QUICK, seconds=seconds, workers=WorkersConfig(count=workers))
    found = fit_to_time(config, lengths, longest, BY_TIME, lambda config: speed, elapsed=1.0)
    start = 1.0 + (WORKER_START_SECONDS if workers else 0.0)
    room = max(FIRST_GAMES_SHARE * seconds / 2, FIRST_GAMES_SHARE * seconds - start)
    least = reduced(config, 1e9, lengths, BY_TIME)
    found_seconds = first_games_seconds(found, lengths, speed)
    assert found_seconds <= max(room, first_games_seconds(least, lengths, speed))
    assert found.matches_at_once <= config.matches_at_once
    assert found.matches_at_once == 16 or first_games_seconds(config, lengths, speed) > room, "no more than needed"


@pytest.mark.parametrize(
    ("lengths", "longest", "speed", "expected"),
    [
        (SHORT, 42, 45_000.0, (16, 2000, None)),
        (SHORT, 42, 10_000.0, (8, 2000, None)),
        (MIDDLE, 17695, 60_000.0, (8, 2000, 280)),
        (MIDDLE, 17695, 16_000.0, (4, 1000, 280)),
        (MIDDLE, 17695, 4_000.0, (4, 200, 18)),
        (LONG, 17695, 4_000.0, (1, 200, 8)),
    ],
)
def test_games_at_once_are_reduced_first(
    lengths: Lengths, longest: int, speed: float, expected: tuple[int | None, ...]
) -> None:
    """To 4, then evaluations to 200; a descent that need not end in time is bounded."""
    assert numbers(fit_to_time(QUICK, lengths, longest, BY_TIME, lambda config: speed)) == expected


def test_the_speed_is_measured_again_with_fewer_games_at_once() -> None:
    asked: list[int] = []

    def speed(config: TrainingConfig) -> float:
        asked.append(config.matches_at_once)
        return 10_000.0 * config.matches_at_once / 16

    found = fit_to_time(QUICK, SHORT, 42, BY_TIME, speed)
    assert asked == [16, 8, 4]
    assert first_games_seconds(found, SHORT, speed(found)) <= FIRST_GAMES_SHARE * 180


def test_only_named_settings_are_reduced() -> None:
    for name, expected in zip(BY_TIME, [(1, 2000, None), (16, 10, None), (16, 2000, 280)], strict=True):
        assert numbers(fit_to_time(QUICK, MIDDLE, 17695, [name], lambda config: 500.0)) == expected


@pytest.mark.parametrize(
    "config",
    [
        dataclasses.replace(QUICK, seconds=None, matches=100),
        dataclasses.replace(QUICK, search=SearchConfig(seconds=1.0, iterations=None)),
        dataclasses.replace(QUICK, search=SearchConfig(network_seconds=1.0, iterations=None)),
    ],
)
def test_without_a_limit_in_time_or_with_a_timed_search_nothing_changes(config: TrainingConfig) -> None:
    assert fit_to_time(config, LONG, 17695, BY_TIME, lambda config: 1 / 0) == config


def test_the_speed_is_that_of_self_play() -> None:
    config = dataclasses.replace(TINY, seconds=5.0, matches=None)
    assert evaluations_per_second(GAME, config) > 10
    workers = dataclasses.replace(config, workers=WorkersConfig(count=1000, max_staleness=10**6))
    assert evaluations_per_second(GAME, workers) < 10_000, "which share the cores"


def test_a_run_measures_its_speed_and_reports_what_it_chose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athenan_spiel.training.loop.measure", lambda game: Measured(22.0, 7.0, slow=False))
    monkeypatch.setattr("athenan_spiel.training.fitting.evaluations_per_second", lambda game, config: 10_000.0)
    config = dataclasses.replace(TINY, seconds=20.0, matches_at_once=16, search=QUICK.search)
    events: list[Event] = []
    train(GAME, config, tmp_path / "run", fit=BY_TIME, listeners=[events.append])
    assert isinstance(events[0], RunStarted)
    assert events[0].config.matches_at_once == 4
    assert "chosen: 4 matches at once, 200 evaluations a move" in (events[0].choice or "")
    assert fit_to(GAME, config, Measured(22.0, 7.0, slow=False), BY_TIME)[1] == config, "without a clock"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """It moves by a second each time that a group of games advances."""
    clock, advance = Clock(now=0.0), Round.advance

    def counted(round_: Round) -> bool:
        clock.now += 1.0
        return advance(round_)

    monkeypatch.setattr(Round, "advance", counted)
    monkeypatch.setattr("athenan_spiel.training.clock.time", clock)
    monkeypatch.setattr("athenan_spiel.training.clock.PROGRESS_SECONDS", 0.0)
    return clock


DEEP = dataclasses.replace(
    TINY, matches=None, seconds=300.0, matches_at_once=8, search=SearchConfig(iterations=None, evaluations=500)
)
"""A game of Connect Four takes some hundred of answers for each of its 8 neighbours."""


def underestimated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random games seem to last two moves, on a machine that seems very fast."""
    monkeypatch.setattr("athenan_spiel.training.loop.measure", lambda game: Measured(2.0, 7.0, slow=False))
    monkeypatch.setattr("athenan_spiel.training.fitting.evaluations_per_second", lambda game, config: 1e9)


def test_settings_adapt_when_games_last_longer_than_random_ones(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    underestimated(monkeypatch)
    plain = train(GAME, DEEP, tmp_path / "plain")
    clock.now, events = 0.0, []
    run = train(GAME, DEEP, tmp_path / "run", fit=BY_TIME, listeners=[events.append])
    adapted = of_type(events, SettingsAdapted)
    assert adapted[0].matches == 0
    assert 30.0 <= adapted[0].seconds < 33.0, "a tenth of the time"
    assert run.matches >= plain.matches + 10, f"{plain.matches} games without adaptation"
    assert not of_type(events, LearningIsLate)
    last = adapted[-1]
    assert (last.matches_at_once, last.evaluations_per_move, last.longest_descent) == numbers(run.config)
    assert numbers(run.config) < numbers(DEEP)[:1]
    in_play = [event.alive for event in events if isinstance(event, RoundProgress) and event.seconds > last.seconds]
    assert max(in_play) <= last.matches_at_once, "games in excess were dropped"


def test_adapted_settings_are_stored_and_resumed_with(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    underestimated(monkeypatch)
    run = train(GAME, DEEP, tmp_path / "run", fit=BY_TIME)
    assert run.config != DEEP
    assert RunFolder(run.folder).settings()[1] == run.config
    assert read_header(run.checkpoint).config == run.config
    events: list[Event] = []
    more = resume(run.folder, more_matches=5, listeners=[events.append])
    assert (more.matches, numbers(more.config)) == (run.matches + 5, numbers(run.config))
    assert not of_type(events, SettingsAdapted)
    names = [json.loads(line)["event"] for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    assert "settings_adapted" in names


@pytest.mark.parametrize("name", ["seconds", "names"])
def test_settings_stay_without_a_time_limit_or_if_given(
    name: str, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    underestimated(monkeypatch)
    events: list[Event] = []
    config = dataclasses.replace(DEEP, seconds=None, matches=8) if name == "seconds" else DEEP
    run = train(GAME, config, tmp_path / "run", fit=() if name == "names" else BY_TIME, listeners=[events.append])
    assert not of_type(events, SettingsAdapted)
    assert run.config == config


def test_a_run_whose_games_end_in_time_is_not_adapted(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    underestimated(monkeypatch)
    events: list[Event] = []
    config = dataclasses.replace(TINY, seconds=20_000.0)
    train(GAME, config, tmp_path / "run", fit=BY_TIME, listeners=[events.append])
    assert not of_type(events, SettingsAdapted)
    assert of_type(events, MatchFinished)


def test_a_worker_begins_dropped_games_anew() -> None:
    learner = LearnerSide(GAME, DEEP)
    games = Matches("connect_four", DEEP, learner.outcome.parameters, None)
    games.load(learner.published(), 0.0)
    games.plan(range(8))
    games.begin(0.0)
    games.advance()
    assert games.alive == 8
    games.adapt(dataclasses.replace(DEEP, matches_at_once=2, search=SearchConfig(iterations=1)), 0.0)
    assert games.alive == 2
    ended = 0
    while games.alive:
        ended += len(games.advance())
        games.begin(0.0)
        assert games.alive <= 2
    assert ended == 8


@pytest.mark.slow(reason="a process plays for some seconds before its settings are adapted")
def test_workers_adapt_the_games_in_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without that, the first game would take an hour."""
    underestimated(monkeypatch)
    search = SearchConfig(iterations=None, evaluations=20_000_000)
    config = dataclasses.replace(DEEP, seconds=60.0, search=search, workers=WorkersConfig(count=1))
    events: list[Event] = []
    run = train(GAME, config, tmp_path / "run", fit=BY_TIME, listeners=[events.append], stop=lambda: has_ended(events))
    assert of_type(events, SettingsAdapted)
    assert run.matches > 0
    assert (run.config.search.evaluations or 0) < 20_000_000


def has_ended(events: list[Event]) -> bool:
    return bool(of_type(events, MatchFinished))
