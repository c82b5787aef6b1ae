"""An agent that learns while it plays: the start clock, new networks, failures of the training, and no leftovers."""

from __future__ import annotations

import copy
import dataclasses
import logging
import os
import pickle
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyspiel
import pytest
from clocks import HANG_SECONDS

import agents
from agents.athenan_ggp import load_athenan_ggp
from athenan_spiel.errors import AgentError, ConfigError
from athenan_spiel.evaluators.simple import RolloutEvaluator
from athenan_spiel.games import load_game
from athenan_spiel.play.match import play_match
from athenan_spiel.search import Budget
from athenan_spiel.system.process_transport import ProcessTransport, ProcessWorker
from athenan_spiel.system.transport import Mailbox
from athenan_spiel.training import background
from athenan_spiel.training.background import LATER_RATE, RUN, TrainingProgress, _Ended, _Order, _Reporter, _train_in
from athenan_spiel.training.checkpoints import read_header, read_weights
from athenan_spiel.training.learning_agent import LearningAgent
from athenan_spiel.training.loading import load_agent, make_agent
from athenan_spiel.training.presets import FITTED, preset
from athenan_spiel.training.run_folder import RunFolder

TIC_TAC_TOE = load_game("tic_tac_toe")
RUN_TO_COPY = "ATHENAN_TEST_RUN"
"""Environment variable with the run that `copies` finds."""
Make = Callable[..., LearningAgent]
pytestmark = pytest.mark.usefixtures("forked_workers", "one_torch_thread")


def sleeps(mailbox: Mailbox, order: _Order, folder: str, started: float) -> None:
    """A training without a checkpoint."""
    time.sleep(HANG_SECONDS)


def ignores(mailbox: Mailbox, order: _Order, folder: str, started: float) -> None:
    """A training that doesn't end when it is asked to."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    mailbox.send(TrainingProgress(1, 1))
    time.sleep(HANG_SECONDS)


def fails(mailbox: Mailbox, order: _Order, folder: str, started: float) -> None:
    mailbox.send(_Ended("the rules broke"))
    time.sleep(HANG_SECONDS)


def copies(mailbox: Mailbox, order: _Order, folder: str, started: float) -> None:
    """A training that has the network of another run at once."""
    shutil.copytree(os.environ[RUN_TO_COPY], Path(folder) / RUN)
    mailbox.send(TrainingProgress(12, 3456))
    time.sleep(HANG_SECONDS)


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the temporary folders."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def make(folders: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Makes agents whose training is another function, and ends their trainings."""
    made: list[LearningAgent] = []

    def agent(target: Any = None, game: Any = TIC_TAC_TOE, seconds: float = 0.1, **options: Any) -> LearningAgent:
        if target is not None:
            monkeypatch.setattr(background, "_train", target)
        made.append(LearningAgent(game, start_seconds=seconds, move_seconds=0.05, **options))
        return made[-1]

    yield agent
    for one in made:
        one.close()


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + HANG_SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def follower(agent: LearningAgent) -> background._Follower:
    assert agent._training is not None
    assert agent._training._follower is not None
    return agent._training._follower


def worker(agent: LearningAgent) -> ProcessWorker:
    found = follower(agent)._worker
    assert found is not None
    return found


@pytest.mark.parametrize("spec", ["tic_tac_toe", "pig(players=3,winscore=10)"])
def test_a_real_training_gives_a_network(spec: str, make: Make) -> None:
    game = load_game(spec)
    agent = make(game=game)
    agent.train_first()
    until(lambda: follower(agent).newest is not None)
    result = play_match(game, [agent, *(agents.make_bot("random", game, i) for i in range(1, game.num_players()))])
    assert result.forfeit is None
    assert agent.network is not None
    assert agent.result is not None
    assert agent.result.seconds < HANG_SECONDS
    until(lambda: agent.progress.games > 0)
    assert agent.progress.evaluations > 0


def test_learning_continues_after_the_start_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "MIN_TRAINING_SECONDS", 0.5)
    folder = RunFolder(tmp_path / RUN)
    rate = preset("quick").learner.learning_rate

    sent: list[TrainingProgress] = []
    later: list[int] = []

    def stop() -> bool:
        if (tmp_path / RUN / "config.toml").exists() and folder.settings()[1].seconds is None:
            later.append(sent[-1].games if sent else 0)
        return len(later) > 0 and later[-1] > later[0]

    _train_in(folder.path, _Order("tic_tac_toe", 0.1, 7, True), time.time(), _Reporter(sent.append), stop)
    game, config = folder.settings()
    assert (game, config.seed) == ("tic_tac_toe()", 7)
    assert (config.seconds, config.matches) == (None, None)
    assert config.learner.schedule == "constant"
    assert config.learner.learning_rate == pytest.approx(LATER_RATE * rate)
    assert [x.games for x in sent] == sorted(x.games for x in sent)
    assert sent[-1].evaluations > 0


def test_all_settings_are_fitted_to_the_rest_of_the_start_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {}

    def train(*arguments: Any, **options: Any) -> Any:
        given.update(options)
        return SimpleNamespace(reason="stopped")

    monkeypatch.setattr(background, "train", train)
    _train_in(tmp_path, _Order("tic_tac_toe", 60.0, 0, True), time.time() - 10.0, _Reporter(print), bool)
    assert given["fit"] == FITTED
    assert given["seconds"] == pytest.approx(0.95 * 50, abs=1.0)


def test_training_can_end_with_the_start_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "MIN_TRAINING_SECONDS", 0.5)
    folder = RunFolder(tmp_path / RUN)

    def stop() -> bool:
        return (tmp_path / RUN / "config.toml").exists() and folder.settings()[1].seconds is None

    _train_in(folder.path, _Order("tic_tac_toe", 0.1, 0, False), time.time(), _Reporter(lambda x: None), stop)
    assert folder.settings()[1].learner.schedule == "cosine"


def test_the_start_clock_ends_without_a_network(make: Make) -> None:
    agent = make(sleeps)
    reports: list[TrainingProgress] = []
    start = time.monotonic()
    agent.train_first(reports.append)
    assert time.monotonic() - start >= 0.1
    assert reports == [TrainingProgress()] * len(reports)
    state = TIC_TAC_TOE.new_initial_state()
    assert agent.step(state) in state.legal_actions()
    assert agent.network is None
    assert agent.result is not None
    assert agent.result.evaluations > 0, "playouts evaluate the states"


@pytest.mark.parametrize("spec", ["tic_tac_toe", "pig(players=3,winscore=10)"])
def test_slow_playouts_keep_the_play_clock(spec: str, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    game = load_game(spec)
    agent = make(sleeps, game=game)
    agent.restart()
    state = game.new_initial_state()
    fast = agent.evaluator([state] * 3)
    value, calls = RolloutEvaluator._value, []

    def slow(self: RolloutEvaluator, state: pyspiel.State) -> Any:
        calls.append(state)
        time.sleep(0.02)
        return value(self, state)

    monkeypatch.setattr(RolloutEvaluator, "_value", slow)
    limited = agent.evaluator([state] * 100)
    assert len(limited) == 100
    assert len(calls) == 1
    assert np.shape(limited)[1:] == np.shape(fast)[1:]
    assert np.array_equal(limited[0], fast[0])
    assert not np.any(limited[1:])


@pytest.mark.parametrize("begin", ["restart", "restart_at", "step"])
def test_the_start_clock_runs_once_when_the_first_game_begins(
    begin: str, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[_Order] = []
    start = background._Follower.__init__
    monkeypatch.setattr(
        background._Follower, "__init__", lambda self, game, order: (started.append(order), start(self, game, order))[1]
    )
    agent = make(sleeps)
    assert started == []
    state = TIC_TAC_TOE.new_initial_state()
    getattr(agent, begin)(*([] if begin == "restart" else [state]))
    assert len(started) == 1
    agent.restart()
    agent.clone().step(state)
    assert len(started) == 1


def test_a_move_starts_with_the_newest_network(make: Make, tiny_run: Path) -> None:
    agent = make(sleeps)
    agent.bound_tree(200)
    state = TIC_TAC_TOE.new_initial_state()
    action = agent.step(state)
    thread = follower(agent)
    thread.newest = first = load_agent(tiny_run, seed=0)
    assert agent.step(state) == action, "the same state, the same action"
    agent.think(state)
    assert agent.network is None, "no other network in the same state"
    before = agent.tree
    state.apply_action(action)
    state.apply_action(state.legal_actions()[0])
    action = agent.step(state)
    assert agent.tree is not before, "it has values of playouts"
    assert agent.network is first.network
    assert agent.search is first.search
    assert agent.evaluator.current is first.evaluator  # type: ignore[attr-defined]
    assert agent.tree.most == 200
    before = agent.tree
    state.apply_action(action)
    state.apply_action(state.legal_actions()[0])
    agent.step(state)
    assert agent.tree is before, "no new network, so the tree stays"
    agent.restart()
    agent.step(TIC_TAC_TOE.new_initial_state())
    assert agent.network is first.network, "a new game keeps the network"


def test_an_agent_plays_another_length_of_the_game_that_a_network_has_learned(tiny_run: Path) -> None:
    (*_, path) = RunFolder(tiny_run).checkpoints()
    header = dataclasses.replace(read_header(path), game="tic_tac_toe(max_length=5)")
    agent = make_agent(TIC_TAC_TOE, header, read_weights(path), budget=Budget(iterations=3))
    assert agent.game is TIC_TAC_TOE
    assert agent.step(TIC_TAC_TOE.new_initial_state()) in range(9)


def test_a_network_is_compiled_before_an_agent_uses_it(
    make: Make, tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RUN_TO_COPY, str(tiny_run))
    agent = make(copies)
    agent.train_first()
    until(lambda: follower(agent).newest is not None)
    newest = follower(agent).newest
    assert newest is not None
    assert newest.result is not None
    assert newest.result.evaluations > 0


def test_clones_share_the_training_and_copies_do_not(make: Make, tiny_run: Path) -> None:
    agent = make(sleeps)
    agent.restart()
    twin = agent.clone()
    follower(agent).newest = load_agent(tiny_run, seed=0)
    state = TIC_TAC_TOE.new_initial_state()
    twin.step(state)
    assert twin.network is not None
    assert agent.network is None
    assert agent.evaluator.current is not twin.evaluator.current  # type: ignore[attr-defined]
    for other in (pickle.loads(pickle.dumps(agent)), copy.deepcopy(agent)):
        assert other._training is not agent._training
        assert other._made_of == agent._made_of


@pytest.mark.parametrize("target", [fails, copies])
def test_a_failure_is_reported_once_and_play_continues(
    target: Any, make: Make, tiny_run: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(RUN_TO_COPY, str(tiny_run))
    agent = make(target, game=TIC_TAC_TOE)
    agent.train_first()
    expected = "the rules broke"
    if target is copies:
        until(lambda: follower(agent).newest is not None)
        assert agent.progress == TrainingProgress(12, 3456)
        worker(agent).process.kill()
        expected = "its process ended by signal 9 (SIGKILL)"
    until(follower(agent).ended.is_set)
    with caplog.at_level(logging.WARNING):
        bots = [agent, agent.clone()]
        assert play_match(TIC_TAC_TOE, bots).forfeit is None
        assert play_match(TIC_TAC_TOE, bots).forfeit is None
    (line,) = [x.getMessage() for x in caplog.records]
    assert line == f"the training ended, and the agent keeps its last network: {expected}"
    assert (agent.network is not None) == (target is copies)


def test_an_error_of_loading_or_starting_ends_only_the_training(
    make: Make, tiny_run: Path, folders: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(RUN_TO_COPY, str(tiny_run))

    def refuses(*arguments: Any, **options: Any) -> None:
        raise ConfigError("the network is too large")

    def is_daemonic(*arguments: Any) -> None:
        raise AssertionError("daemonic processes are not allowed to have children")

    state = TIC_TAC_TOE.new_initial_state()
    for holder, name, error in ((background, "make_agent", refuses), (ProcessTransport, "start", is_daemonic)):
        with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
            patch.setattr(holder, name, error)
            agent = make(copies, seconds=HANG_SECONDS)
            assert agent.step(state) in range(9)
            agent.close()
    assert [x.getMessage().partition(": ")[2] for x in caplog.records] == [
        "the network is too large",
        "AssertionError: daemonic processes are not allowed to have children",
    ]
    assert [*folders.iterdir()] == []


def test_without_learning_during_play_the_process_ends_with_the_start_clock(
    make: Make, tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RUN_TO_COPY, str(tiny_run))
    agent = make(copies, seconds=1.0, learns_during_play=False)
    agent.train_first()
    assert not worker(agent).process.is_alive()
    assert agent._training is not None
    assert agent._training.problem is None


@pytest.mark.parametrize("learns", [True, False])
def test_the_start_clock_is_a_hard_limit(learns: bool, make: Make) -> None:
    agent = make(ignores, seconds=1.0, learns_during_play=learns)
    start = time.monotonic()
    agent.train_first()
    assert 0.95 <= time.monotonic() - start < 1.6, "also if the training does not end by itself"


@pytest.mark.parametrize("how", ["close", "last reference", "end of the other process"])
def test_nothing_is_left(how: str, make: Make, folders: Path) -> None:
    agent = LearningAgent(TIC_TAC_TOE, start_seconds=0.1, move_seconds=0.05)
    agent.train_first()
    thread, ended = follower(agent), worker(agent)
    until(lambda: (thread._folder / RUN).exists())
    assert [x.name for x in folders.iterdir()] == [thread._folder.name]
    if how == "close":
        agent.close()
        agent.close()
    elif how == "last reference":
        del agent
    else:
        ended.sender.finish()  # as the system does at the end of a process
        ended.process.join(HANG_SECONDS)
        assert [*folders.iterdir()] == []
        agent.close()
    until(lambda: not ended.process.is_alive())
    assert not thread.is_alive()
    assert [*folders.iterdir()] == []


def test_a_training_that_does_not_end_is_killed(make: Make, folders: Path) -> None:
    agent = make(ignores)
    agent.train_first()
    until(lambda: agent.progress.games)
    process = worker(agent).process
    start = time.monotonic()
    agent.close()
    assert not process.is_alive()
    assert time.monotonic() - start < HANG_SECONDS / 2  # it would end by itself after HANG_SECONDS
    assert [*folders.iterdir()] == []


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"start_clock": 0.0}, "start_seconds must be"),
        ({"play_clock": -1.0}, "move_seconds must be"),
        ({"start_clock": "long"}, "parameter 'start_clock' of bot 'athenan-ggp' must be a number"),
        ({"seconds": 1.0}, "has the parameters start_clock, play_clock, learn_during_play, seed"),
    ],
)
def test_bad_parameters_of_the_bot(params: dict[str, object], said: str) -> None:
    with pytest.raises(AgentError, match=said):
        agents.load_bot("athenan-ggp", TIC_TAC_TOE, 0, params)


def test_specs_of_the_bot() -> None:
    assert agents.parse_spec("athenan-ggp").params == {}
    assert agents.parse_spec("athenan-ggp:90s/.5s").params == {"start_clock": 90.0, "play_clock": 0.5}
    for value in (True, False):
        spec = agents.parse_spec(f"athenan-ggp:1s/2s;learn_during_play={str(value).lower()}")
        assert spec.params == {"start_clock": 1.0, "play_clock": 2.0, "learn_during_play": value}
    for text in (
        "athenan-ggp:60s",
        "athenan-ggp:60/10",
        "athenan-ggp:1s/2s/3s",
        "athenan-ggp:20i/1s",
        "athenan-ggp:1s/2s;ponder=true",
        "athenan-ggp:1s/2s;learn_during_play=true;learn_during_play=false",
    ):
        with pytest.raises(AgentError, match="expected athenan-ggp:START/PLAY"):
            agents.parse_spec(text)


def test_the_bot_plays_in_openspiels_evaluate_bots(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_train", sleeps)
    params = {"start_clock": 0.1, "play_clock": 0.02, "seed": 3, "learn_during_play": True}
    bot = load_athenan_ggp(TIC_TAC_TOE, 0, params)
    state = TIC_TAC_TOE.new_initial_state()
    assert sum(pyspiel.evaluate_bots(state, [bot, agents.make_bot("random", TIC_TAC_TOE, 1)], 1)) == 0
    assert state.is_terminal()
    assert bot.budget.seconds == 0.02
    bot.agent.close()
