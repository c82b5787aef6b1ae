"""Limits of an experiment's size, checked before anything is written."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from experiment_runs import TINY, run_tiny, tiny_file

from athenan_spiel.errors import ConfigError
from athenan_spiel.experiments import (
    ExperimentFile,
    Overrides,
    check,
)
from athenan_spiel.experiments.plan import Plan

pytestmark = pytest.mark.usefixtures("forked_workers")

MNK = "mnk(m=3,n=4,k=3)"


def with_text(addition: str) -> ExperimentFile:
    return ExperimentFile(TINY + addition, "tiny.toml")


HEX = json.dumps([f"hex(board_size={n})" for n in range(100)])
VARIANTS = "\n".join(f"[variants.v{n}]" for n in range(100))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("repetitions = 2", "repetitions = 1000000000", "line 3: repetitions must be at most 1,000, got 1000000000"),
        ("seed = 1", f"seed = {10**4000}", "line 4: seed must be at most 9,223,372,036,854,775,807, got <a whole"),
        ("stages = 2", "stages = 1001", "line 7: protocol.stages must be at most 1,000, got 1001"),
        ("matches = 4\nop", "matches = 10002\nop", "line 8: protocol.matches must be at most 10,000, got 10002"),
        ("opening_plies = 1", "opening_plies = 1001", "line 9: protocol.opening_plies must be at most 1,000, got 1001"),
        ("resamples = 200", "resamples = 1000001", "line 10: protocol.resamples must be at most 1,000,000, got 1000"),
        ('["tic_tac_toe", ', f"{HEX[:-1]}, ", "line 2: games must be at most 100 game strings, got 101"),
        ("[variants.ubfm]", VARIANTS, "line 22: expected at most 100 variants, got 101"),
    ],
)
def test_numbers_have_maxima(old: str, new: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        tiny_file(old, new)
    assert str(raised.value).startswith(f"tiny.toml, {message}")
    assert len(str(raised.value)) < 400


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (Overrides(repetitions=400), "expected at most 2,000,000 games, got 2,569,600"),
        (Overrides(stages=1000, pairing_matches=1000), "expected at most 2,000,000 games, got 15,996,000"),
    ],
)
def test_too_many_games_are_refused_first(overrides: Overrides, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        run_tiny(tmp_path / "x", file=tiny_file(overrides=overrides))
    assert not (tmp_path / "x").exists()


def test_too_much_memory_is_refused_first(tmp_path: Path) -> None:
    file = tiny_file("resamples = 200", 'resamples = 1000000\nopponents = "repetition"', Overrides(repetitions=40))
    with pytest.raises(ConfigError, match=r"^tiny.toml .*line 10: the intervals need 5.2 GB of memory, more than"):
        run_tiny(tmp_path / "x", file=file)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("old", "new", "processes", "free", "message"),
    [
        ("", "", 5, 10**9, "^5 concurrent trainings need 1.3 GB of memory, 1.0 GB are free: use fewer --processes"),
        ("", "", 99, 10**9, "^8 concurrent trainings need 2.0 GB of memory, 1.0 GB are free"),
        ("layers = 1, neurons = 8", "layers = 3, neurons = 2000", 2, 6 * 10**8, "^2 concurrent trainings need 1.2"),
        ("resamples = 200", "resamples = 1000000", 1, 10**8, "the intervals need 0.3 GB of memory, more than 0.1"),
    ],
)
def test_too_little_free_memory_is_refused(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str, processes: int, free: int, message: str
) -> None:
    monkeypatch.setattr(sys.modules[check.__module__], "free_memory", lambda: free)
    with pytest.raises(ConfigError, match=message):
        check(tiny_file(old, new), processes=processes)


def test_one_process_may_fit_where_several_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[check.__module__], "free_memory", lambda: 3 * 10**8)
    check(tiny_file(), processes=1)


@pytest.mark.parametrize("opponents", ["all", "repetition"])
def test_pairings_are_counted_without_being_listed(opponents: str) -> None:
    text = f'stages = 3\nopponents = "{opponents}"'
    other = f'{TINY}[variants.third]\nsearch.iterations = 3\nexcept = ["{MNK}"]\n'.replace("stages = 2", text)
    plan = Plan(ExperimentFile(other, "tiny.toml", Overrides(repetitions=4)).experiment)
    assert plan.pairing_count() == len(list(plan.pairings()))
    assert plan.match_count() == 4 * plan.pairing_count()
