"""Actors on a Ray cluster.

Most tests use a stand-in for Ray, the others a local cluster if Ray is installed.
"""

from __future__ import annotations

import dataclasses
import errno
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clocks import HANG_SECONDS
from command_line import TINY as TINY_WORDS
from command_line import Out
from experiment_runs import MATCHES
from experiment_runs import TINY as TINY_EXPERIMENT
from fake_ray import Actor as FakeActor
from fake_ray import FakeRay, installed
from pooled_runs import OnMatch, lines, local_cluster, noted_pools, require_whole
from test_evaluating import FakeCall
from training_runs import EVALUATED, TIC_TAC_TOE, TINY

from athenan_spiel.cli.main import main
from athenan_spiel.config import EngineConfig, TrainingConfig, WorkersConfig
from athenan_spiel.config.evaluation import EvaluationRequest
from athenan_spiel.errors import CheckpointError, ConfigError, LearningError
from athenan_spiel.system import cluster, machine
from athenan_spiel.system.ray_transport import RayMailbox
from athenan_spiel.training import evaluation, loop, resume, train
from athenan_spiel.training.actors import ActorPool, placement, pool
from athenan_spiel.training.actors import ray as ray_actors
from athenan_spiel.training.actors.messages import NewWeights
from athenan_spiel.training.checkpoints import Checkpoint, read_header
from athenan_spiel.training.events import Event, MatchFinished
from athenan_spiel.training.preflight import is_shared_on_nodes
from athenan_spiel.training.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("forked_workers")

ON_CLUSTER = dataclasses.replace(TINY, matches=30, workers=WorkersConfig(count=2, max_staleness=12))


def changed(**settings: Any) -> TrainingConfig:
    return dataclasses.replace(ON_CLUSTER, **settings)


# With a stand-in for Ray


fake = pytest.fixture(installed)


def test_only_the_games_of_the_run_are_played_on_a_cluster(tmp_path: Path, fake: FakeRay) -> None:
    before = signal.getsignal(signal.SIGTERM)
    run = train(TIC_TAC_TOE, ON_CLUSTER, tmp_path / "run", cluster="local")
    assert (run.matches, run.reason) == (30, "matches")
    require_whole(run.folder, 30)
    assert {line["worker"] for line in lines(run.folder, "match_finished")} == {0, 1}
    assert [actor.most_calls for actor in fake.actors] == [1, 1]
    assert fake.killed == fake.actors
    assert not fake.is_initialized(), "what was started ends"
    assert signal.getsignal(signal.SIGTERM) == before
    assert fake.puts < 31, "weights go to all at once, and not after each match"


def test_joining_is_quiet_and_starts_no_dashboard(fake: FakeRay) -> None:
    with cluster.join_cluster("local") as own:
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
        assert fake.joined == {"address": "local", "include_dashboard": False, **quiet}
        assert own.is_own
        with cluster.join_cluster("auto") as inner:
            assert not inner.is_own
        assert fake.is_initialized(), "the outer one goes on"
    assert not fake.is_initialized()


def test_an_actor_for_each_processor_but_the_learner_s(tmp_path: Path, fake: FakeRay) -> None:
    fake.cpus = 4
    fake.init(address="elsewhere")
    run = train(TIC_TAC_TOE, changed(workers=WorkersConfig()), tmp_path / "run", cluster="auto")
    assert len(fake.actors) == 3
    assert run.config.workers.count == 3
    assert "count = 3" in (run.folder / "config.toml").read_text()
    assert fake.tasks[0][0] == "probe"
    assert fake.is_initialized(), "who began it ends it"


@pytest.mark.parametrize(
    ("name", "version"),
    [("athenan-spiel", "0.0.1"), ("Python", "2.7"), ("open_spiel", None), ("numpy", "1.26"), ("torch", "1.0")],
)
def test_a_node_with_another_version_is_refused(
    tmp_path: Path, fake: FakeRay, monkeypatch: pytest.MonkeyPatch, name: str, version: str | None
) -> None:
    fake.init(address="elsewhere")
    there = {**cluster.versions(), name: version}
    told = iter([cluster.versions(), there])
    monkeypatch.setattr(cluster, "versions", lambda: next(told))
    with pytest.raises(ConfigError) as raised:
        train(TIC_TAC_TOE, ON_CLUSTER, tmp_path / "run", cluster="auto")
    assert str(raised.value).startswith(f"node here of the cluster: expected {name} ")
    assert str(raised.value).endswith(f" as here, got {version}")
    assert not (tmp_path / "run").exists()


def test_a_game_that_a_node_cannot_load_is_reported() -> None:
    assert placement.loading_problem(["tic_tac_toe()"]) is None
    assert "did you mean" in (placement.loading_problem(["hex", "tic_tac_to"]) or "")


SHARED = changed(workers=dataclasses.replace(ON_CLUSTER.workers, inference="shared"))


def test_an_inference_server_reports_a_missing_package(
    tmp_path: Path, fake: FakeRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any) -> None:
        raise ConfigError("engine.name needs what is not there")

    monkeypatch.setattr(ray_actors, "make_engine", refuse)
    with pytest.raises(ConfigError, match=r"^engine\.name needs what is not there$"):
        train(TIC_TAC_TOE, SHARED, tmp_path / "run", cluster="local")


def test_an_inference_server_that_is_lost_before_it_has_started_is_replaced(
    tmp_path: Path, fake: FakeRay, caplog: pytest.LogCaptureFixture
) -> None:
    def place(actor: FakeActor) -> None:
        actor.behaviour = "dies" if fake.servers == [actor] else "plays"

    fake.on_new = place
    run = train(TIC_TAC_TOE, SHARED, tmp_path / "run", cluster="local")
    require_whole(run.folder, 30)
    assert len(fake.servers) == 2
    reason = "was lost, with its process or its node: its workers are replaced"
    assert f"the inference server on {socket.gethostname()} {reason}" in caplog.messages


def test_an_actor_keeps_no_weights_in_the_store_of_ray() -> None:
    mailbox = RayMailbox()
    link = ray_actors._RayLink(mailbox)
    array = np.ones(3, np.float32)
    kept = weakref.ref(array)
    mailbox.put(NewWeights(1, {"w": array}, 0.5))
    del array
    assert link.get(0.0) is None
    found = link.newest(0)
    assert found is not None
    assert (found.version, found.weights["w"].tolist()) == (1, [1.0, 1.0, 1.0])
    assert kept() is None
    assert link.newest(0) is None
    assert link.progress == 0.5


def test_which_runs_share_inference_servers_on_a_cluster() -> None:
    def on_nodes(inference: Any, engine: Any) -> bool:
        return is_shared_on_nodes(
            changed(workers=WorkersConfig(count=2, inference=inference), engine=EngineConfig(name=engine))
        )

    assert on_nodes("shared", "torch")
    assert on_nodes("auto", "cuda")
    assert not on_nodes("auto", "auto")
    assert not on_nodes("own", "cuda")


def test_an_actor_without_room_does_not_block_others(
    tmp_path: Path, fake: FakeRay, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def place(actor: FakeActor) -> None:
        actor.behaviour = "waits" if actor is fake.actors[0] else "plays"

    fake.on_new = place
    monkeypatch.setattr(pool, "ROOM_SECONDS", 0.0)
    run = train(TIC_TAC_TOE, ON_CLUSTER, tmp_path / "run", cluster="local")
    require_whole(run.folder, 30)
    assert {line["worker"] for line in lines(run.folder, "match_finished")} == {1}
    assert [r.message for r in caplog.records if "not started" in r.message] == [
        "1 of 2 workers have not started: check that there are free cores for them"
    ]


@pytest.mark.parametrize("in_thread", [False, True])
def test_a_bug_in_an_actor_is_told_by_its_last_line(
    in_thread: bool, tmp_path: Path, fake: FakeRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any) -> None:
        raise AssertionError("a bug")

    def spoil(actor: FakeActor) -> None:
        if not in_thread:
            actor.made.begin = fail

    fake.on_new = spoil
    monkeypatch.setattr(ray_actors, "play_on", fail)
    with pytest.raises(LearningError, match=r"worker \d (on \S+ )?failed: AssertionError: a bug, after"):
        train(TIC_TAC_TOE, ON_CLUSTER, tmp_path / "run", cluster="local")


@pytest.fixture
def short_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athenan_spiel.training.actors.rounds.ROUND_SECONDS", 0.0)


@pytest.mark.usefixtures("fake", "short_rounds")
def test_matches_are_learned_while_a_checkpoint_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one after 10 matches is written until 20 are learned."""
    learned, save = threading.Event(), RunFolder.save

    def save_long(folder: RunFolder, checkpoint: Checkpoint) -> Path:
        if checkpoint.header.counters.matches == 10:
            assert learned.wait(HANG_SECONDS), "nothing is learned meanwhile"
        return save(folder, checkpoint)

    monkeypatch.setattr(RunFolder, "save", save_long)
    config = changed(milestone_matches=10, checkpoint_seconds=1e6)
    run = train(TIC_TAC_TOE, config, tmp_path / "run", cluster="local", callbacks=[OnMatch(20, learned.set)])
    require_whole(run.folder, 30)
    assert [line["matches"] for line in lines(run.folder, "checkpoint_written")] == [0, 10, 20, 30]
    assert read_header(run.folder / "checkpoints" / "000010").counters.matches == 10


@pytest.mark.usefixtures("fake", "short_rounds")
def test_a_checkpoint_that_cannot_be_written_beside_the_play_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace

    def full(source: Any, destination: Any) -> None:
        if str(destination).endswith("000010"):
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, destination)

    monkeypatch.setattr(os, "replace", full)
    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(CheckpointError, match=r"No space left on device; .*000000 is kept: make room and resume"):
        train(TIC_TAC_TOE, changed(milestone_matches=10, checkpoint_seconds=1e6), tmp_path / "run", cluster="local")
    monkeypatch.undo()
    assert [path.name for path in (tmp_path / "run" / "checkpoints").iterdir()] == ["000000"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"engine": EngineConfig(name="cuda")},
            r"engine\.name must be another engine on a cluster without GPUs, got 'cuda'",
        ),
    ],
)
def test_settings_that_no_cluster_takes(tmp_path: Path, fake: FakeRay, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        train(TIC_TAC_TOE, changed(**settings), tmp_path / "run", cluster="local")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("address", "there"), [("auto", "10.0.0.1:6379"), ("local", None)])
def test_evaluations_are_on_the_cluster_unless_it_is_this_machine(
    tmp_path: Path, fake: FakeRay, monkeypatch: pytest.MonkeyPatch, address: str, there: str | None
) -> None:
    """On a cluster that was started for the run they stay beside it: other processes of one machine bring nothing."""
    found: list[str | None] = []

    class Noted(FakeCall):
        def __init__(self, function: str, request: EvaluationRequest) -> None:
            super().__init__(function, request)
            found.append(request.cluster)
            assert self.header.config.engine == dataclasses.replace(ON_CLUSTER.engine, threads=1)

    monkeypatch.setattr(evaluation, "ProcessCall", Noted)
    monkeypatch.setattr(loop, "require_opponents", lambda game, config, programs: None)
    if address == "auto":
        fake.init(address="elsewhere")
    run = train(TIC_TAC_TOE, changed(evaluation=EVALUATED.evaluation), tmp_path / "run", cluster=address)
    assert lines(run.folder, "evaluation_finished")
    assert set(found) == {there}


def test_what_runs_beside_a_run_is_one_process_which_needs_no_free_core(
    fake: FakeRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.cpus = 4
    elsewhere = cluster.Cluster(is_own=False)
    assert (elsewhere.processors, elsewhere.cores_each) == (4, 1)
    assert [elsewhere.cores_of(node) for node in ("n", "m")] == [4, 1], "the other one has gone"
    monkeypatch.setattr(machine, "_share", 1)
    assert (elsewhere.processors, elsewhere.cores_each) == (1, 0)


def test_a_core_is_left_to_evaluations(tmp_path: Path, fake: FakeRay) -> None:
    fake.cpus = 4
    fake.init(address="elsewhere")
    config = changed(workers=WorkersConfig(), evaluation=EVALUATED.evaluation)
    with placement.join_for_run(config, "auto", str(TIC_TAC_TOE)) as (found, _):
        assert found.workers.count == 2


@pytest.mark.parametrize("address", ["nonsense", "10.0.0.1", "host:port", "ray://host:10001", "", 3, ["local"]])
def test_an_invalid_address_is_an_error(tmp_path: Path, address: Any) -> None:
    with pytest.raises(ConfigError, match=r"^a cluster must be local, auto or HOST:PORT, got "):
        train(TIC_TAC_TOE, ON_CLUSTER, tmp_path / "run", cluster=address)
    assert not (tmp_path / "run").exists()


def test_an_address_without_a_cluster_is_an_error(tmp_path: Path, fake: FakeRay) -> None:
    with pytest.raises(
        ConfigError, match=r"^--cluster: no Ray cluster joined at '127\.0\.0\.1:1': Connection refused$"
    ):
        train(TIC_TAC_TOE, ON_CLUSTER, tmp_path / "run", cluster="127.0.0.1:1")
    assert not (tmp_path / "run").exists()


def test_an_error_of_ray_is_one_line(tmp_path: Path, fake: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**options: Any) -> None:
        raise RuntimeError("Version mismatch:\n  3.12 there,\n  3.11 here")

    monkeypatch.setattr(fake, "init", refuse)
    with pytest.raises(ConfigError) as raised:
        train(TIC_TAC_TOE, ON_CLUSTER, tmp_path / "run", cluster="local")
    expected = "--cluster: a local Ray cluster cannot be started: Version mismatch: 3.12 there, 3.11 here"
    assert str(raised.value) == expected


def test_without_ray_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)  # type: ignore[arg-type]
    with pytest.raises(ConfigError) as raised:
        train(TIC_TAC_TOE, ON_CLUSTER, tmp_path / "run", cluster="local")
    assert str(raised.value) == "--cluster needs Ray, which is not installed: pip install 'athenan-spiel[ray]'"
    assert not (tmp_path / "run").exists()
    assert train(TIC_TAC_TOE, TINY, tmp_path / "run").matches == 12, "nobody else needs it"


# With Ray


real = pytest.fixture(scope="module")(local_cluster)
pools = pytest.fixture(noted_pools)


@pytest.mark.ray
def test_on_ray_a_lost_inference_server_is_replaced_with_its_actors(
    tmp_path: Path, real: Any, pools: list[ActorPool]
) -> None:
    """Either the server or its Ray worker is killed; no shared memory is left."""
    ended: list[int] = []
    shared: set[Path] = set()

    def lose(event: Event) -> None:
        if isinstance(event, MatchFinished) and event.matches >= 20 and all_play() and len(ended) < 2:
            (holder,) = holders()
            (process,) = [number for number in descendants(holder) if b"spawn_main" in words_of(number)]
            shared.update(shared_memory_of(process))
            ended.append(holder if ended else process)
            os.kill(ended[-1], signal.SIGKILL)

    def holders() -> list[int]:
        hosts = [n for n in descendants(os.getpid()) if is_alive(n) and is_host(n)]
        return [n for n in hosts if any(b"spawn_main" in words_of(child) for child in descendants(n))]

    def all_play() -> bool:
        return pools[0].losses == 2 * len(ended) and len(pools[0].states()) == 2

    def came_back() -> bool:
        return len(ended) == 2 and all_play()

    workers = dataclasses.replace(SHARED.workers, patience_seconds=20.0)
    config = changed(matches=None, seconds=300.0, workers=workers)
    run = train(TIC_TAC_TOE, config, tmp_path / "run", cluster="auto", callbacks=[lose], stop=came_back)
    assert run.reason == "stopped"
    require_whole(run.folder, run.matches)
    assert pools[0].losses == 4
    assert len(shared) == 4
    until = time.monotonic() + 60.0
    while (holders() or any(path.exists() for path in shared)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not holders()
    assert not [path for path in shared if path.exists()]


@pytest.mark.ray
def test_on_ray_an_actor_without_room_does_not_block_others(tmp_path: Path, real: Any) -> None:
    workers = WorkersConfig(count=3, max_staleness=18)
    run = train(TIC_TAC_TOE, changed(workers=workers), tmp_path / "run", cluster="auto")
    assert run.matches == 30


@pytest.mark.ray
def test_on_ray_matches_of_an_evaluation_are_tasks(tiny_run: Path, real: Any, capsys: Out) -> None:
    words = ["eval", f"{tiny_run}@3i", "--against", "random", "mcts:5", "--matches", "6", "--json"]
    assert main([*words, "--cluster", "auto"]) == 0
    there = json.loads(capsys.readouterr().out)
    assert main(words) == 0
    here = json.loads(capsys.readouterr().out)
    assert [results(found) for found in there["comparisons"]] == [results(found) for found in here["comparisons"]]


def results(comparison: dict[str, Any]) -> dict[str, Any]:
    """What came out, without how long it took."""
    return {name: value for name, value in comparison.items() if name in ("won", "drawn", "lost", "matches")}


@pytest.mark.ray
@pytest.mark.slow("a run on a cluster and its evaluation, fifteen seconds")
def test_on_ray_an_evaluation_beside_the_run_needs_no_core_that_is_free(tmp_path: Path, real: Any) -> None:
    config = changed(matches=12, evaluation=EVALUATED.evaluation)
    run = train(TIC_TAC_TOE, config, tmp_path / "run", cluster="auto")
    assert [line["opponent"] for line in lines(run.folder, "evaluation_finished")][-2:] == ["mcts:2", "random"]
    assert not lines(run.folder, "evaluation_failed")


@pytest.mark.ray
@pytest.mark.slow("an experiment on a cluster, eleven seconds")
def test_on_ray_trainings_and_matches_of_an_experiment_are_tasks(tmp_path: Path, real: Any, capsys: Out) -> None:
    (tmp_path / "tiny.toml").write_text(TINY_EXPERIMENT)
    words = ["experiment", str(tmp_path / "tiny.toml"), "--folder", str(tmp_path / "x"), "--cluster", "auto", "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)
    assert len((tmp_path / "x" / "matches.jsonl").read_text().splitlines()) == MATCHES
    assert not [path for path in tmp_path.rglob("trainings") if path.parent != tmp_path / "x"]


@pytest.mark.slow("a series of games on a cluster, twenty seconds")
def test_on_ray_games_of_a_series_are_tasks_and_fail_alone(tmp_path: Path, real: Any, capsys: Out) -> None:
    words = ["ggp", "tic_tac_toe", "kuhn_poker", "--time", "1s", "--matches", "2", "--move-time", "0.01s"]
    words += ["--opponents", "random", "--folder", str(tmp_path / "x"), "--cluster", "auto", "--json"]
    assert main(words) == 0
    trained, failed = json.loads(capsys.readouterr().out)["games"]
    assert (trained["game"], len(trained["pairs"])) == ("tic_tac_toe", 1)
    assert "hides information" in failed["reason"]


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "athenan_spiel", *words]


@pytest.mark.ray
def test_the_command_starts_and_ends_a_cluster_of_its_own(tmp_path: Path) -> None:
    folder = str(tmp_path / "run")
    words = ["tic_tac_toe", "--cluster", "--workers", "1", "--matches", "6", "--json", "--folder", folder, *TINY_WORDS]
    done = subprocess.run(command("train", *words), capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[-1]["event"] == "run_finished"
    assert events[-1]["matches"] == 6


@pytest.mark.ray
def test_actors_find_an_outcome_of_one_s_own_and_import_nothing_else_from_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise RuntimeError('this is not torch')")
    (tmp_path / "mine.py").write_text(
        "from athenan_spiel.outcomes import gain\n\ndef twice(state):\n    return 2 * gain(state)\n"
    )
    words = ["tic_tac_toe", "--cluster", "--workers", "1", "--matches", "4", "--outcome", "mine:twice", "--quiet"]
    run = [sys.executable, "-P", *command("train", *words, "--folder", "run", *TINY_WORDS)[1:]]
    root = str(Path(cluster.__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]).rstrip(":")}
    done = subprocess.run(run, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.ray
@pytest.mark.slow("a cluster that is killed, eleven seconds")
def test_actors_end_with_a_learner_that_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    words = ["tic_tac_toe", "--cluster", "--workers", "1", "--json", "--time", "5m", "--folder", str(folder)]
    words += ["--checkpoint-seconds", "0", *TINY_WORDS]
    process = subprocess.Popen(command("train", *words), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line)["event"] == "round_finished":
            break
    mine = {number for number in descendants(process.pid) if not is_slow(number)}
    assert mine
    process.kill()
    process.wait()
    process.stdout.close()
    until = time.monotonic() + HANG_SECONDS
    while any(is_alive(number) for number in mine) and time.monotonic() < until:
        time.sleep(0.1)
    assert not [number for number in mine if is_alive(number)]
    assert resume(folder, more_matches=2, workers=0).reason == "matches"


@pytest.mark.ray
def test_a_cluster_that_is_not_there_is_a_line_within_seconds(tmp_path: Path) -> None:
    words = ["tic_tac_toe", "--cluster", "127.0.0.1:1", "--folder", str(tmp_path / "run")]
    done = subprocess.run(command("train", *words), capture_output=True, text=True, timeout=60, check=False)
    expected = "athenan train: --cluster: no Ray cluster joined at '127.0.0.1:1': Connection refused\n"
    assert (done.returncode, done.stderr) == (2, expected)


def descendants(parent: int) -> set[int]:
    """The processes that this one has begun, and those that they have."""
    children: dict[int, set[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            numbers = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(numbers[1]), set()).add(int(stat.parent.name))
    found, new = set(), {parent}
    while new:
        new = set().union(*(children.get(number, set()) for number in new)) - found
        found |= new
    return found


def is_slow(number: int) -> bool:
    """Two of Ray's own take a minute, in which they try to tell the cluster that it is gone."""
    return name_of(number) in (b"ray::DashboardAgent", b"ray::RuntimeEnvAgent")


def is_host(number: int) -> bool:
    """Whether a process holds a worker; Ray adds the method to its name during a call."""
    return name_of(number).split(b".")[0] == b"ray::Host"


def name_of(number: int) -> bytes:
    """What a process of Ray's calls itself."""
    return words_of(number).split(b"\0")[0].strip()


def words_of(number: int) -> bytes:
    """The command line of a process."""
    try:
        return Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return b""


def shared_memory_of(number: int) -> set[Path]:
    """What a process uses of it."""
    lines = Path(f"/proc/{number}/maps").read_text().splitlines()
    return {Path(line.split()[-1]) for line in lines if "/dev/shm/psm_" in line}


def is_alive(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
