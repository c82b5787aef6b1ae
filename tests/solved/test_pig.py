"""The values of `benchmarks/pig.py` are the published ones, and what it says of a policy."""

from __future__ import annotations

import importlib
from types import ModuleType

import numpy as np
import pytest


@pytest.fixture
def pig() -> ModuleType:
    return importlib.import_module("pig")


@pytest.mark.slow("solves Pig to 100, sixteen seconds")
def test_the_first_player_wins_pig_to_100_with_the_published_probability(pig: ModuleType) -> None:
    """0.5306 (Neller and Presser 2004)."""
    assert pig.PigValues(100).optimal()[0, 0, 0] == pytest.approx(0.5306, abs=5e-5)


def test_an_optimal_policy_loses_nothing_and_another_one_something(pig: ModuleType) -> None:
    values = pig.PigValues(20)
    best = values.rolls_optimally()
    mine, theirs = values.against(best, best)
    assert mine[0, 0, 0] == pytest.approx(values.optimal()[0, 0, 0], abs=1e-9)
    assert np.allclose(mine, theirs)
    never = np.zeros_like(best)
    assert values.against(never, best)[0][0, 0, 0] == pytest.approx(0, abs=1e-9), "it holds for ever"
    soon = np.broadcast_to(np.arange(best.shape[2]) < 5, best.shape)
    assert values.against(soon, best)[0][0, 0, 0] < mine[0, 0, 0] - 0.01


def test_random_play_is_measured_in_every_state(pig: ModuleType) -> None:
    found = pig.measure("random", 6, 0)
    assert found.loss > 0.05
    assert 0 < found.same < 1
    assert found.first < found.optimal_first
