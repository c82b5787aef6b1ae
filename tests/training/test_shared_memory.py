"""Memory that processes share goes with them, also if its holder is killed, or a second Ctrl-C comes."""

from __future__ import annotations

import dataclasses
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from clocks import HANG_SECONDS
from training_runs import TIC_TAC_TOE, TINY

from athenan_spiel.config import WorkersConfig
from athenan_spiel.outcomes import make_outcome
from athenan_spiel.training.fleet import fleet as fleets
from athenan_spiel.training.fleet import shared

pytestmark = pytest.mark.skipif(not shared.PLACE.exists(), reason="shared memory is no file here")

HOLDER = """
import time

from athenan_spiel.training.fleet.shared import dropped_without_us, shared_memory

memory = shared_memory(1000)
dropping = dropped_without_us(memory.name)
print(memory.name, dropping.pid, flush=True)
time.sleep(600)
"""


def is_gone(path: Path) -> bool:
    """Whether the file goes away within the time that a test may take."""
    until = time.monotonic() + HANG_SECONDS
    while path.exists() and time.monotonic() < until:
        time.sleep(0.02)
    return not path.exists()


@pytest.fixture
def holder() -> Iterator[subprocess.Popen[str]]:
    """A process in a group of its own that holds memory, and says its name and who drops it."""
    words = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, process_group=0) as process:
        yield process
        process.kill()


def test_memory_is_dropped_though_its_holder_is_killed_with_its_whole_group(holder: subprocess.Popen[str]) -> None:
    assert holder.stdout is not None
    name, dropping = holder.stdout.readline().split()
    path = shared.PLACE / name
    assert path.stat().st_size == 1000
    assert os.getpgid(int(dropping)) != holder.pid
    os.killpg(holder.pid, signal.SIGKILL)  # Python's tracker of resources is in this group, too
    assert is_gone(path)


def test_what_is_dropped_already_is_nothing_to_speak_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shared, "PLACE", tmp_path)
    (tmp_path / "left").touch()
    dropping = shared.dropped_without_us("dropped", "left")
    assert dropping.stdin is not None
    dropping.stdin.close()
    assert dropping.wait(HANG_SECONDS) == 0
    assert not (tmp_path / "left").exists()
    assert capfd.readouterr().err == ""


def test_a_second_ctrl_c_as_a_fleet_closes_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The board, the memory of the process that values states and its folder go, whatever is broken off."""
    config = dataclasses.replace(TINY, workers=WorkersConfig(count=2, inference="shared"))
    outcome = make_outcome("gain", TIC_TAC_TOE, random.Random(0))
    before = set(shared.PLACE.iterdir())
    fleet = fleets.Fleet(str(TIC_TAC_TOE), config, outcome, None, {"w": torch.zeros(10)}, ((4, 3, 3), 1))
    held = set(shared.PLACE.iterdir()) - before
    assert len(held) == 2
    ended: list[int] = []

    def broken_off(worker: object) -> None:
        ended.append(id(worker))
        raise KeyboardInterrupt

    monkeypatch.setattr(fleets, "_end", broken_off)
    fleet._workers = [object(), object()]  # type: ignore[list-item]
    with pytest.raises(KeyboardInterrupt):
        fleet.close()
    assert len(ended) == 2
    assert not any(path.exists() for path in held)
