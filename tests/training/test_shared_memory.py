"""Memory that processes share goes with them, also if its holder is killed, or a second Ctrl-C comes."""

from __future__ import annotations

import dataclasses
import errno
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from clocks import HANG_SECONDS
from training_runs import TIC_TAC_TOE, TINY

from athenan_spiel.config import WorkersConfig
from athenan_spiel.errors import LearningError
from athenan_spiel.outcomes import make_outcome
from athenan_spiel.system.process_transport import ProcessTransport
from athenan_spiel.training.actors import shared_memory as shared
from athenan_spiel.training.actors.inference import Slots, SlotsPlan
from athenan_spiel.training.actors.messages import ActorState, ActorTask
from athenan_spiel.training.actors.processes import ProcessActors, play_in_process
from athenan_spiel.training.actors.shared_weights import SharedWeights

pytestmark = pytest.mark.skipif(not shared.PLACE.exists(), reason="shared memory is no file here")

HOLDER = """
import time

from athenan_spiel.training.actors.shared_memory import dropped_without_us, shared_memory

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


def test_a_second_ctrl_c_frees_shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shared weights, the inference slots and the socket folder go, whatever is interrupted."""
    config = dataclasses.replace(TINY, workers=WorkersConfig(count=2, inference="shared"))
    outcome = make_outcome("gain", TIC_TAC_TOE, random.Random(0))
    before = set(shared.PLACE.iterdir())
    actors = ProcessActors(str(TIC_TAC_TOE), config, outcome, None, {"w": torch.zeros(10)}, ((4, 3, 3), 1))
    held = set(shared.PLACE.iterdir()) - before
    assert len(held) == 2
    ended: list[int] = []

    def broken_off(worker: object) -> None:
        ended.append(id(worker))
        raise KeyboardInterrupt

    monkeypatch.setattr(actors._processes, "kill", broken_off)
    actors._workers = [object(), object()]  # type: ignore[list-item]
    with pytest.raises(KeyboardInterrupt):
        actors.close()
    assert len(ended) == 2
    assert not any(path.exists() for path in held)


def test_weights_come_through_as_they_are() -> None:
    weights = {"a": torch.randn(3, 4), "b": torch.arange(5), "c": torch.tensor(2.5)}
    weights_ = SharedWeights.new(3, weights)
    other = SharedWeights(weights_.plan)
    try:
        assert (other.version, other.progress) == (0, 0.0)
        for version in (1, 2, 5):
            weights = {name: tensor + 1 for name, tensor in weights.items()}
            weights_.publish(version, weights, version / 10)
            found, read = other.read()
            assert (found, other.version, other.progress) == (version, version, version / 10)
            assert {name: tensor.dtype for name, tensor in read.items()} == {n: t.dtype for n, t in weights.items()}
            for name, tensor in weights.items():
                assert torch.equal(read[name], tensor)
    finally:
        other.close()
        weights_.close()


def new_weights() -> tuple[SharedWeights, Callable[[], object]]:
    weights_ = SharedWeights.new(1, {"a": torch.zeros(3)})
    return weights_, lambda: SharedWeights(weights_.plan)


def new_slots() -> tuple[Slots, Callable[[], object]]:
    memory = Slots.memory(1, (2,), 1)
    plan = SlotsPlan(memory.name, 1, (2,), 1, "", b"")
    return Slots(plan, memory), lambda: Slots(plan)


@pytest.mark.parametrize("new", [new_weights, new_slots])
def test_what_a_second_ctrl_c_broke_off_is_closed_again(
    new: Callable[[], tuple[SharedWeights | Slots, Callable[[], object]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, found_by_others = new()

    def broken_off() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(memory._memory, "unlink", broken_off)
        with pytest.raises(KeyboardInterrupt):
            memory.close()
    memory.close()
    with pytest.raises(OSError, match="No such file"):
        found_by_others()
    memory.close()  # and where all was done


def test_who_was_overtaken_reads_again() -> None:
    """A writer and a reader that never wait for each other: no copy is half of one version and half of another."""
    size = 300_000
    weights_ = SharedWeights.new(1, {"w": torch.zeros(size)})
    weights_.publish(1, {"w": torch.full((size,), 1.0)}, 0.0)
    other, done = SharedWeights(weights_.plan), threading.Event()

    def write() -> None:
        for version in range(2, 200):
            weights_.publish(version, {"w": torch.full((size,), float(version))}, 0.0)
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        while not done.is_set():
            version, read = other.read()
            assert (read["w"] == version).all()
    finally:
        thread.join()
        other.close()
        weights_.close()


def test_counters_of_actors() -> None:
    weights_ = SharedWeights.new(2, {"w": torch.zeros(2)})
    other = SharedWeights(weights_.plan)
    try:
        state = ActorState(beat=1.5, version=3, alive=4, plies=5, evaluations=6, calls=7, busy=0.5, waited=0.25)
        other.tell(1, state)
        assert (weights_.state(1), weights_.state(0)) == (state, ActorState())
        weights_.forget(1)
        assert weights_.state(1) == ActorState()
    finally:
        other.close()
        weights_.close()


def test_memory_that_is_not_there_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []

    def no_space(descriptor: int, *place: int) -> None:
        made.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    weights = {"w": torch.zeros(1000)}
    monkeypatch.setattr(os, "posix_fallocate", no_space)
    with pytest.raises(
        LearningError, match=r"GB of shared memory \(No space left on device\): use fewer --workers, or"
    ):
        SharedWeights.new(1, weights)
    assert [path.exists() for path in made] == [False]
    monkeypatch.setattr("athenan_spiel.training.actors.shared_memory.free_memory", lambda: 1000)
    with pytest.raises(LearningError, match=r"0\.0 GB of memory are free"):
        SharedWeights.new(1, weights)
    assert len(made) == 1


def test_an_actor_that_starts_after_the_learner_has_ended_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """As where Ctrl-C comes twice while a run starts."""
    freed = SharedWeights.new(1, {"w": torch.zeros(3)})
    freed.close()
    processes = ProcessTransport(daemon=True, exits=True)
    worker = processes.start(play_in_process, ActorTask("tic_tac_toe", TINY, {}, None), 0, freed.plan, None)
    worker.process.join(HANG_SECONDS)
    assert worker.process.exitcode == 0
    processes.end(worker)
    assert capfd.readouterr().err == ""
