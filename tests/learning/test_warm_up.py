"""The warm-up: the same states whatever plays them, learned once each, before the first match, and no process left."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import logging
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from clocks import HANG_SECONDS, Clock
from numpy.typing import NDArray
from training_runs import TINY, state_of

from athenan_spiel.config import LearnerConfig, NetworkConfig, WarmUpConfig, WarmUpName
from athenan_spiel.encoding.encoder import Encoder
from athenan_spiel.games import load_game
from athenan_spiel.learning import warm_up
from athenan_spiel.learning.learner import Learner, LearningReport
from athenan_spiel.learning.replay import Batch
from athenan_spiel.learning.warm_up import AHEAD, CHUNK, MAX_CHUNKS, STATES_PER_GAME, RandomStates, linearly_explained
from athenan_spiel.outcomes import make_outcome, register_outcome, registry
from athenan_spiel.training import learner_side, preset, resume, train
from athenan_spiel.training.checkpoints import read_header
from athenan_spiel.training.events import CheckpointWritten, Event, RunStarted, WarmUpFinished, WarmUpProgress
from athenan_spiel.training.learner_side import LEAST_EXPLAINED

GAME = load_game("connect_four(rows=4,columns=4,x_in_row=3)")
STATES = 2 * CHUNK + 44
WARM = dataclasses.replace(TINY, matches=3, warm_up=WarmUpConfig(states=STATES, processes=1))


def ends(processes: int, *, outcome: str = "additive_depth", seed: int = 7, states: int = STATES) -> RandomStates:
    worth = make_outcome(outcome, GAME, random.Random(0))
    encoder = Encoder(GAME)
    return RandomStates(GAME, worth, encoder, states=states, seed=seed, processes=processes)


def learned(source: RandomStates, batch_size: int = 32, first: int = 0) -> tuple[NDArray[np.float32], list[float]]:
    """All that is learned of `source`: observations and values."""
    batches = list(source.minibatches(batch_size, first))
    values = [value for batch in batches for value in batch.labels.values.tolist()]
    return np.concatenate([batch.observations for batch in batches]), values


def own_ends(seed: int) -> tuple[NDArray[np.float32], list[float]]:
    """The same by the definition: match n is uniformly random by the n-th seed."""
    states, outcome = [], make_outcome("additive_depth", GAME, random.Random(0))
    for number in range(STATES):
        rng = random.Random(seed << 64 | number)
        state = GAME.new_initial_state()
        while not state.is_terminal():
            actions = state.legal_actions()
            state.apply_action(actions[int(rng.random() * len(actions))])
        states.append(state)
    return Encoder(GAME).encode(states).reshape(STATES, -1), [outcome(state) for state in states]


@pytest.mark.parametrize("processes", [1, 3])
def test_the_states_are_those_of_the_numbered_matches_whoever_plays_them(processes: int) -> None:
    observations, values = learned(ends(processes))
    expected, worths = own_ends(seed=7)
    np.testing.assert_array_equal(observations, expected)
    assert values == worths
    assert len({worth > 0 for worth in worths}) == 2
    assert multiprocessing.active_children() == []


def test_another_seed_gives_other_states() -> None:
    assert learned(ends(1, seed=8))[1] != learned(ends(1))[1]


def test_neighbouring_matches_have_independent_seeds() -> None:
    """The first actions of 3,000 matches are spread evenly, and so are pairs of one match and the next."""
    firsts = np.array([int(random.Random(7 << 64 | number).random() * 4) for number in range(3000)])
    assert np.all(abs(np.bincount(firsts) / 3000 - 1 / 4) < 0.03)
    assert np.all(abs(np.bincount(4 * firsts[:-1] + firsts[1:]) / 3000 - 1 / 16) < 0.02)


@pytest.mark.parametrize("batch_size", [1, 32, CHUNK, 200, 1000])
def test_minibatches_hold_each_state_once(batch_size: int) -> None:
    sizes = [len(batch.labels.values) for batch in ends(1).minibatches(batch_size)]
    assert sum(sizes) == STATES
    assert all(size == batch_size for size in sizes[:-1])
    np.testing.assert_array_equal(learned(ends(1), batch_size)[0], own_ends(seed=7)[0])


@pytest.mark.parametrize(("first", "processes"), [(32, 1), (CHUNK, 1), (CHUNK + 5, 1), (STATES - 1, 1), (32, 2)])
def test_a_warm_up_can_begin_in_the_middle(first: int, processes: int) -> None:
    observations, values = learned(ends(processes), first=first)
    expected, worths = own_ends(seed=7)
    np.testing.assert_array_equal(observations, expected[first:])
    assert values == worths[first:]


def test_no_process_is_left_when_it_is_closed_or_fails() -> None:
    batches = ends(2, states=100 * CHUNK).minibatches(10)
    next(batches)
    assert len(multiprocessing.active_children()) == 2
    batches.close()
    assert multiprocessing.active_children() == []
    with pytest.raises(ZeroDivisionError):
        _fail_on_the_first()
    assert multiprocessing.active_children() == []


def _fail_on_the_first() -> None:
    with contextlib.closing(ends(2, states=100 * CHUNK).minibatches(10)) as batches:
        for _ in batches:
            raise ZeroDivisionError


def test_what_another_process_cannot_load_is_played_here(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_REGISTERED", {})  # for this test alone
    register_outcome("a_hundredth_of_the_length", lambda state: state.player_return(0) * state.move_number() / 100)
    with caplog.at_level(logging.WARNING):
        observations, values = learned(ends(2, outcome="a_hundredth_of_the_length"))
    assert "the warm-up plays in one process, as its outcome cannot be pickled: " in caplog.text
    np.testing.assert_array_equal(observations, own_ends(seed=7)[0])
    assert 0 < max(values) < 0.17
    assert multiprocessing.active_children() == []


def test_a_process_that_is_killed_is_stood_in_for(caplog: pytest.LogCaptureFixture) -> None:
    batches = ends(2, states=40 * CHUNK).minibatches(CHUNK)
    got = [next(batches)]
    for process in multiprocessing.active_children():
        process.kill()
    with caplog.at_level(logging.WARNING):
        got += batches
    assert re.search(r"a worker failed: its process ended by signal 9 \(SIGKILL\)", caplog.text)
    np.testing.assert_array_equal(
        np.concatenate([batch.labels.values for batch in got]), learned(ends(1, states=40 * CHUNK))[1]
    )


def test_few_chunks_are_played_ahead() -> None:
    job = ends(2, states=100 * CHUNK)._job()
    assert job is not None
    with contextlib.closing(warm_up._Workers(job, range(100), 2)) as workers:
        for chunk in range(MAX_CHUNKS):
            assert workers.result(chunk) is not None
        while workers._pool.is_busy:
            workers._pool.listen(0.1)
        assert len(workers._found) == AHEAD * 2 * MAX_CHUNKS, "a new task for each that was learned"


def test_a_problem_in_a_process_is_reported(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    source = ends(2)
    job = source._job()
    assert job is not None
    monkeypatch.setattr(source, "_job", lambda: dataclasses.replace(job, outcome=b"no pickle"))
    with caplog.at_level(logging.WARNING):
        assert learned(source)[1] == own_ends(seed=7)[1]
    assert "continues in one process, as a worker failed: UnpicklingError: " in caplog.text


def test_ctrl_c_at_a_terminal_is_the_runs_alone(tmp_path: Path) -> None:
    """A terminal sends it to all processes of the run at once: the run saves, and the others say nothing."""
    words = ["train", str(GAME), "--folder", "run", "--warm-up.states", "10000000", "--warm-up.processes", "2"]
    run = subprocess.Popen(
        [sys.executable, "-m", "athenan_spiel", *words],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert run.stderr is not None
    try:
        said = [run.stderr.readline() for _ in range(3)]
        assert said[1].startswith("random games take 9 moves")
        assert said[2].startswith("checkpoint 000000")
        while len(children := _spawned_by(run.pid)) < 2 and run.poll() is None:
            time.sleep(0.05)
        assert all(_blocks_ctrl_c(child) for child in children)
        os.killpg(run.pid, signal.SIGINT)
        rest = run.stderr.read()
        assert run.wait(HANG_SECONDS) == 130
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        run.stderr.close()
    assert "stopped on request: 0 games" in rest
    assert "Traceback" not in rest
    assert "worker failed" not in rest


def _blocks_ctrl_c(pid: int) -> bool:
    (blocked,) = re.findall(r"^SigBlk:\t(\w+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return bool(int(blocked, 16) >> (signal.SIGINT - 1) & 1)


def _spawned_by(pid: int) -> list[int]:
    """The processes that `pid` has spawned for multiprocessing."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and b"spawn_main" in (path / "cmdline").read_bytes():
                found.append(int(path.name))
    return found


def test_training_begins_with_it_whatever_the_processes(tmp_path: Path) -> None:
    told: list[Event] = []
    run = train(GAME, WARM, tmp_path / "one", callbacks=[told.append])
    more = dataclasses.replace(WARM, warm_up=WarmUpConfig(states=STATES, processes=2))
    one, two = state_of(run.checkpoint), state_of(train(GAME, more, tmp_path / "two").checkpoint)
    without = state_of(train(GAME, dataclasses.replace(TINY, matches=3), tmp_path / "none").checkpoint)
    assert one == two
    assert one["weights"] != without["weights"]
    assert one["counters"].warm_up_states == STATES
    kinds = [type(event) for event in told]
    assert kinds[:2] == [RunStarted, CheckpointWritten]
    assert set(kinds[2 : kinds.index(WarmUpFinished)]) == {WarmUpProgress}
    (finished,) = (event for event in told if isinstance(event, WarmUpFinished))
    assert finished.warm_up_states == STATES
    assert 0 < finished.loss < 2
    records = [json.loads(line) for line in (tmp_path / "one" / "metrics.jsonl").read_text().splitlines()]
    assert [record["event"] for record in records[:4]] == [
        "run_started",
        "checkpoint_written",
        "warm_up_finished",
        "checkpoint_written",
    ]


def test_its_time_is_not_the_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original, told, clock = Learner.learn, list[Event](), Clock(step=2**-10)

    def slow(self: Learner, batches: Iterable[Batch]) -> LearningReport:
        clock.now += 1
        return original(self, batches)

    def stop() -> bool:
        return any(isinstance(event, WarmUpFinished) for event in told)

    monkeypatch.setattr(Learner, "learn", slow)
    monkeypatch.setattr("athenan_spiel.training.clock.time", clock)
    config = dataclasses.replace(WARM, learner=dataclasses.replace(WARM.learner, batch_size=50))
    run = train(GAME, config, tmp_path / "run", callbacks=[told.append], stop=stop)
    (finished,) = (event for event in told if isinstance(event, WarmUpFinished))
    minibatches = -(-STATES // 50)
    assert minibatches <= finished.warm_up_seconds < minibatches + 1
    assert run.seconds < 1


@pytest.mark.parametrize("method", ["ends", "games"])
@pytest.mark.parametrize("at", [1, 3, 9, 10])
def test_one_that_was_stopped_goes_on_where_it_was(tmp_path: Path, at: int, method: WarmUpName) -> None:
    """Also one that was stopped after its last minibatch, before its end."""
    config = dataclasses.replace(WARM, warm_up=dataclasses.replace(WARM.warm_up, method=method))
    whole = state_of(train(GAME, config, tmp_path / "whole").checkpoint)
    told: list[Event] = []
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked >= at

    run = train(GAME, config, tmp_path / "cut", stop=stop)
    assert (run.reason, run.matches, run.checkpoint.name) == ("stopped", 0, "000000")
    assert read_header(run.checkpoint).counters.warm_up_states == min(STATES, 32 * at)
    assert [item.name for item in run.checkpoint.parent.iterdir()] == ["000000"]
    asked = -10000
    assert state_of(resume(tmp_path / "cut", stop=stop, callbacks=[told.append]).checkpoint) == whole
    assert sum(isinstance(event, WarmUpFinished) for event in told) == 1


def test_weights_that_were_reset_are_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the last minibatch was saved before; a resumed run learns no more of the warm-up."""
    monkeypatch.setattr(learner_side, "LEAST_EXPLAINED", 1.1)
    config = dataclasses.replace(TINY, warm_up=WarmUpConfig(method="games", states=STATES), checkpoint_seconds=0.0)
    told: list[Event] = []

    asked = itertools.count(1)
    learned_all = train(GAME, config, tmp_path / "run", stop=lambda: next(asked) >= 10)
    assert read_header(learned_all.checkpoint).counters.warm_up_states == STATES

    def stop() -> bool:
        return any(isinstance(event, WarmUpFinished) for event in told)

    run = resume(tmp_path / "run", callbacks=[told.append], stop=stop)
    assert run.matches == 0
    first = state_of(train(GAME, TINY, tmp_path / "first", stop=lambda: True).checkpoint)
    assert state_of(run.checkpoint)["weights"] == first["weights"]
    told.clear()
    resume(tmp_path / "run", callbacks=[told.append])
    assert not any(isinstance(event, WarmUpProgress | WarmUpFinished) for event in told)


def test_ctrl_c_ends_it_cleanly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athenan_spiel.training.clock.PROGRESS_SECONDS", 0.0)
    config = dataclasses.replace(WARM, warm_up=WarmUpConfig(states=100 * CHUNK, processes=2))

    def callback(event: Event) -> None:
        if isinstance(event, WarmUpProgress) and event.warm_up_states >= 3 * 32:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0)

    run = train(GAME, config, tmp_path / "run", callbacks=[callback])
    assert (run.reason, run.matches) == ("stopped", 0)
    assert read_header(run.checkpoint).counters.warm_up_states == 3 * 32
    assert multiprocessing.active_children() == []


def test_a_kill_while_the_first_checkpoint_is_replaced_loses_the_warm_up_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = state_of(train(GAME, WARM, tmp_path / "whole").checkpoint)
    rename, renames = Path.rename, 0

    def renamed(self: Path, target: Path) -> Path:
        nonlocal renames
        if "replaced" in target.name:
            renames += 1
            rename(self, target)
            raise OSError(28, "No space left on device")  # as far as the folder goes, a kill between the two
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", renamed)
        with pytest.raises(Exception, match="no checkpoint could be written"):
            train(GAME, WARM, tmp_path / "run")
    assert renames == 1
    assert read_header(tmp_path / "run" / "checkpoints" / "000000").counters.warm_up_states == 0, "put back"
    assert state_of(resume(tmp_path / "run").checkpoint) == whole


def random_states(processes: int, *, game: str = str(GAME), states: int = STATES) -> RandomStates:
    loaded = load_game(game)
    worth = make_outcome("gain", loaded, random.Random(0))
    return RandomStates(loaded, worth, Encoder(loaded), method="games", states=states, seed=7, processes=processes)


@pytest.mark.parametrize("processes", [1, 2])
def test_states_of_games_have_the_values_of_their_ends(processes: int) -> None:
    """The games are those of the numbers; sixteen states of each are learned, all different in a longer game."""
    game = load_game("connect_four")
    observations, values = learned(random_states(processes, game=str(game)))
    assert len(observations) == len(values) == STATES
    for number in range(STATES // STATES_PER_GAME):
        rng = random.Random(7 << 64 | number)
        state, states = game.new_initial_state(), []
        while not state.is_terminal():
            states.append(state.clone())
            actions = state.legal_actions()
            state.apply_action(actions[int(rng.random() * len(actions))])
        all_rows = {row.tobytes() for row in Encoder(game).encode(states).reshape(len(states), -1)}
        at = slice(number * STATES_PER_GAME, (number + 1) * STATES_PER_GAME)
        rows = {row.tobytes() for row in observations[at]}
        assert rows <= all_rows
        assert len(rows) == min(STATES_PER_GAME, len(states))
        assert set(values[at]) == {state.player_return(0)}


def test_all_parts_of_games_are_learned_equally_and_nothing_of_chance() -> None:
    counts = np.zeros(10)
    player = random_states(1, game="othello")._player
    for number in range(400):
        states, end = player._game(number)
        parts = [(state.move_number() + 0.5) / end.move_number() for state in states]
        counts += np.histogram(parts, 10, (0, 1))[0]
    assert np.all(abs(counts / counts.sum() - 0.1) < 0.02)
    pig = random_states(1, game="pig")._player
    assert not any(state.is_chance_node() for number in range(50) for state in pig._game(number)[0])


@pytest.mark.parametrize(("method", "states"), [("ends", 2), ("games", 2 * STATES_PER_GAME)])
def test_no_game_begins_after_its_time(method: WarmUpName, states: int) -> None:
    """The time passes during the second game. Incomplete minibatches are dropped."""

    def played(batch_size: int) -> int:
        asked = itertools.count()
        source = RandomStates(
            GAME,
            make_outcome("gain", GAME, random.Random(0)),
            Encoder(GAME),
            method=method,
            states=10**9,
            seed=7,
            processes=1,
            is_over=lambda: next(asked) >= 2,
        )
        return sum(len(batch.labels) for batch in source.minibatches(batch_size))

    assert played(states) == states
    assert played(states + 1) == 0


def test_its_time_is_the_runs_if_it_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The warm-up ends with its time, and the games have the rest; a resumed one continues until the same time."""
    original, told, clock = Learner.learn, list[Event](), Clock(step=2**-10)
    learned_minibatches = 0

    def slow(self: Learner, batches: Iterable[Batch], **options: bool) -> LearningReport:
        nonlocal learned_minibatches
        learned_minibatches += 1
        clock.now += 1
        return original(self, batches, **options)

    monkeypatch.setattr(Learner, "learn", slow)
    monkeypatch.setattr("athenan_spiel.training.clock.time", clock)
    timed = dataclasses.replace(TINY, matches=None, seconds=100.0, warm_up=WarmUpConfig(method="games", seconds=10.0))
    stopped = train(GAME, timed, tmp_path / "run", stop=lambda: learned_minibatches == 4, callbacks=[told.append])
    assert (stopped.reason, stopped.matches) == ("stopped", 0)
    assert not any(isinstance(event, WarmUpFinished) for event in told)
    before = read_header(stopped.checkpoint).counters
    assert 3 < before.seconds < 6
    run = resume(tmp_path / "run", callbacks=[told.append])
    (finished,) = (event for event in told if isinstance(event, WarmUpFinished))
    assert 10 <= finished.seconds < 15, "at most the rest of a chunk of four minibatches longer"
    assert finished.warm_up_states > before.warm_up_states
    assert 100 <= run.seconds < 103
    assert run.matches > 0
    assert dataclasses.replace(timed, seconds=20.0).warm_up_seconds == 3.0, "at most 15 %"
    assert dataclasses.replace(timed, seconds=None, matches=5).warm_up_seconds == 0.0
    by_states = dataclasses.replace(timed, warm_up=WarmUpConfig(states=9, seconds=10.0))
    assert by_states.warm_up_seconds == 0.0


@pytest.mark.parametrize(("least", "is_kept"), [(-9.0, True), (1.1, False)])
def test_a_network_that_explains_too_little_is_reset(
    least: float, is_kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its weights and moments are those of a run without a warm-up."""
    monkeypatch.setattr(learner_side, "LEAST_EXPLAINED", least)
    told: list[Event] = []

    def stop() -> bool:
        return any(isinstance(event, WarmUpFinished) for event in told)

    config = dataclasses.replace(TINY, warm_up=WarmUpConfig(method="games", states=STATES))
    run = train(GAME, config, tmp_path / "run", callbacks=[told.append], stop=stop)
    (finished,) = (event for event in told if isinstance(event, WarmUpFinished))
    assert finished.explained is not None
    assert finished.is_kept == is_kept
    first = state_of(train(GAME, TINY, tmp_path / "first", stop=lambda: True).checkpoint)
    after = state_of(run.checkpoint)
    assert run.matches == 0
    assert (after["weights"] == first["weights"]) == (not is_kept)
    assert (after["optimizer"] == first["optimizer"]) == (not is_kept)


def test_results_of_random_games_are_explained_where_they_depend_on_the_state(tmp_path: Path) -> None:
    """In Oware they depend on the seeds captured so far; in Hex hardly on anything before the last moves."""
    fractions = []
    for name, chunks in (("oware", 120), ("hex(board_size=9)", 30)):
        told: list[Event] = []
        config = dataclasses.replace(
            TINY,
            outcome="gain",
            matches=1,
            warm_up=WarmUpConfig(method="games", states=chunks * CHUNK),
            network=NetworkConfig(architecture="mlp", layers=1, neurons=64),
            learner=LearnerConfig(learning_rate=4e-3, batch_size=64),
        )
        train(name, config, tmp_path / name[:3], callbacks=[told.append])
        (finished,) = (event for event in told if isinstance(event, WarmUpFinished))
        assert finished.explained is not None
        fractions.append(finished.explained)
    assert fractions[0] > 0.2
    assert fractions[1] < LEAST_EXPLAINED


def test_the_paper_preset_has_it_and_the_memory_of_section_8_4_3() -> None:
    paper = preset("paper")
    assert (paper.warm_up.states, paper.search.resolved_hours) == (10_000_000, 12.0)


def _values_in_a_pool(seed: int) -> list[float]:
    return learned(ends(2, seed=seed))[1]


def test_a_process_that_may_have_no_children_plays_itself() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_values_in_a_pool, (7,)) == own_ends(seed=7)[1]


def test_once_a_match_is_learned_there_is_no_more_of_it(tmp_path: Path) -> None:
    train(GAME, dataclasses.replace(TINY, matches=3), tmp_path / "run")
    text = (tmp_path / "run" / "config.toml").read_text()
    (tmp_path / "run" / "config.toml").write_text(text.replace('states = "none"', "states = 1000", 1))
    told: list[Event] = []
    run = resume(tmp_path / "run", more_matches=1, callbacks=[told.append])
    assert run.config.warm_up.states == 1000
    assert not any(isinstance(event, WarmUpProgress | WarmUpFinished) for event in told)


@pytest.mark.parametrize("inputs", [8, 900])
@pytest.mark.parametrize("players", [None, 3])
def test_a_linear_function_explains_what_is_linear(inputs: int, players: int | None) -> None:
    """900 inputs are more than the states, so the dual problem is solved."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(1000, 8)).astype(np.float32)
    seen = np.tile(hidden, (1, inputs // 8 + 1))[:, :inputs] + 5
    shape = (1000,) if players is None else (1000, players)
    noise = rng.normal(size=shape).astype(np.float32)
    linear = hidden[:, 0] if players is None else hidden[:, :players]
    assert linearly_explained(seen, linear + 7) > 0.95
    assert 0.3 < linearly_explained(seen, linear + noise) < 0.6
    assert linearly_explained(seen, noise) < 0.05


def test_of_few_or_equal_values_nothing_is_explained() -> None:
    inputs = np.eye(8, dtype=np.float32)
    assert linearly_explained(inputs, np.ones(8, np.float32)) == 0
    assert linearly_explained(inputs[:1], np.ones(1, np.float32)) == 0
    assert linearly_explained(np.zeros((8, 3), np.float32), np.arange(8, dtype=np.float32)) <= 0
