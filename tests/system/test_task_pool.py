"""Tasks keep the same promises in this process, in processes of this machine, and on a cluster (with a fake Ray)."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from fake_ray import Actor, FakeRay, installed

from athenan_spiel.errors import AthenanError, ConfigError, ExperimentError
from athenan_spiel.system.cluster import Cluster
from athenan_spiel.system.tasks import LossPolicy, do_tasks

OWN = Cluster(is_own=True)
fake = pytest.fixture(installed)
IN_A_PROCESS: dict[str, Any] = {"losses": LossPolicy[Any](lambda task, reason: [], 600.0)}
"""One task at a time, but not in this process."""
ERRORS = [
    ("fail", ConfigError, "^it failed$"),
    (
        "disk",
        ExperimentError,
        "^x/y: No space left on device; finished work is kept: run the command again to continue$",
    ),
    ("memory", ExperimentError, "^memory ran out; finished work is kept: start again with fewer --processes"),
]
"""What a task can do wrong, and the error."""


@pytest.fixture(params=["inline", "processes", "cluster"])
def options(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Options of `do_tasks` that choose the transport for one worker."""
    if request.param == "cluster":
        request.getfixturevalue("fake")
        return {"cluster": OWN}
    return IN_A_PROCESS if request.param == "processes" else {}


class Doing:
    """A task, by what it is to do."""

    keeps_results: ClassVar[bool] = True
    processes_option: ClassVar[str] = "--processes"

    def __init__(self, what: str) -> None:
        self.what = what

    def run(self, tell: Callable[[str], None], stop: Callable[[], bool]) -> bool:
        if self.what != "say nothing":
            tell(f"began {self.what}")
        if self.what == "fail":
            raise ConfigError("it failed")
        if self.what == "last":
            time.sleep(0.3)
        if self.what == "bug":
            raise KeyError("a bug")
        if self.what == "disk":
            raise OSError(errno.ENOSPC, "No space left on device", "x/y")
        if self.what == "memory":
            raise MemoryError
        while self.what in ("wait", "be lost") and not stop():
            time.sleep(0.01)
        if self.what == "die while it stops":
            while not stop():
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGKILL)
        return self.what not in ("wait", "be lost", "stop itself")


class Dropped(Doing):
    """One of which nothing is kept when it is stopped."""

    keeps_results: ClassVar[bool] = False


class Heard:
    """What is told of tasks."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.done: list[str] = []

    def on_report(self, task: Doing, said: str) -> None:
        self.said.append(said)

    def on_finished(self, task: Doing) -> None:
        self.done.append(task.what)


def do(
    tasks: list[Doing], processes: int = 2, heard: Heard | None = None, cluster: Cluster = OWN, **options: Any
) -> Heard:
    heard = heard or Heard()
    do_tasks(tasks, processes, heard.on_report, heard.on_finished, cluster=cluster, **options)
    return heard


def do_one_by_one(tasks: list[Doing], heard: Heard, options: dict[str, Any], **more: Any) -> None:
    do_tasks(tasks, 1, heard.on_report, heard.on_finished, **options, **more)


def test_one_worker_does_them_in_their_order(options: dict[str, Any]) -> None:
    heard = Heard()
    do_one_by_one([Doing(name) for name in "abc"], heard, options)
    assert (heard.said, heard.done) == (["began a", "began b", "began c"], ["a", "b", "c"])


def test_what_is_wanted_no_more_is_left_out(options: dict[str, Any]) -> None:
    heard = Heard()
    tasks = [Doing("a"), Doing("b"), Doing("c")]
    do_one_by_one(tasks, heard, options, wanted=lambda task: task.what != "b" and "a" not in heard.done)
    assert heard.done == ["a"]


@pytest.mark.parametrize(("what", "error", "message"), ERRORS)
def test_an_error_of_one_ends_all(options: dict[str, Any], what: str, error: type[AthenanError], message: str) -> None:
    heard = Heard()
    with pytest.raises(error, match=message):
        do_one_by_one([Doing("a"), Doing(what), Doing("later")], heard, options)
    assert (heard.said, heard.done) == (["began a", f"began {what}"], ["a"])


class ExpectsReceipt(Doing):
    """It fails unless its report is received while it is sent."""

    received: ClassVar[list[str]] = []

    def run(self, tell: Callable[[str], None], stop: Callable[[], bool]) -> bool:
        tell("half")
        assert self.received == ["half"]
        return True


def test_a_report_in_this_process_is_received_at_once() -> None:
    """So games are saved one by one, and a kill loses only the game in play."""
    heard = Heard()
    ExpectsReceipt.received = heard.said
    do_one_by_one([ExpectsReceipt("it")], heard, {})
    assert (heard.said, heard.done) == (["half"], ["it"])


def test_a_task_that_is_stopped_stops_all() -> None:
    """A training in this process handles Ctrl-C itself."""
    heard = Heard()
    with pytest.raises(KeyboardInterrupt):
        do_one_by_one([Doing("stop itself"), Doing("later")], heard, {})
    assert (heard.said, heard.done) == (["began stop itself"], [])


def test_a_bug_in_this_process_is_raised_as_it_is() -> None:
    with pytest.raises(KeyError, match="a bug"):
        do_one_by_one([Doing("bug")], Heard(), {})


def test_all_are_done_and_told_of(fake: FakeRay) -> None:
    heard = do([Doing(name) for name in "abcde"])
    assert sorted(heard.done) == [*"abcde"]
    assert sorted(heard.said) == [f"began {name}" for name in "abcde"]
    assert len(fake.actors) == len(fake.killed) == 2, "two for them all, which are ended"


def test_one_process_is_on_the_cluster_too(fake: FakeRay) -> None:
    assert do([Doing("a"), Doing("b")], 1).done == ["a", "b"]
    assert len(fake.actors) == 1


def test_nothing_to_do_takes_no_process(fake: FakeRay) -> None:
    do([])
    assert not fake.actors


def test_a_task_that_is_stopped_lets_the_others_end(fake: FakeRay) -> None:
    heard = Heard()
    with pytest.raises(KeyboardInterrupt):
        do([Doing("stop itself"), Doing("last"), Doing("later")], 2, heard)
    assert (sorted(heard.said), heard.done) == (["began last", "began stop itself"], ["last"])


@pytest.mark.parametrize(
    ("what", "error", "message"), [*ERRORS, ("bug", ExperimentError, "^a task failed on .*: KeyError: 'a bug'$")]
)
def test_what_goes_wrong_in_one_stops_the_others(
    fake: FakeRay, what: str, error: type[AthenanError], message: str
) -> None:
    heard = Heard()
    with pytest.raises(error, match=message):
        do([Doing("wait"), Doing(what), Doing("later")], 2, heard)
    assert "began later" not in heard.said
    assert heard.done == []


def test_a_machine_that_is_not_fit_is_told_before_it_has_work(fake: FakeRay) -> None:
    cluster = Cluster(is_own=True, check=unfit)
    heard = Heard()
    with pytest.raises(ExperimentError, match=r"^node .* of the cluster: it is out of coal$"):
        do([Doing("a")], 1, heard, cluster)
    assert heard.said == []


def unfit() -> str:
    return "it is out of coal"


class LosesProcess(Heard):
    """Lets the process that does a task be lost as soon as that says something.

    Args:
        times: how often.
    """

    def __init__(self, fake: FakeRay, times: int) -> None:
        super().__init__()
        self.fake = fake
        self.times = times

    def on_report(self, task: Doing, said: str) -> None:
        super().on_report(task, said)
        if self.times and said == "began be lost":
            self.times -= 1
            self.fake.actors[-1].behaviour = "dies"
        elif said == "began be lost":
            self.fake.actors[-1].made._mailbox.put("stop")


def test_a_task_that_keeps_something_is_begun_again_elsewhere(fake: FakeRay) -> None:
    heard = LosesProcess(fake, 2)
    with pytest.raises(KeyboardInterrupt):  # in the end it is stopped
        do([Doing("be lost")], 1, heard)
    assert heard.said == ["began be lost"] * 3
    assert len(fake.actors) == 3


@pytest.mark.parametrize(("task", "times"), [(Doing("be lost"), 3), (Dropped("be lost"), 1)])
def test_what_is_lost_too_often_or_cannot_be_done_again_is_told(fake: FakeRay, task: Doing, times: int) -> None:
    with pytest.raises(ExperimentError, match=r"^a process of the cluster was lost .*finished work is kept"):
        do([task], 1, LosesProcess(fake, times))
    assert len(fake.actors) == times


def test_a_task_that_is_lost_too_often_leaves_the_others_with_a_policy(fake: FakeRay) -> None:
    lost: list[tuple[str, str]] = []

    def on_lost(task: Doing, reason: str) -> list[Doing]:
        lost.append((task.what, reason))
        return []

    heard = do([Doing("be lost"), Doing("a")], 1, LosesProcess(fake, 3), losses=LossPolicy(on_lost, 600.0))
    assert [what for what, _ in lost] == ["be lost"]
    assert lost[0][1].startswith("its process ")
    assert heard.said == ["began be lost"] * 3 + ["began a"]
    assert heard.done == ["a"]


@pytest.mark.parametrize("transport", ["processes", "cluster"])
def test_a_function_stops_the_tasks_as_a_signal_does(transport: str, request: pytest.FixtureRequest) -> None:
    options = IN_A_PROCESS if transport == "processes" else {"cluster": OWN}
    if transport == "cluster":
        request.getfixturevalue("fake")
    heard = Heard()
    with pytest.raises(KeyboardInterrupt):
        do_one_by_one([Doing("last"), Doing("later")], heard, options, stop=lambda: bool(heard.said))
    assert heard.said == ["began last"]


def test_a_process_that_dies_while_it_stops_is_no_loss() -> None:
    heard, lost = Heard(), []
    losses = LossPolicy[Any](lambda task, reason: lost.append(reason) or (), 600.0)
    with pytest.raises(KeyboardInterrupt):
        do_one_by_one([Doing("die while it stops")], heard, {"losses": losses}, stop=lambda: bool(heard.said))
    assert not lost


def test_processes_that_never_begin_are_told(fake: FakeRay) -> None:
    def lose(actor: Actor) -> None:
        actor.behaviour = "dies"

    fake.on_new = lose
    with pytest.raises(ExperimentError, match=r"^a process of the cluster was lost"):
        do([Doing("a")], 1)


class Stopped(Heard):
    """Asks everything to stop after so many reports."""

    def on_report(self, task: Doing, said: str) -> None:
        super().on_report(task, said)
        if len(self.said) == 2:
            os.kill(os.getpid(), signal.SIGTERM)


def test_what_is_lost_after_a_stop_is_not_begun_again(fake: FakeRay) -> None:
    class Losing(Stopped):
        def on_report(self, task: Doing, said: str) -> None:
            super().on_report(task, said)
            assert len(self.said) <= 2
            if len(self.said) == 2:
                fake.actors[-1].behaviour = "dies"

    with pytest.raises(KeyboardInterrupt):
        do([Doing("wait"), Doing("wait")], 2, Losing())
    assert len(fake.actors) == 2


def test_a_stop_lets_what_can_be_kept_be_saved(fake: FakeRay) -> None:
    heard = Stopped()
    with pytest.raises(KeyboardInterrupt):
        do([Doing("wait"), Dropped("wait"), Doing("later")], 2, heard)
    assert heard.said == ["began wait"] * 2
    assert heard.done == []
