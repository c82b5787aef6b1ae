"""How wide a network is chosen, by what a step of the gradient takes."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import pyspiel
import pytest

import athenan_spiel as ath
from athenan_spiel.config import NetworkConfig, TrainingConfig
from athenan_spiel.encoding import Encoder
from athenan_spiel.training import preset
from athenan_spiel.training.events import Event, RunStarted
from athenan_spiel.training.fitting import MEASURED_ROWS, MEASURED_STEPS, MIN_SAMPLES, WIDTHS, step_seconds, widest

QUICK = preset("quick")
BOARDS = Encoder(pyspiel.load_game("connect_four"))


class Steps:
    """A clock by which each step of the gradient takes so many seconds, a width after the other."""

    def __init__(self, *seconds: float) -> None:
        self._seconds = itertools.chain.from_iterable([second] * (1 + MEASURED_STEPS) for second in seconds)
        self._now = 0.0
        self._begins = False

    def __call__(self) -> float:
        self._begins = not self._begins
        if not self._begins:
            self._now += next(self._seconds)
        return self._now


def in_seconds(seconds: float | None) -> TrainingConfig:
    """`quick` with minibatches of `MEASURED_ROWS` states, so that what is measured counts once."""
    matches = None if seconds is not None else 10
    learner = dataclasses.replace(QUICK.learner, batch_size=MEASURED_ROWS)
    return dataclasses.replace(QUICK, seconds=seconds, matches=matches, learner=learner)


@pytest.mark.parametrize(
    ("steps", "filters"),
    [((1.0, 0.5), 64), ((1.01, 1.0), 32), ((1.01, 1.01), 16)],
)
def test_the_widest_that_there_is_time_for(steps: tuple[float, float], filters: int) -> None:
    assert widest(in_seconds(MIN_SAMPLES / MEASURED_ROWS), BOARDS, Steps(*steps)) == filters
    assert filters in WIDTHS


def test_half_the_minibatch_in_half_the_time_is_as_fast() -> None:
    config = in_seconds(MIN_SAMPLES / MEASURED_ROWS)
    half = dataclasses.replace(config, learner=dataclasses.replace(config.learner, batch_size=MEASURED_ROWS // 2))
    assert widest(half, BOARDS, Steps(0.5, 0.25)) == 64
    assert widest(half, BOARDS, Steps(0.51, 0.5)) == 32


@pytest.mark.parametrize(
    ("config", "encoder"),
    [
        (in_seconds(None), BOARDS),
        (dataclasses.replace(in_seconds(1), network=NetworkConfig(filters=7, architecture="mlp")), BOARDS),
        (in_seconds(1), Encoder(pyspiel.load_game("nim"))),
    ],
    ids=["no limit in time", "mlp", "no boards"],
)
def test_it_stays_where_nothing_hangs_on_it(config: TrainingConfig, encoder: Encoder) -> None:
    assert widest(config, encoder, Steps()) == config.network.filters


def test_the_default_minibatch_is_measured_whole() -> None:
    """The time of Muon does not depend on the number of rows."""
    assert QUICK.learner.batch_size <= MEASURED_ROWS


@pytest.mark.parametrize(("name", "rows"), [("quick", 512), ("alphazero", 128), ("quick", 2048)])
def test_a_step_is_taken_for_what_its_minibatch_takes(name: str, rows: int) -> None:
    config = preset(name)
    config = dataclasses.replace(config, learner=dataclasses.replace(config.learner, batch_size=rows))
    share = max(1, rows / MEASURED_ROWS)
    assert step_seconds(config, BOARDS, 16, Steps(0.25)) == 0.25 * share
    assert step_seconds(config, BOARDS, 16) > 0


@pytest.mark.parametrize(("seconds", "expected"), [(5.0, 2), (60.0, 3), (3600.0, 1 + MEASURED_STEPS)])
def test_long_steps_are_measured_less_often_in_a_short_run(seconds: float, expected: int) -> None:
    """For 0.5 % of the training time, but one step at least."""
    clock = Steps(0.1)
    step_seconds(in_seconds(seconds), BOARDS, 16, clock)
    assert round(clock() / 0.1) == expected


def test_a_run_of_a_moment_has_a_narrow_network_and_says_so(tmp_path: Path) -> None:
    told: list[Event] = []
    config = dataclasses.replace(in_seconds(0.5), matches_at_once=1)
    run = ath.train("connect_four", config, tmp_path / "run", fit=["network.filters"], callbacks=[told.append])
    assert f"filters = {WIDTHS[-1]}" in (run.folder / "config.toml").read_text()
    (started,) = (event for event in told if isinstance(event, RunStarted))
    assert started.choice is not None
    assert started.choice.endswith(f"chosen: {WIDTHS[-1]} filters")
