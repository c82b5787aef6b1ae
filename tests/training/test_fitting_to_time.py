"""The settings of a run with a limit in time: its first games end early in it, however long games are."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pyspiel
import pytest
from clocks import Clock
from training_runs import TINY, of_type

from athenan_spiel.config import DescentConfig, TrainingConfig, WarmUpConfig, WorkersConfig
from athenan_spiel.errors import CheckpointError
from athenan_spiel.play.self_play import Round
from athenan_spiel.training import preset, resume, train
from athenan_spiel.training.actors.messages import ActorTask
from athenan_spiel.training.actors.playing import Games
from athenan_spiel.training.adaptation import Adaptation
from athenan_spiel.training.broadcast import Broadcast
from athenan_spiel.training.checkpoints import read_header
from athenan_spiel.training.events import (
    Event,
    LearningIsLate,
    MatchFinished,
    RoundProgress,
    RunStarted,
    SettingsAdapted,
)
from athenan_spiel.training.fitting import (
    BY_TIME,
    FIRST_GAMES_SHARE,
    LATEST_SHARE,
    LEAST_AT_ONCE,
    REUSE_FACTOR,
    WORKER_START_SECONDS,
    Fit,
    RandomGames,
    evaluations_per_move,
    evaluations_per_second,
    fit_to,
    fit_to_time,
    least_evaluations,
    reduced,
)
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.plan import plan_run
from athenan_spiel.training.run_folder import RunFolder

QUICK = preset("quick")
GAME = pyspiel.load_game("connect_four")
SHORT, MIDDLE, LONG, WIDE = RandomGames(22, 7), RandomGames(70, 11), RandomGames(480, 24), RandomGames(172, 104)


def numbers(config: TrainingConfig) -> tuple[int | None, ...]:
    return config.matches_at_once, config.search.evaluations, config.search.longest_descent


def first_games_seconds(config: TrainingConfig, lengths: RandomGames, speed: float) -> float:
    """When the first games end, if they last as long as random ones."""
    evaluations = config.matches_at_once * lengths.length * evaluations_per_move(config.search, lengths)
    return evaluations * REUSE_FACTOR / speed


@pytest.mark.parametrize("taken", [0.0, 1.0, 5.0])
def test_the_first_games_have_a_fraction_of_the_time_after_the_warm_up(taken: float) -> None:
    """Measurements before its end take nothing of that."""
    cold = dataclasses.replace(QUICK, seconds=100.0)
    warm = dataclasses.replace(cold, seconds=115.0, warm_up=WarmUpConfig(method="games", seconds=15.0))

    def found(config: TrainingConfig, elapsed: float) -> tuple[int | None, ...]:
        return numbers(fit_to_time(config, LONG, 17695, BY_TIME, lambda config: 20_000.0, elapsed=lambda: elapsed))

    assert found(warm, 15.0 + taken) == found(cold, taken)
    assert found(warm, taken) == found(cold, 0.0)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("seconds", [60.0, 180.0, 600.0, 3600.0])
@pytest.mark.parametrize(("lengths", "longest"), [(SHORT, 42), (MIDDLE, 17695), (LONG, 17695), (WIDE, 190)])
@pytest.mark.parametrize("speed", [4_000.0, 16_000.0, 50_000.0])
def test_the_first_games_end_early_or_a_move_has_few_evaluations(
    speed: float, lengths: RandomGames, longest: int, seconds: float, workers: int
) -> None:
    config = dataclasses.replace(QUICK, seconds=seconds, workers=WorkersConfig(count=workers))
    found = fit_to_time(config, lengths, longest, BY_TIME, lambda config: speed, elapsed=lambda: 1.0)
    start = 1.0 + (WORKER_START_SECONDS if workers else 0.0)
    room = max(FIRST_GAMES_SHARE * seconds / 2, FIRST_GAMES_SHARE * seconds - start)
    latest = max(LATEST_SHARE * seconds / 2, LATEST_SHARE * seconds - start)
    least = reduced(config, 1e9, 1e9, lengths, BY_TIME)
    found_seconds = first_games_seconds(found, lengths, speed)
    assert found_seconds <= 1.0001 * max(latest, first_games_seconds(least, lengths, speed))
    if found_seconds > room:
        assert found.matches_at_once <= LEAST_AT_ONCE
        assert (found.search.evaluations or 0) <= least_evaluations(found.search, lengths)
    assert found.matches_at_once <= config.matches_at_once
    assert found.matches_at_once == 16 or first_games_seconds(config, lengths, speed) > room, "no more than needed"


@pytest.mark.parametrize(
    ("lengths", "longest", "speed", "expected"),
    [
        (SHORT, 42, 150_000.0, (16, 2000, None)),
        (SHORT, 42, 30_000.0, (8, 2000, None)),
        (MIDDLE, 17695, 200_000.0, (8, 2000, 280)),
        (MIDDLE, 17695, 53_000.0, (4, 1000, 280)),
        (MIDDLE, 17695, 13_000.0, (4, 200, 18)),
        (MIDDLE, 17695, 4_000.0, (4, 200, 18)),
        (LONG, 17695, 4_000.0, (1, 200, 8)),
        (WIDE, 190, 100_000.0, (4, 1000, 10)),
    ],
)
def test_games_at_once_are_reduced_first(
    lengths: RandomGames, longest: int, speed: float, expected: tuple[int | None, ...]
) -> None:
    """To 4, then evaluations to 200, then both further if a tenth of the time is too short; descents are bounded."""
    assert numbers(fit_to_time(QUICK, lengths, longest, BY_TIME, lambda config: speed)) == expected


def test_the_least_evaluations_are_those_of_ten_states() -> None:
    assert [least_evaluations(QUICK.search, lengths) for lengths in (SHORT, LONG, WIDE)] == [200, 200, 1000]
    assert least_evaluations(preset("alphazero").search, WIDE) == 200, "MCTS evaluates no children"


def test_the_speed_is_measured_again_with_fewer_games_at_once() -> None:
    asked: list[int] = []

    def speed(config: TrainingConfig) -> float:
        asked.append(config.matches_at_once)
        return 33_000.0 * config.matches_at_once / 16

    found = fit_to_time(QUICK, SHORT, 42, BY_TIME, speed)
    assert asked == [16, 8, 4]
    assert first_games_seconds(found, SHORT, speed(found)) <= FIRST_GAMES_SHARE * 180


def test_the_time_of_the_measurements_counts() -> None:
    """One that takes 2.6 of 5.4 s leaves less for the games."""

    def matches_at_once(seconds: float) -> int:
        moment = 0.0

        def speed(config: TrainingConfig) -> float:
            nonlocal moment
            moment += seconds
            return 66_000.0

        return fit_to_time(QUICK, SHORT, 42, BY_TIME, speed, lambda: moment).matches_at_once

    assert (matches_at_once(0.0), matches_at_once(2.6)) == (16, 8)


def test_a_measurement_that_takes_too_long_is_not_repeated() -> None:
    asked: list[int] = []

    def speed(config: TrainingConfig) -> float:
        asked.append(config.matches_at_once)
        return 100.0

    found = fit_to_time(QUICK, SHORT, 42, BY_TIME, speed, lambda: 20.0 * len(asked))
    assert (asked, found.matches_at_once) == ([16], 1)


def test_a_first_call_of_a_tenth_of_the_time_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one could take as long."""
    clock = Clock()

    class Playing:
        evaluations = 0

        def advance(self) -> bool:
            assert self.evaluations == 0, "a second call"
            clock.now += 20.0
            self.evaluations = 1_000
            return True

    monkeypatch.setattr("athenan_spiel.training.fitting.Actor.play", lambda *_, **__: Playing())
    monkeypatch.setattr("athenan_spiel.training.fitting.time", clock)
    config = dataclasses.replace(TINY, seconds=180.0, matches=None)
    assert evaluations_per_second(GAME, config) == pytest.approx(50.0)


def test_only_named_settings_are_reduced() -> None:
    for name, expected in zip(BY_TIME, [(1, 2000, None), (16, 10, None), (16, 2000, 280)], strict=True):
        assert numbers(fit_to_time(QUICK, MIDDLE, 17695, [name], lambda config: 500.0)) == expected


@pytest.mark.parametrize(
    "config",
    [
        dataclasses.replace(QUICK, seconds=None, matches=100),
        dataclasses.replace(QUICK, search=DescentConfig(seconds=1.0, iterations=None)),
        dataclasses.replace(QUICK, search=DescentConfig(network_seconds=1.0, iterations=None)),
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
    monkeypatch.setattr("athenan_spiel.training.plan.measure", lambda *_: RandomGames(22.0, 7.0))
    monkeypatch.setattr("athenan_spiel.training.fitting.evaluations_per_second", lambda *_, **__: 10_000.0)
    config = dataclasses.replace(TINY, seconds=20.0, matches_at_once=16, search=QUICK.search)
    events: list[Event] = []
    train(GAME, config, tmp_path / "run", fit=BY_TIME, callbacks=[events.append])
    assert isinstance(events[0], RunStarted)
    assert events[0].config.matches_at_once == 4
    assert "chosen: 4 games at once, 200 evaluations per move" in (events[0].choice or "")
    assert fit_to(GAME, config, RandomGames(22.0, 7.0), BY_TIME)[1] == config, "without a clock"


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
    TINY, matches=None, seconds=300.0, matches_at_once=8, search=DescentConfig(iterations=None, evaluations=500)
)
"""A game of Connect Four takes some hundred of answers for each of its 8 neighbours."""


def underestimated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random games seem to last two moves, on a machine that seems very fast."""
    monkeypatch.setattr("athenan_spiel.training.plan.measure", lambda *_: RandomGames(2.0, 7.0))
    monkeypatch.setattr("athenan_spiel.training.fitting.evaluations_per_second", lambda *_, **__: 1e9)


def test_settings_adapt_when_games_last_longer_than_random_ones(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    underestimated(monkeypatch)
    plain = train(GAME, DEEP, tmp_path / "plain")
    clock.now, events = 0.0, []
    ended: list[float] = []

    def listen(event: Event) -> None:
        events.append(event)
        if isinstance(event, MatchFinished):
            ended.append(clock.now)

    run = train(GAME, DEEP, tmp_path / "run", fit=BY_TIME, callbacks=[listen])
    adapted = of_type(events, SettingsAdapted)
    assert adapted[0].matches == 0
    assert adapted[0].seconds <= 20.0
    assert ended[0] <= 60.0
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
    more = resume(run.folder, more_matches=5, callbacks=[events.append])
    assert (more.matches, numbers(more.config)) == (run.matches + 5, numbers(run.config))
    assert not of_type(events, SettingsAdapted)
    names = [json.loads(line)["event"] for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    assert "settings_adapted" in names


@pytest.mark.parametrize("edited", [False, True])
def test_a_resumed_session_adapts_settings_that_were_not_edited(
    edited: bool, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    underestimated(monkeypatch)
    run = train(GAME, DEEP, tmp_path / "run", fit=BY_TIME, stop=lambda: clock.now > 5.0)
    assert (run.matches, numbers(run.config)) == (0, numbers(DEEP))
    if edited:
        path = run.folder / "config.toml"
        text = path.read_text()
        assert "evaluations = 500\n" in text
        path.write_text(text.replace("evaluations = 500\n", "evaluations = 400\n"))
    clock.now, events = 0.0, []
    more = resume(run.folder, more_seconds=300.0, callbacks=[events.append])
    assert of_type(events, SettingsAdapted)
    assert more.config.matches_at_once < 8
    evaluations = more.config.search.evaluations or 0
    assert evaluations == 400 if edited else evaluations < 400


def test_a_checkpoint_says_what_the_settings_were_fitted_to() -> None:
    fit = Fit(RandomGames(22.0, 7.0), list(BY_TIME))
    assert Fit.restored(fit.to_dict(), QUICK, QUICK) == fit
    assert Fit.restored(None, QUICK, QUICK) is None
    edited = dataclasses.replace(QUICK, matches_at_once=3)
    restored = Fit.restored(fit.to_dict(), edited, QUICK)
    assert restored is not None
    assert restored.names == list(BY_TIME[1:])
    for change in ({"length": 0.0}, {"branching": float("nan")}, {"length": "9"}, {"branching": 1e30}, {"names": None}):
        with pytest.raises(CheckpointError, match="length, branching, names"):
            Fit.restored(fit.to_dict() | change, QUICK, QUICK)
    assert Fit.restored(fit.to_dict() | {"names": ["seed", [1]]}, QUICK, QUICK) == Fit(RandomGames(22.0, 7.0), [])


def fitted_learner(config: TrainingConfig) -> LearnerSide:
    """A learner of a run whose random games take 60 moves."""
    return LearnerSide(dataclasses.replace(plan_run(GAME, config), fit=Fit(RandomGames(60.0, 7.0), BY_TIME)))


@dataclasses.dataclass
class Player:
    """Plays games of one length, each move for as many evaluations as the settings say, under an `Adaptation`."""

    length: float
    planned_share: float
    matches_at_once: int = 4
    evaluations: int = 5000
    warm_up: float = 0.0
    told: list[Event] = dataclasses.field(default_factory=list)

    def first_game_share(self, *, begins: float = 2.0) -> float:
        """When the first game ends, as a share of the 400 s after the warm-up, where random games take 60 moves."""
        search = DescentConfig(iterations=None, evaluations=self.evaluations)
        config = dataclasses.replace(
            QUICK,
            seconds=400.0 + self.warm_up,
            warm_up=WarmUpConfig(method="games", seconds=self.warm_up or None),
            matches_at_once=self.matches_at_once,
            search=search,
        )
        learner = fitted_learner(config)
        adaptation = Adaptation(learner, Broadcast([self.told.append]), lambda config: None)
        speed = self.matches_at_once * 60.0 * self.evaluations / (self.planned_share * 400.0 - begins)
        seconds, plies, played = begins, 0.0, 0.0
        while played < self.length and seconds < 400.0:
            config = learner.config
            seconds += 0.25
            played += 0.25 * speed / config.matches_at_once / (config.search.evaluations or 1)
            plies += 0.25 * speed / (config.search.evaluations or 1)
            progress = RoundProgress(
                matches=0,
                seconds=self.warm_up + seconds,
                alive=config.matches_at_once,
                plies=round(plies),
                plies_in_play=round(played * config.matches_at_once),
                evaluations=0,
                evaluations_per_second=0.0,
            )
            adaptation.adapt(progress)
        return seconds / 400.0


@pytest.mark.parametrize("warm_up", [0.0, 60.0])
@pytest.mark.parametrize("matches_at_once", [1, 4, 8])
@pytest.mark.parametrize(
    ("length", "planned_share", "expected"),
    [
        (60.0, 0.03, 0.0306),
        (120.0, 0.024, 0.03),
        (240.0, 0.018, 0.033),
        (240.0, 0.024, 0.0375),
        (480.0, 0.024, 0.045),
    ],
)
def test_games_in_play_are_measured_before_the_first_has_ended(
    length: float, planned_share: float, expected: float, matches_at_once: int, warm_up: float
) -> None:
    player = Player(length, planned_share, matches_at_once, warm_up=warm_up)
    assert player.first_game_share() <= expected
    assert bool(player.told) == (length > 60.0), "games as long as random ones are played as planned"


@pytest.mark.parametrize("planned_share", [0.04, 0.06, 0.09])
def test_few_games_with_few_evaluations_may_last_a_tenth_of_the_time(planned_share: float) -> None:
    player = Player(60.0, planned_share, matches_at_once=4, evaluations=200)
    assert player.first_game_share() == pytest.approx(planned_share, abs=0.002)
    for event in of_type(player.told, SettingsAdapted):
        assert (event.matches_at_once, event.evaluations_per_move) == (4, 200), "only descents were bounded"
    late = Player(60.0, 0.16, matches_at_once=4, evaluations=200)
    assert late.first_game_share() <= 0.105
    assert late.told


def test_games_that_end_together_within_a_tenth_of_the_time_are_not_reduced() -> None:
    """All four end after 32, 64, 96 ... of 400 s."""
    told: list[Event] = []
    search = DescentConfig(iterations=None, evaluations=200, longest_descent=28)
    config = dataclasses.replace(QUICK, seconds=400.0, matches_at_once=4, search=search)
    adaptation = Adaptation(fitted_learner(config), Broadcast([told.append]), lambda config: None)
    for quarter in range(8, 1600):
        generation, rest = divmod(quarter / 4, 32.0)
        progress = RoundProgress(
            matches=4 * int(generation),
            seconds=quarter / 4,
            alive=4,
            plies=round(4 * 60 * (generation + rest / 32.0)),
            plies_in_play=round(4 * 60 * rest / 32.0),
            evaluations=0,
            evaluations_per_second=0.0,
        )
        adaptation.adapt(progress)
    assert not told


def test_play_that_begins_late_keeps_half_of_the_time_for_the_first_games() -> None:
    player = Player(60.0, 0.06)
    assert player.first_game_share(begins=18.0) <= 0.0606
    assert not player.told


def test_moves_of_dropped_games_do_not_count() -> None:
    """Else the others would seem to have lasted far longer than random games."""
    learner = LearnerSide(plan_run(GAME, TINY))
    games = Games(ActorTask("connect_four", TINY, learner.outcome.parameters, None))
    games.load(learner.published(), 0.0)
    games.plan(range(8))
    games.adapt(dataclasses.replace(TINY, matches_at_once=8), 0.0)
    games.begin(0.0)
    while games.state(0, 0.0).plies < 40:
        games.advance()
    before = games.state(0, 0.0)
    assert before.plies_in_play <= before.plies
    games.adapt(dataclasses.replace(TINY, matches_at_once=2), 0.0)
    after = games.state(0, 0.0)
    assert (after.alive, after.plies) == (2, before.plies)
    assert 0 < after.plies_in_play < before.plies_in_play / 2


@pytest.mark.parametrize("name", ["seconds", "names"])
def test_settings_stay_without_a_time_limit_or_if_given(
    name: str, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    underestimated(monkeypatch)
    events: list[Event] = []
    config = dataclasses.replace(DEEP, seconds=None, matches=8) if name == "seconds" else DEEP
    run = train(GAME, config, tmp_path / "run", fit=() if name == "names" else BY_TIME, callbacks=[events.append])
    assert not of_type(events, SettingsAdapted)
    assert run.config == config


def test_a_run_whose_games_end_in_time_is_not_adapted(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    underestimated(monkeypatch)
    events: list[Event] = []
    config = dataclasses.replace(TINY, seconds=20_000.0)
    train(GAME, config, tmp_path / "run", fit=BY_TIME, callbacks=[events.append])
    assert not of_type(events, SettingsAdapted)
    assert of_type(events, MatchFinished)


def test_a_worker_begins_dropped_games_anew() -> None:
    learner = LearnerSide(plan_run(GAME, DEEP))
    games = Games(ActorTask("connect_four", DEEP, learner.outcome.parameters, None))
    games.load(learner.published(), 0.0)
    games.plan(range(8))
    games.begin(0.0)
    games.advance()
    assert games.alive == 8
    games.adapt(dataclasses.replace(DEEP, matches_at_once=2, search=DescentConfig(iterations=1)), 0.0)
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
    search = DescentConfig(iterations=None, evaluations=20_000_000)
    config = dataclasses.replace(DEEP, seconds=60.0, search=search, workers=WorkersConfig(count=1))
    events: list[Event] = []
    run = train(GAME, config, tmp_path / "run", fit=BY_TIME, callbacks=[events.append], stop=lambda: has_ended(events))
    assert of_type(events, SettingsAdapted)
    assert run.matches > 0
    assert (run.config.search.evaluations or 0) < 20_000_000


def has_ended(events: list[Event]) -> bool:
    return bool(of_type(events, MatchFinished))
