"""Runs whose games are played by a pool of actors: the same tests for each transport.

"fake" is a cluster whose Ray is a stand-in, "ray" one of this machine where Ray is installed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import os
import signal
import time
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pooled_runs
import pytest
from clocks import HANG_SECONDS
from fake_ray import FakeRay, installed
from pooled_runs import OnMatch, lines, local_cluster, noted_pools
from test_rollbacks import RATE, Spoiling
from training_runs import TIC_TAC_TOE, TINY

from athenan_spiel.config import DescentConfig, PuctConfig, TrainingConfig, WorkersConfig
from athenan_spiel.errors import ConfigError, DivergedError, LearningError
from athenan_spiel.system import process_transport
from athenan_spiel.training import Run, load_agent, resume, train
from athenan_spiel.training.actors import ActorPool
from athenan_spiel.training.actors.messages import NewSettings, Proofs
from athenan_spiel.training.actors.playing import Games
from athenan_spiel.training.actors.pool import PooledActor
from athenan_spiel.training.events import Event, MatchFinished, SettingsAdapted
from athenan_spiel.training.fitting import BY_TIME, RandomGames

pytestmark = pytest.mark.usefixtures("forked_workers")

POOLED = dataclasses.replace(TINY, matches=30, workers=WorkersConfig(count=2, max_staleness=12))
PATIENCE = 3.0
T = TypeVar("T")


def changed(**settings: Any) -> TrainingConfig:
    return dataclasses.replace(POOLED, **settings)


def with_workers(**settings: Any) -> TrainingConfig:
    return changed(workers=dataclasses.replace(POOLED.workers, **settings))


def require_whole(run: Run, lost: int | None = 0) -> None:
    """Each game was learned once, within the staleness limit."""
    pooled_runs.require_whole(run.folder, run.matches)
    if lost is not None:
        assert lines(run.folder, "round_finished")[-1]["workers_lost"] == lost


class Where:
    """Where the games of a test's runs are played.

    Attributes:
        name: of the transport.
        pools: those of all runs, in order.
    """

    def __init__(self, name: str, fake: FakeRay | None, monkeypatch: pytest.MonkeyPatch) -> None:
        self.name = name
        self.pools = noted_pools(monkeypatch)
        self.fake = fake

    def train(self, config: TrainingConfig, folder: Path, **options: Any) -> Run:
        cluster = {"processes": None, "fake": "local", "ray": "auto"}[self.name]
        return train(TIC_TAC_TOE, config, folder, cluster=cluster, **options)

    def kill(self, number: int) -> None:
        if self.fake is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process(number), signal.SIGKILL)
        else:
            self.pools[-1]._actors[number].handle.actor.behaviour = "dies"

    def suspend(self, number: int) -> None:
        if self.fake is None:
            os.kill(self.process(number), signal.SIGSTOP)
        else:
            self.pools[-1]._actors[number].handle.actor.behaviour = "hangs"

    def process(self, number: int) -> int:
        ready = self.pools[-1]._actors[number].ready
        assert ready is not None
        return ready.process

    def all_play(self) -> bool:
        return len(self.pools[-1].states()) == 2

    def wait_for_all(self) -> None:
        until = time.monotonic() + HANG_SECONDS
        while not self.all_play() and time.monotonic() < until:
            self.pools[-1].listen(0.1)


real_ray = pytest.fixture(scope="module")(local_cluster)
TRANSPORTS = ["processes", "fake", pytest.param("ray", marks=pytest.mark.ray)]


@pytest.fixture(params=TRANSPORTS)
def where(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Where]:
    if request.param == "ray":
        request.getfixturevalue("real_ray")
    with contextlib.ExitStack() as after:
        fake = None
        if request.param == "fake":
            fake = after.enter_context(contextlib.contextmanager(installed)(monkeypatch))
        yield Where(request.param, fake, monkeypatch)
    assert not multiprocessing.active_children(), "none outlives the run"


here = pytest.mark.parametrize("where", ["processes"], indirect=True)
"""Tests of one transport only."""
without_ray = pytest.mark.parametrize("where", ["processes", "fake"], indirect=True)
"""Tests that would take long on a real cluster."""
long_without_ray = pytest.mark.parametrize(
    "where",
    ["processes", pytest.param("fake", marks=pytest.mark.slow("a second transport, eight seconds"))],
    indirect=True,
)
"""Long tests among those."""


def newest_sent(kind: type[T], monkeypatch: pytest.MonkeyPatch) -> dict[int, T]:
    """The newest message of a type that is sent to each actor of later runs, by the actor's number."""
    send = ActorPool._send
    found: dict[int, T] = {}

    def note(pool: ActorPool, message: Any, actors: Sequence[PooledActor]) -> None:
        if isinstance(message, kind):
            found.update({actor.number: message for actor in actors})
        send(pool, message, actors)

    monkeypatch.setattr(ActorPool, "_send", note)
    return found


def test_only_the_games_of_the_run_are_played(where: Where, tmp_path: Path) -> None:
    run = where.train(POOLED, tmp_path / "run", callbacks=[OnMatch(1, where.wait_for_all)])
    assert (run.matches, run.reason) == (30, "matches")
    require_whole(run)
    matches = lines(run.folder, "match_finished")
    assert {line["worker"] for line in matches} == {0, 1}
    assert any(line["staleness"] for line in matches), "games are played while others are learned"
    rounds = lines(run.folder, "round_finished")
    assert sum(line["states_learned"] for line in rounds) == sum(
        line["states_learned"] for line in lines(run.folder, "learning_finished")
    )
    assert all(line["most_staleness"] >= line["staleness"] >= 0 for line in rounds)
    agent = load_agent(run.folder, seconds=0.01, seed=0)
    assert agent.step(TIC_TAC_TOE.new_initial_state()) in range(9)


@pytest.mark.parametrize("where", ["fake"], indirect=True)
def test_each_game_is_followed_by_new_weights(where: Where, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish = ActorPool.publish
    versions: list[int] = []

    def note(pool: ActorPool, version: int, *content: Any) -> None:
        versions.append(version)
        publish(pool, version, *content)

    monkeypatch.setattr(ActorPool, "publish", note)
    where.train(changed(matches=10), tmp_path / "run")
    assert versions == list(range(1, 12))


@pytest.mark.parametrize("where", ["processes", pytest.param("ray", marks=pytest.mark.ray)], indirect=True)
def test_a_run_continues_with_workers_or_without(where: Where, tmp_path: Path) -> None:
    run = where.train(changed(matches=10), tmp_path / "run")
    alone = resume(run.folder, more_matches=6, workers=0)
    assert (alone.matches, alone.config.workers.count) == (16, 0)
    again = resume(run.folder, more_matches=6, workers=1, cluster="auto" if where.name == "ray" else None)
    assert (again.matches, again.config.workers.count) == (22, 1)
    assert [line["matches"] for line in lines(run.folder, "match_finished")] == list(range(1, 23))


def test_proven_states_are_sent_to_all(where: Where, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    know = Games.know
    known: dict[Games, int] = {}

    def note(games: Games, arrays: Any) -> None:
        know(games, arrays)
        assert games._proven is not None
        known[games] = len(games._proven)

    monkeypatch.setattr(Games, "know", note)  # of the stand-in's actors, which are in this process
    sent = newest_sent(Proofs, monkeypatch)
    search = DescentConfig(iterations=20, resolved_hours=1.0)
    run = where.train(changed(search=search), tmp_path / "run", callbacks=[OnMatch(1, where.wait_for_all)])
    assert sent.keys() == {0, 1}
    assert all(proofs.arrays and all(map(len, proofs.arrays.values())) for proofs in sent.values())
    if where.fake is not None:
        assert len(known) == 2
        assert all(known.values())
    assert lines(run.folder, "round_finished")[-1]["resolved_states"] > 0
    states = lines(run.folder, "match_finished")
    first, last = (np.mean([line["evaluations"] for line in part]) for part in (states[:6], states[-6:]))
    assert last < first, "what is proven is not evaluated again"


@without_ray
def test_proven_states_are_forgotten_by_all(where: Where, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = newest_sent(Proofs, monkeypatch)
    search = DescentConfig(iterations=20, resolved_hours=1e-9)
    where.train(changed(search=search, matches=10), tmp_path / "run", callbacks=[OnMatch(1, where.wait_for_all)])
    assert sent.keys() == {0, 1}
    assert all(proofs.arrays is None for proofs in sent.values())


@without_ray
def test_actors_adapt_their_settings(where: Where, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athenan_spiel.training.plan.measure", lambda *_: RandomGames(2.0, 4.0))
    monkeypatch.setattr("athenan_spiel.training.fitting.evaluations_per_second", lambda *_, **__: 1e9)
    for name in ("FIRST_GAMES_SHARE", "LATEST_SHARE"):
        monkeypatch.setattr(f"athenan_spiel.training.adaptation.{name}", 1e-9)
    monkeypatch.setattr("athenan_spiel.training.clock.PROGRESS_SECONDS", 0.0)
    monkeypatch.setattr("athenan_spiel.system.ray_transport.TURN_SECONDS", 0.0)  # calls end while games are in play
    sent = newest_sent(NewSettings, monkeypatch)
    after: list[Event] = []

    def note(event: Event) -> None:
        if after or isinstance(event, SettingsAdapted):
            after.append(event)

    def have_played_on() -> bool:
        return sum(isinstance(event, MatchFinished) for event in after) >= 10 and where.all_play()

    config = changed(matches=None, seconds=600.0)
    run = where.train(config, tmp_path / "run", fit=BY_TIME, callbacks=[note], stop=have_played_on)
    assert run.reason == "stopped"
    require_whole(run)
    assert run.config.matches_at_once == 1
    assert {number: settings.config.matches_at_once for number, settings in sent.items()} == {0: 1, 1: 1}


@pytest.mark.parametrize("way", ["kill", "suspend"])
def test_an_actor_that_dies_or_hangs_is_replaced_and_nothing_learned_is_lost(
    where: Where, way: str, tmp_path: Path
) -> None:
    """It hangs after it has started: before that it may take longer, as Java may have to be started."""
    lost: list[int] = []

    def lose(event: Event) -> None:
        if isinstance(event, MatchFinished) and where.all_play() and not lost:
            lost.append(where.process(0))
            getattr(where, way)(0)

    def is_replaced() -> bool:
        return bool(lost) and where.pools[0].losses == 1 and where.all_play()

    config = dataclasses.replace(with_workers(patience_seconds=PATIENCE), matches=None, seconds=float(HANG_SECONDS))
    run = where.train(config, tmp_path / "run", callbacks=[lose], stop=is_replaced)
    assert run.reason == "stopped"
    require_whole(run, lost=None)
    if where.fake is None:
        with pytest.raises(ProcessLookupError):
            os.kill(lost[0], 0)
    elif way == "suspend":
        assert ("end_process", (lost[0],)) in where.fake.tasks


@here
def test_actors_that_are_suspended_with_the_learner_do_not_hang(
    where: Where, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a job is suspended and continues, perhaps while the learner waits for a game."""
    taken = process_transport.taken
    stopped: list[int] = []
    after: list[int] = []

    def note(event: Event) -> None:
        if isinstance(event, MatchFinished):
            after.extend([event.matches] if stopped else [])

    def take_long(received: Any, seconds: float) -> Any:
        if where.pools and where.all_play() and not stopped:
            stopped.extend([where.process(0), where.process(1)])
            for number, pause in ((signal.SIGSTOP, PATIENCE + 2.0), (signal.SIGCONT, 0.0)):
                for process in stopped:
                    os.kill(process, number)
                time.sleep(pause)
            return []
        return taken(received, seconds)

    monkeypatch.setattr(process_transport, "taken", take_long)
    config = dataclasses.replace(with_workers(patience_seconds=PATIENCE), matches=None)
    run = where.train(config, tmp_path / "run", callbacks=[note], stop=lambda: len(after) >= 20)
    require_whole(run)


@without_ray
def test_actors_that_are_lost_again_and_again_end_the_run(where: Where, tmp_path: Path) -> None:
    def kill(event: Event) -> None:
        for actor in where.pools[-1]._actors if where.pools else []:
            if actor.ready is not None:
                where.kill(actor.number)

    ending = r"ended by signal 9 \(SIGKILL\)" if where.fake is None else "was lost, with its process or its node"
    expected = rf"worker \d (on \S+ )?{ending}, after \d+ other losses within 60 s.*--workers"
    with pytest.raises(LearningError, match=expected):
        where.train(changed(matches=100_000), tmp_path / "run", callbacks=[kill])
    if where.fake is None:
        assert resume(tmp_path / "run", more_matches=4, workers=0).matches >= 4, "what was saved is good"
    else:
        assert not where.fake.is_initialized()


def test_a_stop_saves_what_is_learned_at_once(where: Where, tmp_path: Path) -> None:
    stops: list[float] = []
    callback = OnMatch(20, lambda: stops.append(time.monotonic()))
    run = where.train(changed(matches=None), tmp_path / "run", callbacks=[callback], stop=lambda: bool(stops))
    assert time.monotonic() - stops[0] < HANG_SECONDS
    assert run.reason == "stopped"
    assert run.matches >= 20
    require_whole(run)  # nothing that was reported is taken back


@here
def test_the_time_limit_ends_it(where: Where, tmp_path: Path) -> None:
    """It is before or after a game, perhaps before the first."""
    run = where.train(changed(matches=None, seconds=3.0), tmp_path / "run")
    assert run.reason == "seconds"
    assert run.seconds >= 3
    assert len(lines(run.folder, "match_finished")) == run.matches


@without_ray
def test_the_error_for_diverged_weights_names_the_learning_rate(
    where: Where, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Spoiling(monkeypatch, "weights", range(8, 1000), 0.0)
    with pytest.raises(DivergedError, match=r"lower learner\.learning_rate, now [\d.]+; rollbacks so far: 1"):
        where.train(changed(matches=None), tmp_path / "run", max_rollbacks=1)


@without_ray
def test_a_rollback_starts_other_actors(where: Where, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Spoiling(monkeypatch, "weights", {20}, 0.6 * RATE)
    run = where.train(changed(milestone_matches=5), tmp_path / "run")
    (told,) = lines(run.folder, "rolled_back")
    assert told["matches"] + told["dropped"] == 19
    require_whole(run)
    assert len(where.pools) == 2


@without_ray
@pytest.mark.parametrize("policy", [False, True], ids=["values", "and a policy"])
def test_one_process_evaluates_the_states_of_all(where: Where, policy: bool, tmp_path: Path) -> None:
    config = with_workers(inference="shared")
    if policy:
        config = dataclasses.replace(config, **WITH_POLICY)
    run = where.train(config, tmp_path / "run")
    require_whole(run)
    matches, rounds = lines(run.folder, "match_finished"), lines(run.folder, "round_finished")
    assert {line["worker"] for line in matches} == {0, 1}
    assert any(line["staleness"] < 8 for line in matches[-20:]), "weights are renewed"
    assert sum(line["network_calls"] for line in rounds) > 0
    assert all(line["inference_busy"] >= 0 for line in rounds)
    if where.fake is not None:
        assert (len(where.fake.servers), len(where.fake.actors)) == (1, 3)
        assert {*where.fake.killed} == {*where.fake.actors}


WITH_POLICY: dict[str, Any] = {
    "outcome": "gain",
    "search": PuctConfig(iterations=4),
    "targets": dataclasses.replace(TINY.targets, method="terminal"),
    "network": dataclasses.replace(TINY.network, policy="auto"),
}


def server_of(where: Where) -> Any:
    """The process that evaluates states; the stand-in for Ray has all in this process."""
    return min(multiprocessing.active_children(), key=lambda process: process.pid or 0)


@long_without_ray
def test_a_run_continues_if_the_process_that_evaluates_is_killed(where: Where, tmp_path: Path) -> None:
    config = dataclasses.replace(with_workers(inference="shared"), matches=100)
    run = where.train(config, tmp_path / "run", callbacks=[OnMatch(5, lambda: server_of(where).kill())])
    assert run.matches == 100
    require_whole(run, lost=2)


@long_without_ray
def test_that_process_ends_with_an_actor_that_hangs(where: Where, tmp_path: Path) -> None:
    servers: list[Any] = []

    def suspend() -> None:
        servers.append(server_of(where))
        where.suspend(0)

    config = dataclasses.replace(with_workers(inference="shared", patience_seconds=PATIENCE), matches=None)

    def is_replaced() -> bool:
        return bool(servers) and where.pools[-1].losses >= 1 and where.all_play()

    run = where.train(config, tmp_path / "run", callbacks=[OnMatch(5, suspend)], stop=is_replaced)
    require_whole(run, lost=None)
    assert not servers[0].is_alive()


@without_ray
def test_an_outcome_that_cannot_be_sent_is_an_error(
    where: Where, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python cannot pickle a lambda expression; Ray can, so the stand-in refuses it."""
    (tmp_path / "unsendable.py").write_text(
        "from athenan_spiel.outcomes import gain\n\ntwice = lambda state: 2 * gain(state)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    problem = "Can't pickle .*"
    if where.fake is not None:
        problem = "it holds a file"
        where.fake.cloudpickle = types.SimpleNamespace(dumps=refuse)
    expected = rf"^outcome must be one that can be pickled for other processes, got 'unsendable:twice': {problem}$"
    with pytest.raises(ConfigError, match=expected):
        where.train(changed(outcome="unsendable:twice"), tmp_path / "run")


def refuse(*arguments: Any) -> None:
    raise TypeError("it holds a file")


@without_ray
def test_a_bug_at_the_start_of_an_actor_is_not_blamed_on_the_outcome(
    where: Where, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("processes.Process", "ray.Ray"):
        monkeypatch.setattr(f"athenan_spiel.training.actors.{module}Actors.start", refuse)
    with pytest.raises(TypeError, match=r"^it holds a file$"):
        where.train(POOLED, tmp_path / "run")


@pytest.mark.parametrize(
    ("settings", "path", "problem"),
    [
        ({"count": -1}, "workers.count", "must be at least 0, got -1"),
        ({"count": 1001}, "workers.count", "must be at most 1,000, got 1001"),
        ({"max_staleness": 0}, "workers.max_staleness", "must be at least 1, got 0"),
        ({"patience_seconds": 0.0}, "workers.patience_seconds", "must be more than zero, got 0.0"),
    ],
)
def test_settings_are_bounded(settings: dict[str, Any], path: str, problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        WorkersConfig(**settings)
    assert (raised.value.path, raised.value.problem) == (path, problem)


def test_staleness_has_room_for_the_games_in_play() -> None:
    assert WorkersConfig(count=2).staleness(3) == 24
    with pytest.raises(ConfigError, match=r"max_staleness.*must be at least 12, twice the games that 2 workers play"):
        with_workers(max_staleness=11)
