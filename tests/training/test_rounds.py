"""A round's matches are learned as they end, in order; what the time limit, a stop and an early warning make of one."""

from __future__ import annotations

import dataclasses
import signal
from pathlib import Path
from typing import Any

import pyspiel
import pytest
from clocks import Clock
from training_runs import TINY, after, of_type, state_of

from athenan_spiel.evaluators import NetworkEvaluator
from athenan_spiel.play.self_play import Round
from athenan_spiel.training import resume, train
from athenan_spiel.training.events import (
    Event,
    LearningFinished,
    LearningIsLate,
    MatchFinished,
    RoundFinished,
    RoundProgress,
    StopNoticed,
)
from athenan_spiel.training.run_folder import RunFolder

GAME = pyspiel.load_game("connect_four(rows=4,columns=4,x_in_row=3)")
WIDE = dataclasses.replace(TINY, matches_at_once=6, seed=2)
"""Rounds of six matches; by this seed those of the first one end neither in their order nor the first one last."""


@pytest.fixture(autouse=True)
def _each_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athenan_spiel.training.clock.PROGRESS_SECONDS", 0.0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """It goes on by a second each time that a group's values are taken, and stands still else."""
    clock, advance = Clock(now=0.0), Round.advance

    def counted(round_: Round) -> bool:
        clock.now += 1.0
        return advance(round_)

    monkeypatch.setattr(Round, "advance", counted)
    monkeypatch.setattr("athenan_spiel.training.clock.time", clock)
    return clock


def test_a_match_is_learned_when_it_and_those_before_it_have_ended(tmp_path: Path) -> None:
    events: list[Event] = []
    train(GAME, WIDE, tmp_path / "run", callbacks=[events.append])
    learned, in_play, early = 0, 6, 0
    for event in events:
        if isinstance(event, RoundProgress):
            in_play = event.alive
            assert event.matches == learned
        elif isinstance(event, MatchFinished):
            assert event.matches == learned + 1
        elif isinstance(event, LearningFinished):
            learned += 1
            early += in_play > 1
    assert learned == 12
    assert early > 0, "while others are in play"


def test_the_others_go_on_with_the_new_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[int] = []
    load = NetworkEvaluator.load
    events: list[Event] = []

    def noted(evaluator: NetworkEvaluator, network: Any) -> None:
        loads.append(len(of_type(events, LearningFinished)))
        load(evaluator, network)

    monkeypatch.setattr(NetworkEvaluator, "load", noted)
    train(GAME, WIDE, tmp_path / "run", callbacks=[events.append])
    assert loads[0] == 0
    assert 6 in loads, "the next round begins with what was learned of the first"
    assert set(loads) - {0, 6}, "not only when the round has ended"
    assert loads == sorted(set(loads)), "once for all that are learned together"


def test_the_time_limit_keeps_what_was_learned_of_a_round(tmp_path: Path, clock: Clock) -> None:
    whole: list[Event] = []
    endless = dataclasses.replace(WIDE, matches=None)
    train(GAME, dataclasses.replace(WIDE, matches=6), tmp_path / "whole", callbacks=[whole.append])
    first = next(
        event.seconds for event in whole if isinstance(event, RoundProgress) and 0 < event.matches < 6 - event.alive
    )
    clock.now, events = 0.0, []
    run = train(GAME, dataclasses.replace(endless, seconds=first), tmp_path / "run", callbacks=[events.append])
    assert run.reason == "seconds"
    assert run.seconds == first, "no move is played beyond it"
    assert 0 < run.matches < 6
    assert of_type(events, MatchFinished)[0] == of_type(whole, MatchFinished)[0]
    (ended,) = of_type(events, RoundFinished)
    assert (ended.matches, ended.rounds) == (run.matches, 1)
    assert run.checkpoint.name == f"{run.matches:06d}"
    in_play = of_type(events, RoundProgress)[-1].alive
    assert run.matches == 6 - in_play, "those that had ended are learned, also where it was not their turn"

    more = resume(run.folder, more_matches=6, callbacks=[events.append])
    assert more.matches == run.matches + 6
    played = of_type(events, MatchFinished)
    before, after_ = played[: run.matches], played[run.matches :]
    drawn = RunFolder(run.folder).load()
    assert drawn is not None
    assert drawn.header.counters.rounds == 2
    assert {(m.length, m.evaluations) for m in before} != {(m.length, m.evaluations) for m in after_}


def test_a_round_of_which_nothing_was_learned_is_played_again(tmp_path: Path, clock: Clock) -> None:
    config = dataclasses.replace(WIDE, matches=None, seconds=3.0)
    run = train(GAME, config, tmp_path / "run")
    assert (run.reason, run.matches) == ("seconds", 0)
    clock.now = 0.0
    whole = train(GAME, WIDE, tmp_path / "whole")
    assert state_of(resume(run.folder, more_matches=12).checkpoint) == state_of(whole.checkpoint)


def test_learning_that_goes_on_beyond_the_time_limit_is_taken_back(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock jumps in the second match's phase; the first match stays, and the run is as if there had been one."""
    config = dataclasses.replace(TINY, matches=None, seconds=1000.0)
    events: list[Event] = []

    def callback(event: Event) -> None:
        events.append(event)
        if isinstance(event, LearningFinished):
            clock.now += 2000.0

    run = train(GAME, config, tmp_path / "run", callbacks=[callback])
    assert (run.reason, run.matches, len(of_type(events, MatchFinished))) == ("seconds", 1, 1)
    state = state_of(run.checkpoint)
    clock.now = 0.0

    def stopping(event: Event) -> None:
        if isinstance(event, LearningFinished):
            clock.now += 1000.0  # the end of the time, but not beyond it

    monkeypatch.setattr("athenan_spiel.training.clock.LEARNING_SECONDS", 0.0)
    again = train(GAME, config, tmp_path / "again", callbacks=[stopping])
    assert state == state_of(again.checkpoint)


@pytest.mark.parametrize("calls", range(4, 40, 5))
def test_a_stop_request_takes_back_what_was_learned_of_the_round(tmp_path: Path, calls: int) -> None:
    """So a run that was stopped at any moment ends as one that was not."""
    run = train(GAME, WIDE, tmp_path / "run", stop=after(calls))
    assert run.matches in (0, 6)
    whole = train(GAME, WIDE, tmp_path / "whole")
    assert state_of(resume(run.folder).checkpoint) == state_of(whole.checkpoint)


def test_a_stop_request_interrupts_learning_while_games_are_in_play(tmp_path: Path) -> None:
    """By this seed the first three games are learned together, before the others have ended."""
    events: list[Event] = []

    def callback(event: Event) -> None:
        events.append(event)
        if isinstance(event, MatchFinished) and event.matches == 2:
            signal.raise_signal(signal.SIGINT)

    run = train(GAME, dataclasses.replace(WIDE, seed=11), tmp_path / "run", callbacks=[callback])
    assert run.matches == 0
    assert len(of_type(events, MatchFinished)) == 2
    assert not of_type(events, StopNoticed), "learning continues for a while only if no game is in play"


def test_a_run_that_will_hardly_learn_says_so_early(tmp_path: Path, clock: Clock) -> None:
    """A match takes some 10 plies here, a ply 3 or 4 answers, and 2 groups take turns."""
    events: list[Event] = []
    train(GAME, dataclasses.replace(WIDE, matches=None, seconds=20.0), tmp_path / "run", callbacks=[events.append])
    (late,) = of_type(events, LearningIsLate)
    assert (late.matches, late.seconds) == (0, 3.0)
    assert late.expected_seconds is None or late.expected_seconds > 20.0
    assert events.index(late) < events.index(of_type(events, RoundProgress)[3])


def test_a_run_that_will_learn_in_time_says_nothing(tmp_path: Path, clock: Clock) -> None:
    events: list[Event] = []
    train(GAME, dataclasses.replace(WIDE, seconds=2000.0), tmp_path / "run", callbacks=[events.append])
    assert not of_type(events, LearningIsLate)
    assert of_type(events, MatchFinished)
