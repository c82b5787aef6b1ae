"""The learner side takes back a match or a round as if there had been none."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyspiel
import pytest
from training_runs import TINY, comparable

from athenan_spiel.config import DescentConfig, EncodingConfig
from athenan_spiel.learning.replay import StratifiedReplay
from athenan_spiel.training.actor import Actor, MatchRecord
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.plan import plan_run

GAME = pyspiel.load_game("connect_four(rows=4,columns=4,x_in_row=3)")
CONFIG = dataclasses.replace(
    TINY, search=DescentConfig(iterations=3, resolved_hours=12.0), encoding=EncodingConfig(symmetries="all")
)


class BreakError(Exception):
    """Breaks learning off."""


@pytest.fixture
def learner() -> LearnerSide:
    return one_round_learned()


def one_round_learned() -> LearnerSide:
    """A learner side with something to go back to."""
    learner = LearnerSide(plan_run(GAME, CONFIG))
    for record in records(learner, learner.new_round()):
        learner.learn(record, lambda: None)
    learner.end_round(1.0)
    return learner


def records(learner: LearnerSide, seeds: list[int]) -> list[MatchRecord]:
    playing = Actor(GAME, CONFIG, learner.outcome).play(learner.published(), learner.proven, seeds, progress=0.0)
    while playing.advance():
        pass
    return [*iter(playing.take, None)]


def state(learner: LearnerSide) -> dict[str, Any]:
    return comparable(learner.checkpoint(0.0))


@pytest.mark.parametrize("learned", [0, 1, 2])
def test_a_round_that_is_taken_back_is_the_same_again(learner: LearnerSide, learned: int) -> None:
    before = state(learner)
    seeds = learner.new_round()
    for record in records(learner, seeds)[:learned]:
        learner.learn(record, lambda: None)
    learner.drop_round()
    assert state(learner) == before
    assert learner.new_round() == seeds


@pytest.mark.parametrize("learned", [1, 2, 3])
def test_a_match_that_is_taken_back_leaves_those_before_it(learner: LearnerSide, learned: int) -> None:
    seeds = learner.new_round()
    played = records(learner, seeds)
    for record in played[: learned - 1]:
        learner.learn(record, lambda: None)
    before = state(learner)
    batches: list[None] = []

    def break_off() -> None:
        batches.append(None)
        if len(batches) == 2:
            raise BreakError

    with pytest.raises(BreakError):
        learner.learn(played[learned - 1], break_off)
    assert state(learner) != before
    learner.drop_phase()
    assert state(learner) == before
    learner.end_round(2.0)
    other = one_round_learned()
    other.new_round()
    for record in played[: learned - 1]:
        other.learn(record, lambda: None)
    other.end_round(2.0)
    assert state(other) == state(learner), "what was proven, too"


def test_where_no_round_is_in_progress_none_is_taken_back(learner: LearnerSide) -> None:
    before = state(learner)
    learner.drop_round()
    assert state(learner) == before


def test_the_time_that_a_checkpoint_tells_is_the_loops(learner: LearnerSide) -> None:
    assert learner.checkpoint(7.5).header.counters.seconds == 7.5
    assert learner.header(8.0).counters == dataclasses.replace(learner.counters, seconds=8.0)


def test_a_snapshot_is_what_was_when_it_was_taken(learner: LearnerSide) -> None:
    before = state(learner)
    snapshot = learner.snapshot(0.0)
    for record in records(learner, learner.new_round()):
        learner.learn(record, lambda: None)
    learner.end_round(1.0)
    assert state(learner) != before
    assert comparable(snapshot()) == before


def test_a_checkpoint_continues_the_calibration(learner: LearnerSide) -> None:
    assert learner.calibration.by_value.any()
    resumed = LearnerSide(learner.plan, learner.checkpoint(1.0))
    assert resumed.calibration == learner.calibration


@pytest.mark.parametrize(
    ("seconds", "share", "found"),
    [
        (100.0, 0.25, [1.0, 2.0, 4.0, 3.0, 1.5, 1.0]),
        (100.0, None, [1.0] * 6),
        (None, 0.25, [1.0] * 6),
    ],
)
def test_learning_takes_its_share_of_the_time(
    seconds: float | None, share: float | None, found: list[float], learner: LearnerSide
) -> None:
    replay = dataclasses.replace(CONFIG.replay, matches=50, learning_share=share)
    learner.adapt(dataclasses.replace(CONFIG, seconds=seconds, replay=replay))
    learner.replay = StratifiedReplay(replay, np.random.default_rng(0))
    learner._round_ended, now = None, 10.0
    intensities = []
    for taken in (1.0, 0.1, 0.1, 10 / 3, 10.0, 10.0):  # seconds of every ten
        now += 10.0
        learner._learning_seconds = taken
        learner.end_round(now)
        intensities.append(learner.replay.intensity)
    assert intensities == pytest.approx(found)


def test_phases_measure_their_time(learner: LearnerSide) -> None:
    assert learner._learning_seconds == 0
    (record, *_) = records(learner, learner.new_round())
    _, report = learner.learn(record, lambda: None)
    assert learner._learning_seconds == report.learning_seconds > 0
