"""Actors in processes of their own: what is learned, how stale it is, and what becomes of a run whose actors die."""

from __future__ import annotations

import dataclasses
import errno
import json
import multiprocessing
import os
import pickle
import queue
import signal
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from clocks import HANG_SECONDS
from training_runs import TIC_TAC_TOE, TINY

from athenan_spiel.config import LearnerConfig, SearchConfig, TrainingConfig, WorkersConfig
from athenan_spiel.errors import ConfigError, DivergedError, LearningError
from athenan_spiel.learning import Targets
from athenan_spiel.learning.labels import Labels
from athenan_spiel.system.processes import begin, context
from athenan_spiel.system.stopping import SIGNALS
from athenan_spiel.training import load_agent, resume, train
from athenan_spiel.training.actor import MatchRecord
from athenan_spiel.training.events import Event, MatchFinished, RoundFinished
from athenan_spiel.training.fleet.board import ActorState, Board
from athenan_spiel.training.fleet.inference import Desk, DeskPlan
from athenan_spiel.training.fleet.matches import Failed, Played
from athenan_spiel.training.fleet.pipes import Receiver, Sender, taken
from athenan_spiel.training.fleet.playing import ActorTask, play_on

FLEET = dataclasses.replace(TINY, matches=30, workers=WorkersConfig(count=2, max_staleness=12))


RECORD = MatchRecord(
    targets=Targets([], Labels(np.empty(0, np.float32))),
    returns=(1.0, -1.0),
    length=1,
    iterations=1,
    evaluations=1,
    questions=1,
    proofs=None,
)


def changed(**settings: Any) -> TrainingConfig:
    return dataclasses.replace(FLEET, **settings)


def lines(folder: Path, event: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [line for line in found if line["event"] == event]


def workers() -> list[int]:
    """The processes of actors; those of tasks and of the tracker have other names or parents."""
    return [child.pid for child in multiprocessing.active_children() if child.pid is not None]


# The board


def test_weights_come_through_as_they_are() -> None:
    weights = {"a": torch.randn(3, 4), "b": torch.arange(5), "c": torch.tensor(2.5)}
    board = Board.new(3, weights)
    other = Board(board.plan)
    try:
        assert (other.version, other.progress) == (0, 0.0)
        for version in (1, 2, 5):
            weights = {name: tensor + 1 for name, tensor in weights.items()}
            board.publish(version, weights, version / 10)
            found, read = other.read()
            assert (found, other.version, other.progress) == (version, version, version / 10)
            assert {name: tensor.dtype for name, tensor in read.items()} == {n: t.dtype for n, t in weights.items()}
            for name, tensor in weights.items():
                assert torch.equal(read[name], tensor)
    finally:
        other.close()
        board.close()


def new_board() -> tuple[Board, Callable[[], object]]:
    board = Board.new(1, {"a": torch.zeros(3)})
    return board, lambda: Board(board.plan)


def new_desk() -> tuple[Desk, Callable[[], object]]:
    memory = Desk.memory(1, (2,), 1)
    plan = DeskPlan(memory.name, 1, (2,), 1, "", b"")
    return Desk(plan, memory), lambda: Desk(plan)


@pytest.mark.parametrize("new", [new_board, new_desk])
def test_what_a_second_ctrl_c_broke_off_is_closed_again(
    new: Callable[[], tuple[Board | Desk, Callable[[], object]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, found_by_others = new()

    def broken_off() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(shared._memory, "unlink", broken_off)
        with pytest.raises(KeyboardInterrupt):
            shared.close()
    shared.close()
    with pytest.raises(OSError, match="No such file"):
        found_by_others()
    shared.close()  # and where all was done


def test_who_was_overtaken_reads_again() -> None:
    """A writer and a reader that never wait for each other: no copy is half of one version and half of another."""
    size = 300_000
    board = Board.new(1, {"w": torch.zeros(size)})
    board.publish(1, {"w": torch.full((size,), 1.0)}, 0.0)
    other, done = Board(board.plan), threading.Event()

    def write() -> None:
        for version in range(2, 200):
            board.publish(version, {"w": torch.full((size,), float(version))}, 0.0)
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
        board.close()


def test_what_actors_tell_and_what_is_learned_of_them() -> None:
    board = Board.new(2, {"w": torch.zeros(2)})
    other = Board(board.plan)
    try:
        state = ActorState(beat=1.5, version=3, alive=4, plies=5, evaluations=6, calls=7, busy=0.5, waited=0.25)
        other.tell(1, state)
        board.count_learned(1)
        assert (board.state(1), board.state(0)) == (state, ActorState())
        assert (other.learned(0), other.learned(1)) == (0, 1)
        board.forget(1)
        assert (board.state(1), other.learned(1)) == (ActorState(), 0)
    finally:
        other.close()
        board.close()


def test_memory_that_is_not_there_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []

    def no_space(descriptor: int, *place: int) -> None:
        made.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    weights = {"w": torch.zeros(1000)}
    monkeypatch.setattr(os, "posix_fallocate", no_space)
    with pytest.raises(
        LearningError, match=r"GB of shared memory \(No space left on device\): take fewer --workers, or"
    ):
        Board.new(1, weights)
    assert [path.exists() for path in made] == [False]
    monkeypatch.setattr("athenan_spiel.training.fleet.shared.free_memory", lambda: 1000)
    with pytest.raises(LearningError, match=r"0\.0 GB of memory are free"):
        Board.new(1, weights)
    assert len(made) == 1


# Runs


def test_a_fleet_plays_just_the_matches_that_are_asked_for(tmp_path: Path) -> None:
    run = train(TIC_TAC_TOE, FLEET, tmp_path / "run")
    assert (run.matches, run.reason) == (30, "matches")
    matches = lines(run.folder, "match_finished")
    assert [line["matches"] for line in matches] == list(range(1, 31))
    assert {line["worker"] for line in matches} == {0, 1}
    assert all(0 <= line["staleness"] <= 12 for line in matches)
    assert any(line["staleness"] for line in matches), "matches are played while others are learned"
    rounds = lines(run.folder, "round_finished")
    assert sum(line["states_learned"] for line in rounds) == sum(
        line["states_learned"] for line in lines(run.folder, "learning_finished")
    )
    assert all(line["most_staleness"] >= line["staleness"] >= 0 for line in rounds)
    assert rounds[-1]["workers_lost"] == 0
    assert not workers(), "none outlives the run"
    agent = load_agent(run.folder, seconds=0.01, seed=0)
    assert agent.step(TIC_TAC_TOE.new_initial_state()) in range(9)


def test_a_run_goes_on_with_workers_or_without(tmp_path: Path) -> None:
    run = train(TIC_TAC_TOE, changed(matches=10), tmp_path / "run")
    text = (run.folder / "config.toml").read_text()
    (run.folder / "config.toml").write_text(text.replace("count = 2", "count = 0"))
    alone = resume(run.folder, more_matches=6)
    assert (alone.matches, alone.config.workers.count) == (16, 0)
    (run.folder / "config.toml").write_text((run.folder / "config.toml").read_text().replace("count = 0", "count = 1"))
    again = resume(run.folder, more_matches=6)
    assert (again.matches, again.config.workers.count) == (22, 1)
    assert [line["matches"] for line in lines(run.folder, "match_finished")] == list(range(1, 23))


def test_proven_states_are_told_to_all(tmp_path: Path) -> None:
    search = SearchConfig(iterations=20, resolved_hours=1.0)
    run = train(TIC_TAC_TOE, changed(search=search), tmp_path / "run")
    assert lines(run.folder, "round_finished")[-1]["resolved_states"] > 0
    states = lines(run.folder, "match_finished")
    first, last = (np.mean([line["evaluations"] for line in part]) for part in (states[:6], states[-6:]))
    assert last < first, "what is proven is not asked about again"


class OnMatch:
    """Does something once, after so many matches."""

    def __init__(self, matches: int, do: Callable[[], None]) -> None:
        self.matches = matches
        self.do = do
        self.done = 0.0

    def __call__(self, event: Event) -> None:
        if isinstance(event, MatchFinished) and event.matches >= self.matches and not self.done:
            self.done = time.monotonic()
            self.do()


def test_an_actor_that_is_killed_is_replaced_and_nothing_learned_is_lost(tmp_path: Path) -> None:
    listener = OnMatch(5, lambda: os.kill(workers()[0], signal.SIGKILL))
    run = train(TIC_TAC_TOE, changed(matches=300), tmp_path / "run", listeners=[listener])
    assert (run.matches, run.reason) == (300, "matches")
    assert [line["matches"] for line in lines(run.folder, "match_finished")] == list(range(1, 301))
    assert lines(run.folder, "round_finished")[-1]["workers_lost"] == 1


def test_an_actor_that_begins_when_the_learner_has_ended_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """As where Ctrl-C comes twice while a run begins."""
    board = Board.new(1, {"w": torch.zeros(3)})
    board.close()
    pipes = context()
    (theirs, orders), (reports, sent) = pipes.Pipe(duplex=False), pipes.Pipe(duplex=False)
    task = ActorTask(0, "tic_tac_toe", FLEET, {}, None, board.plan, None, 2)
    process = begin(play_on, task, theirs, sent, daemon=True, deaf_to=SIGNALS)
    process.join(HANG_SECONDS)
    assert process.exitcode == 0
    for pipe in (theirs, orders, reports, sent):
        pipe.close()
    assert capfd.readouterr().err == ""


def test_who_sends_does_not_wait_for_who_listens() -> None:
    """An actor plays on while the learner learns or writes a checkpoint, and a pipe holds 64 kB."""
    listened, sent = multiprocessing.get_context("spawn").Pipe(duplex=False)
    sender, row = Sender(sent, Failed.by), np.zeros(10**6)
    records = [dataclasses.replace(RECORD, proofs={"digests": row + i}) for i in range(3)]
    start = time.monotonic()
    for record in records:
        sender.send(Played(record, 1))
    assert time.monotonic() - start < HANG_SECONDS, "nobody has listened yet"
    assert [listened.recv().record.proofs["digests"][0] for _ in records] == [0, 1, 2]
    sender.send(Failed(LearningError("gone")))
    assert str(listened.recv().error) == "gone"
    sender.close()


def test_who_listens_does_not_wait_for_who_stops_in_the_middle_of_a_message() -> None:
    listened, sent = multiprocessing.get_context("spawn").Pipe(duplex=False)
    received: queue.SimpleQueue[Any] = queue.SimpleQueue()
    Receiver(listened, received.put)
    sent.send("first")
    os.write(sent.fileno(), struct.pack("!i", 1000) + b"the beginning of the second")
    assert received.get(timeout=HANG_SECONDS) == "first"
    assert taken(received, 0.2) == []
    sent.close()
    assert [type(error) for error in taken(received, HANG_SECONDS)] == [OSError]


def test_a_message_that_cannot_be_read_is_told() -> None:
    listened, sent = multiprocessing.get_context("spawn").Pipe(duplex=False)
    received: queue.SimpleQueue[Any] = queue.SimpleQueue()
    Receiver(listened, received.put)
    sent.send_bytes(b"no pickle")
    assert [type(error) for error in taken(received, HANG_SECONDS)] == [pickle.UnpicklingError]


def test_an_actor_that_hangs_is_replaced(tmp_path: Path) -> None:
    """Once it has begun: who has not may take longer, as Java may have to be started."""
    config = changed(matches=None, seconds=float(HANG_SECONDS), workers=WorkersConfig(count=2, patience_seconds=3.0))
    played: set[int | None] = set()
    lost: list[int] = []

    def note(event: Event) -> None:
        if isinstance(event, MatchFinished) and len(played) < 2:
            played.add(event.worker)
            if len(played) == 2:
                os.kill(workers()[0], signal.SIGSTOP)
        elif isinstance(event, RoundFinished) and event.workers_lost:
            lost.append(event.workers_lost)

    run = train(TIC_TAC_TOE, config, tmp_path / "run", listeners=[note], stop=lambda: bool(lost))
    assert (run.reason, lost[0]) == ("stopped", 1)


def test_actors_that_were_stopped_with_the_learner_do_not_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a job is suspended and goes on: it may have been while the learner waited for a match."""
    config = changed(matches=None, workers=WorkersConfig(count=2, patience_seconds=3.0))
    played: set[int | None] = set()
    stopped: list[int] = []
    after: list[int] = []

    def note(event: Event) -> None:
        if isinstance(event, MatchFinished):
            played.add(event.worker)
            after.extend([event.matches] if stopped else [])

    def take_long(received: Any, seconds: float) -> Any:
        if len(played) == 2 and not stopped:
            stopped.extend(workers())
            for number, pause in ((signal.SIGSTOP, 5.0), (signal.SIGCONT, 0.0)):
                for process in stopped:
                    os.kill(process, number)
                time.sleep(pause)
            return []
        return taken(received, seconds)

    monkeypatch.setattr("athenan_spiel.training.fleet.fleet.taken", take_long)
    run = train(TIC_TAC_TOE, config, tmp_path / "run", listeners=[note], stop=lambda: len(after) >= 20)
    assert lines(run.folder, "round_finished")[-1]["workers_lost"] == 0


def test_actors_that_die_again_and_again_end_the_run(tmp_path: Path) -> None:
    def kill(event: Event) -> None:
        for process in workers():
            os.kill(process, signal.SIGKILL)

    with pytest.raises(LearningError, match=r"worker \d ended with code -9, and \d+ before it within 60 s .*--workers"):
        train(TIC_TAC_TOE, changed(matches=100_000), tmp_path / "run", listeners=[kill])
    assert resume(tmp_path / "run", more_matches=4).matches >= 4, "what was saved is good"


def test_a_stop_saves_what_is_learned_at_once(tmp_path: Path) -> None:
    stops: list[float] = []
    listener = OnMatch(20, lambda: stops.append(time.monotonic()))
    run = train(TIC_TAC_TOE, changed(matches=None), tmp_path / "run", listeners=[listener], stop=lambda: bool(stops))
    assert time.monotonic() - stops[0] < HANG_SECONDS
    assert run.reason == "stopped"
    assert run.matches >= 20
    assert len(lines(run.folder, "match_finished")) == run.matches, "nothing that was told is taken back"
    assert not workers()


def test_the_time_limit_ends_it(tmp_path: Path) -> None:
    """Which comes before or after a match; so it may say that nothing was learned, and never learns for longer."""
    run = train(TIC_TAC_TOE, changed(matches=None, seconds=8.0), tmp_path / "run")
    assert run.reason == "seconds"
    assert run.seconds >= 8
    assert len(lines(run.folder, "match_finished")) == run.matches
    assert not workers()


def test_spoilt_weights_say_what_to_lower(tmp_path: Path) -> None:
    learner = LearnerConfig(batch_size=32, learning_rate=1e6, precision="float32")
    with pytest.raises(DivergedError, match=r"lower learner\.learning_rate, now 500000.0; halvings so far: 1"):
        train(TIC_TAC_TOE, changed(matches=None, learner=learner), tmp_path / "run", set_backs=1)
    assert not workers()


@pytest.mark.parametrize(
    ("settings", "path", "problem"),
    [
        ({"count": -1}, "workers.count", "must be at least 0, got -1"),
        ({"count": 1001}, "workers.count", "must be at most 1,000, got 1001"),
        ({"max_staleness": 0}, "workers.max_staleness", "must be at least 1, got 0"),
        ({"patience_seconds": 0.0}, "workers.patience_seconds", "must be more than zero, got 0.0"),
    ],
)
def test_what_cannot_be_is_a_line(settings: dict[str, Any], path: str, problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        WorkersConfig(**settings)
    assert (raised.value.path, raised.value.problem) == (path, problem)


def test_staleness_has_room_for_the_matches_in_play() -> None:
    assert WorkersConfig(count=2).staleness(3) == 24
    with pytest.raises(ConfigError, match=r"max_staleness.*must be at least 12, twice the matches that 2 workers play"):
        changed(workers=WorkersConfig(count=2, max_staleness=11))
