"""The memory of a run is shared out as docs/scaling.md says, and every share holds."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from command_line import ATHENAN, Out, complaint
from training_runs import TINY, edit_settings, of_type, state_of

from athenan_spiel.cli.main import main
from athenan_spiel.cli.options import parse_memory
from athenan_spiel.config import (
    SEARCH_CONFIGS,
    AlphaBetaConfig,
    DescentConfig,
    EncodingConfig,
    MctsConfig,
    MemoryConfig,
    NetworkConfig,
    PuctConfig,
    ReplayConfig,
    TargetsConfig,
    TrainingConfig,
    WarmUpConfig,
    WorkersConfig,
)
from athenan_spiel.encoding.compact import CompactRows
from athenan_spiel.errors import ConfigError
from athenan_spiel.games.facts import longest_match
from athenan_spiel.learning import make_replay
from athenan_spiel.learning.labels import Labels
from athenan_spiel.learning.targets import Targets
from athenan_spiel.search.proven_states import ResolvedStates
from athenan_spiel.search.tree import MAX_ROWS_PER_STATE
from athenan_spiel.training import resume, train
from athenan_spiel.training.events import Event, MatchFinished, RoundFinished, RunStarted, ShareIsFull
from athenan_spiel.training.memory_budget import COPIES, LEAST_STATES, PLY_BYTES, REPLAY, WARM_UP_BYTES, MemoryBudget
from athenan_spiel.training.plan import plan_run
from athenan_spiel.training.preflight import WORKER_BYTES, worker_count

GAME = pyspiel.load_game("connect_four(rows=4,columns=4,x_in_row=3)")
TWO = 2_000_000_000
POLICY: dict[str, Any] = {
    "outcome": "gain",
    "search": PuctConfig(iterations=4),
    "targets": TargetsConfig(method="terminal"),
    "network": NetworkConfig(architecture="mlp", layers=1, neurons=8, policy="auto"),
}


def bounded(total: int | None = TWO, **settings: Any) -> TrainingConfig:
    return dataclasses.replace(TINY, memory=MemoryConfig(bytes=total), **settings)


def shares_of(config: TrainingConfig, game: pyspiel.Game = GAME) -> MemoryBudget:
    shares = plan_run(game, config).memory
    assert shares is not None
    return shares


def lines(folder: Path, event: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [line for line in found if line["event"] == event]


# How it is shared out

CONFIGS = {
    "plain": bounded(),
    "proven states": bounded(search=DescentConfig(iterations=3, resolved_hours=1.0)),
    "workers": bounded(3 * 10**9, workers=WorkersConfig(count=2)),
    "workers that ask one process": bounded(4 * 10**9, workers=WorkersConfig(count=2, inference="shared")),
    "images": bounded(encoding=EncodingConfig(symmetries="all")),
    "leaves": bounded(targets=TargetsConfig(leaves=True, coefficients=True)),
    "ends of playouts": bounded(targets=TargetsConfig(playout_ends=True)),
    "alpha-beta": bounded(search=AlphaBetaConfig(evaluations=60, iterations=None)),
    "rollouts": bounded(search=MctsConfig(rollouts=True, iterations=5)),
    "root": bounded(targets=TargetsConfig(method="root")),
    "policy": bounded(**POLICY),
    "a small replay": bounded(replay=ReplayConfig(megabytes=0.01)),
}
BY_CONFIG = pytest.mark.parametrize("config", [pytest.param(config, id=name) for name, config in CONFIGS.items()])


@BY_CONFIG
def test_the_parts_are_no_more_than_the_whole(config: TrainingConfig) -> None:
    shares = shares_of(config)
    assert shares == shares_of(config), "they are always the same"
    kept = shares.memory
    assert kept.tree_states is not None
    assert kept.tree_states >= LEAST_STATES
    assert shares.total == kept.bytes == config.memory.bytes
    assert shares.base + COPIES * shares.replay + shares.proven + shares.trees <= shares.total
    rest = shares.total - shares.base
    assert kept.replay_bytes == shares.replay == int(min(config.replay.megabytes * 1e6, REPLAY * rest / COPIES))
    are_kept = getattr(config.search, "resolved_hours", None) is not None
    assert (kept.proven_states is not None) == are_kept == (shares.proven > 0)
    processes = 1 + config.workers.count + (config.workers.inference == "shared")
    assert shares.base >= processes * WORKER_BYTES
    for part in (f"{shares.total / 1e6:,.0f} MB", f"{kept.tree_states:,} states at most"):
        assert part in str(shares)


@BY_CONFIG
def test_too_little_is_refused_with_what_would_do(config: TrainingConfig) -> None:
    with pytest.raises(ConfigError, match=r"memory\.bytes must be at least \d+m for these settings, got 1m") as raised:
        plan_run(GAME, dataclasses.replace(config, memory=MemoryConfig(bytes=10**6)))
    told = re.search(r"at least (\d+m)", str(raised.value))
    assert told is not None
    least = parse_memory(told[1])
    shares = shares_of(dataclasses.replace(config, memory=MemoryConfig(bytes=least)))
    assert shares.memory.tree_states is not None
    assert shares.memory.tree_states >= LEAST_STATES
    assert shares.base < least < shares.base + 10**9
    with pytest.raises(ConfigError, match="must be at least"):
        plan_run(GAME, dataclasses.replace(config, memory=MemoryConfig(bytes=shares.base)))


def test_more_memory_is_larger_trees_and_more_in_play_smaller_ones() -> None:
    states = [shares_of(bounded(n * 10**9)).memory.tree_states or 0 for n in (1, 2, 3)]
    assert states == sorted(set(states))
    more = shares_of(bounded(matches_at_once=24)).memory.tree_states or 0
    assert 1.5 * more < states[1]


def test_batches_of_the_outcomes_of_chance_take_memory() -> None:
    game = pyspiel.load_game("einstein_wurfelt_nicht")
    searches = [DescentConfig(iterations=3, evaluate_outcomes=by_outcomes) for by_outcomes in (False, True)]
    chance, outcomes = (shares_of(bounded(search=search), game).base for search in searches)
    assert outcomes > chance


def test_chance_states_of_games_in_play_take_memory() -> None:
    game = pyspiel.load_game("einstein_wurfelt_nicht")
    of_games = (bounded(targets=TargetsConfig(method="root"), matches_at_once=games) for games in (7, 8))
    seven, eight = (shares_of(config, game).base for config in of_games)
    assert eight - seven >= PLY_BYTES * longest_match(game) > PLY_BYTES * game.max_game_length()


def test_processes_of_the_warm_up_have_their_part_unless_others_take_as_much_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("athenan_spiel.learning.warm_up.cores", lambda: 5)
    plain = shares_of(bounded()).base
    assert shares_of(bounded(warm_up=WarmUpConfig(states=10))).base == plain + 5 * WARM_UP_BYTES
    assert shares_of(bounded(warm_up=WarmUpConfig(states=10, processes=3))).base == plain + 3 * WARM_UP_BYTES
    assert shares_of(bounded(warm_up=WarmUpConfig(states=10, processes=1))).base == plain, "this one plays itself"
    workers = bounded(workers=WorkersConfig(count=1))
    with_both = dataclasses.replace(workers, warm_up=WarmUpConfig(states=10))
    assert shares_of(with_both).base == shares_of(workers).base


def test_what_the_settings_say_already_stays() -> None:
    memory = MemoryConfig(bytes=TWO, tree_states=77, replay_bytes=1000)
    shares = shares_of(dataclasses.replace(TINY, memory=memory))
    assert shares.memory == memory


def test_more_than_there_is_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"memory\.bytes must be at most \d+m, the memory of this machine, got 1000"):
        plan_run(GAME, bounded(10**15))


@pytest.mark.parametrize("wrong", [{"bytes": 0}, {"bytes": 1.5}, {"tree_states": -1}, {"proven_states": 10**10}])
def test_what_cannot_be_is_a_line(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=rf"memory\.{next(iter(wrong))} must be"):
        MemoryConfig(**wrong)


def test_as_many_workers_as_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athenan_spiel.training.preflight.cores", lambda: 8)
    monkeypatch.setattr("athenan_spiel.training.preflight.free_memory", lambda: 10**12)
    each = WORKER_BYTES
    for memory, count in ((None, 8), (100 * each, 8), (7 * each, 5), (3 * each, 1), (2 * each, 0), (1, 0)):
        assert worker_count("auto", "hex", memory) == count
    assert worker_count(3, "hex", 1) == 3


# Runs


def test_what_is_computed_is_told_and_stands_in_the_folder(tmp_path: Path) -> None:
    events: list[Event] = []
    run = train(GAME, bounded(matches=3), tmp_path / "run", callbacks=[events.append])
    (started,) = of_type(events, RunStarted)
    shares = shares_of(bounded(matches=3))
    assert started.memory == str(shares) == lines(run.folder, "run_started")[0]["memory"]
    assert run.config.memory == shares.memory
    text = (run.folder / "config.toml").read_text()
    assert f"[memory]\nbytes = {TWO}\ntree_states = {shares.memory.tree_states}\n" in text
    assert all(line["curtailed"] == 0 for line in lines(run.folder, "match_finished"))


def test_a_run_that_goes_on_keeps_its_shares_unless_it_is_told_otherwise(tmp_path: Path) -> None:
    run = train(GAME, bounded(matches=3), tmp_path / "run")
    edit_settings(run.folder, f"tree_states = {run.config.memory.tree_states}", "tree_states = 1234")
    again = resume(run.folder, more_matches=3)
    assert again.config.memory.tree_states == 1234
    more = resume(run.folder, more_matches=3, memory=TWO + 10**9).config
    assert more.memory == shares_of(bounded(TWO + 10**9)).memory
    assert more.memory == resume(run.folder, more_matches=3, workers=0).config.memory
    one = dataclasses.replace(more, workers=WorkersConfig(count=1), memory=MemoryConfig(bytes=TWO + 10**9))
    with_worker = resume(run.folder, more_matches=3, workers=1).config
    assert with_worker.memory == shares_of(one).memory != more.memory


def test_a_bound_that_is_not_reached_changes_nothing(tmp_path: Path) -> None:
    one = train(GAME, TINY, tmp_path / "one")
    other = train(GAME, bounded(), tmp_path / "other")
    assert state_of(one.checkpoint) == state_of(other.checkpoint)


FULL = dataclasses.replace(
    TINY,
    search=DescentConfig(iterations=30, resolved_hours=1.0),
    memory=MemoryConfig(tree_states=20, replay_bytes=2000, proven_states=10),
)


def test_every_share_holds_and_is_told_once(tmp_path: Path) -> None:
    events: list[Event] = []
    run = train(GAME, FULL, tmp_path / "run", callbacks=[events.append])
    assert run.matches == 12
    matches = of_type(events, MatchFinished)
    assert all(event.curtailed > 0 for event in matches)
    assert all(event.targets <= MAX_ROWS_PER_STATE * 20 + event.length for event in matches)
    rounds = of_type(events, RoundFinished)
    largest = max(event.replay_bytes / event.replay_states for event in rounds) * (MAX_ROWS_PER_STATE * 20 + 16)
    assert all(event.replay_bytes <= max(2000, largest) for event in rounds)
    assert [event.resolved_states for event in rounds][-1] == 10
    assert sorted(event.share for event in of_type(events, ShareIsFull)) == ["proven", "replay", "tree"]
    assert len(lines(run.folder, "share_is_full")) == 3
    assert run.config.memory == FULL.memory, "without a bound of the whole nothing is computed"


def test_a_run_whose_trees_are_full_is_the_same_however_often_it_is_stopped(tmp_path: Path) -> None:
    whole = train(GAME, FULL, tmp_path / "whole")
    run = train(GAME, dataclasses.replace(FULL, matches=6), tmp_path / "parts")
    run = resume(run.folder, more_matches=3)
    run = resume(run.folder, more_matches=3)
    assert state_of(run.checkpoint) == state_of(whole.checkpoint)


@pytest.mark.parametrize("name", ["alphabeta", "mcts", "puct"])
def test_other_searches_train_in_trees_that_are_full(name: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = POLICY if name == "puct" else {"search": SEARCH_CONFIGS[name](iterations=12)}  # type: ignore[arg-type]
    config = dataclasses.replace(TINY, memory=MemoryConfig(tree_states=8), **settings)
    if name == "puct":
        config = dataclasses.replace(config, search=dataclasses.replace(config.search, iterations=20))
    run = train(GAME, config, tmp_path / "run")
    assert run.matches == 12
    assert sum(line["curtailed"] for line in lines(run.folder, "match_finished")) > 0


def test_workers_keep_to_it(tmp_path: Path) -> None:
    run = train(GAME, dataclasses.replace(FULL, workers=WorkersConfig(count=1)), tmp_path / "run")
    assert run.matches == 12
    assert all(line["curtailed"] > 0 for line in lines(run.folder, "match_finished"))
    assert lines(run.folder, "round_finished")[-1]["resolved_states"] <= 10


def test_a_smaller_memory_lets_go_what_a_larger_one_held(tmp_path: Path) -> None:
    large = dataclasses.replace(FULL, memory=MemoryConfig())
    run = train(GAME, large, tmp_path / "run")
    before = lines(run.folder, "round_finished")[-1]
    text = (run.folder / "config.toml").read_text()
    small = text.replace('replay_bytes = "none"', "replay_bytes = 6000")
    small = small.replace('proven_states = "none"', "proven_states = 10").replace("matches = 12", "matches = 15")
    (run.folder / "config.toml").write_text(small)
    resume(run.folder)
    after = lines(run.folder, "round_finished")[-1]
    assert after["resolved_states"] == 10 < before["resolved_states"]
    assert after["replay_bytes"] < before["replay_bytes"]


# Its parts


def rows(count: int) -> Targets:
    observations = np.random.default_rng(count).integers(2, size=(count, 64)).astype(np.float32)
    return Targets([CompactRows.pack(observations)], Labels(np.zeros(count, np.float32)))


@pytest.mark.parametrize("method", ["stratified", "plain", "per_match"])
def test_a_replay_says_when_it_has_no_room(method: Any) -> None:
    config = ReplayConfig(method=method, matches=50, states=50_000, megabytes=1.0)
    replay = make_replay(config, np.random.default_rng(0))
    for _ in range(10):
        replay.add(rows(2000))
    assert not replay.lacked_room
    arrays, states = replay.to_arrays(), replay.states()
    same = make_replay(config, np.random.default_rng(0), arrays)
    assert (same.states(), same.lacked_room) == (states, False)
    less = make_replay(dataclasses.replace(config, megabytes=0.1), np.random.default_rng(0), arrays)
    assert 2000 <= less.states() < states
    assert less.nbytes <= 1e5
    assert less.lacked_room
    for _ in range(100):
        replay.add(rows(2000))
    assert replay.nbytes <= 1e6


def test_fewer_matches_than_are_kept_are_no_lack_of_room() -> None:
    replay = make_replay(ReplayConfig(matches=2), np.random.default_rng(0))
    for _ in range(5):
        replay.add(rows(10))
    assert not replay.lacked_room


def test_a_smaller_memory_of_proven_states_takes_as_many_as_it_may() -> None:
    large = ResolvedStates()
    large.add((str(i), i % 3, (1, 0.5)) for i in range(20))
    assert not large.is_full
    small = ResolvedStates.from_arrays(large.to_arrays(), most=7)
    assert (len(small), small.is_full) == (7, True)


# The command line


@pytest.mark.parametrize(
    ("text", "size"), [("8g", 8 * 10**9), ("800m", 8 * 10**8), ("1.5G", 15 * 10**8), ("2T", 2 * 10**12)]
)
def test_sizes(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize(
    "size", ["8q", "1k", "-5g", "0g", "g", "8", "8gb", "", "1e9m", "nan", "nonsense", "8 g", "0.0000001m"]
)
@pytest.mark.parametrize("command", ["train", "resume"])
def test_what_is_no_size_is_a_line(command: str, size: str, tmp_path: Path, capsys: Out) -> None:
    words = {"train": ["tic_tac_toe", "--folder", str(tmp_path / "run")], "resume": [str(tmp_path)]}[command]
    said = complaint(capsys, command, *words, f"--memory={size}")
    assert "--memory must be a size such as 800m, 8g or 1.5g" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("size", "problem"), [("1m", "must be at least"), ("99t", "must be at most")])
def test_a_size_that_does_not_do_is_a_line_and_leaves_no_folder(
    size: str, problem: str, tmp_path: Path, capsys: Out
) -> None:
    said = complaint(capsys, "train", "tic_tac_toe", "--folder", str(tmp_path / "run"), "--memory", size)
    assert f"memory.bytes {problem}" in said
    assert list(tmp_path.iterdir()) == []


def test_a_run_by_its_settings_has_shares_of_its_own(tmp_path: Path, capsys: Out) -> None:
    small = ["--matches", "2", "--matches-at-once", "2", "--search.iterations", "1", "--network.filters", "4"]
    new = ["train", "tic_tac_toe", "--folder", str(tmp_path / "one"), *small]
    assert main([*new, "--memory", "2g"]) == 0
    assert "memory: 2,000 MB, of which" in capsys.readouterr().err
    settings = tmp_path / "one" / "config.toml"
    first = settings.read_text()
    settings.write_text(re.sub(r"tree_states = \d+", "tree_states = 5", first))
    assert main(["train", "tic_tac_toe", "--config", str(settings), "--folder", str(tmp_path / "two")]) == 0
    assert (tmp_path / "two" / "config.toml").read_text() == first
    assert main(["resume", str(tmp_path / "two"), "--matches", "2", "--memory", "3g"]) == 0
    assert "memory: 3,000 MB, of which" in capsys.readouterr().err


# The machine's own view


@pytest.mark.slow(reason="trains for a minute each, in trees that fill")
@pytest.mark.parametrize(
    ("game", "search", "total"), [("hex(board_size=11)", "ubfm", 900), ("connect_four", "descent", 800)]
)
def test_a_process_takes_no_more_than_it_may(game: str, search: str, total: int, tmp_path: Path) -> None:
    command = [*ATHENAN, "train", game, "--time", "60s", "--memory", f"{total}m", "--workers", "0", "--quiet"]
    options = ["--matches-at-once", "8", "--search.algorithm", search, "--search.iterations", "20000"]
    unlimited = ["--search.evaluations", "none", "--search.longest-descent", "none"]
    process = subprocess.Popen([*command, *options, *unlimited, "--folder", str(tmp_path / "run")])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    assert peak < total * 1e6
    assert lines(tmp_path / "run", "run_started")[0]["memory"].startswith(f"memory: {total:,} MB")
