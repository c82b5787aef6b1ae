"""Ctrl-C, SIGTERM and SIGHUP: when they are heard, when they are kept for later, and when they are not ours."""

from __future__ import annotations

import errno
import importlib
import io
import math
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import plays_here
from training_runs import TIC_TAC_TOE, TINY

from athenan_spiel.cli.console import quoted
from athenan_spiel.cli.main import main
from athenan_spiel.errors import ConfigError
from athenan_spiel.networks import memory
from athenan_spiel.search.walk import Requests
from athenan_spiel.system.stopping import AGAIN_SECONDS, SIGNALS, StopRequests, postponed
from athenan_spiel.training import train
from athenan_spiel.training.events import Callback, Event, RoundFinished

pytestmark = pytest.mark.usefixtures("forked_workers")

ATHENAN_TINY = ["--matches-at-once", "2", "--search.iterations", "1", "--network.filters", "4", "--matches", "40"]
Out = pytest.CaptureFixture[str]


def send(number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(0)  # signals are heard between two steps of the interpreter


@pytest.fixture(autouse=True)
def _handlers_are_left_as_they_were() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def handlers() -> list[Any]:
    return [signal.getsignal(number) for number in SIGNALS]


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_is_heard_at_once_where_work_may_be_dropped(number: int) -> None:
    before = handlers()
    with StopRequests() as stops:
        with pytest.raises(KeyboardInterrupt), stops.droppable():
            send(number)
        assert (stops.requested, stops.signal) == (True, number)
    assert handlers() == before


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_is_kept_where_work_must_not_be_dropped(number: int) -> None:
    with StopRequests() as stops:
        send(number)
        assert stops.requested
        with pytest.raises(KeyboardInterrupt), stops.droppable():
            pytest.fail("a request that came before is heard on entry")


def test_a_request_that_is_neither_true_nor_false_is_an_error() -> None:
    assert StopRequests(lambda: 1).requested  # type: ignore[arg-type,return-value]
    assert not StopRequests(lambda: None).requested  # type: ignore[arg-type,return-value]
    with pytest.raises(ConfigError, match=r"expected stop to return True or False, got array\(\[1., 2.\]\)"):
        _ = StopRequests(lambda: np.array([1.0, 2.0])).requested  # type: ignore[arg-type,return-value]


def test_only_ctrl_c_breaks_off_what_is_being_saved() -> None:
    with StopRequests() as stops:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGTERM):
            send(number)
        assert stops.signal == signal.SIGTERM
        with pytest.raises(KeyboardInterrupt):
            send(signal.SIGINT)


@pytest.mark.parametrize("number", SIGNALS)
def test_what_was_ignored_stays_ignored(number: int) -> None:
    signal.signal(number, signal.SIG_IGN)
    with StopRequests() as stops:
        with stops.droppable():
            send(number)
        assert not stops.requested
        assert signal.getsignal(number) is signal.SIG_IGN


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_handler_of_the_callers_own_stays(number: int) -> None:
    heard: list[int] = []
    signal.signal(number, lambda number, frame: heard.append(number))
    with StopRequests() as stops:
        with stops.droppable():
            send(number)
        assert (heard, stops.requested) == ([number], False)


@pytest.mark.parametrize(
    ("ctrl_c", "after"), [(signal.SIG_DFL, signal.SIG_IGN), (signal.default_int_handler, signal.SIG_DFL)]
)
def test_a_command_that_stops_ignores_further_requests(ctrl_c: Any, after: Any) -> None:
    """In the `athenan` command, where Ctrl-C has the default action. A Python program keeps the default of SIGTERM."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        signal.signal(signal.SIGINT, ctrl_c)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with StopRequests():
            pass
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, "nothing was requested"
        with StopRequests() as requests:
            signal.raise_signal(signal.SIGTERM)
        assert requests.signal == signal.SIGTERM
        assert signal.getsignal(signal.SIGTERM) is after
        assert signal.getsignal(signal.SIGINT) is ctrl_c
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_the_outer_one_learns_what_the_inner_one_heard() -> None:
    with StopRequests() as outer, outer.droppable():
        with StopRequests() as inner:
            send(signal.SIGTERM)
            assert inner.requested
        assert outer.signal == signal.SIGTERM
        with StopRequests() as next_one:
            assert next_one.requested, "what nobody could act on yet is not lost"


class Finalized:
    """What takes a while to go, as a network's call that is under way."""

    seconds = 2.5 * AGAIN_SECONDS

    def __del__(self) -> None:
        send(signal.SIGTERM)
        time.sleep(self.seconds)


def _finalized_and_more() -> None:
    Finalized()
    time.sleep(10)


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_what_a_finalizer_would_lose_is_raised_after_it() -> None:
    start = time.monotonic()
    with StopRequests() as stops, pytest.raises(KeyboardInterrupt), stops.droppable():
        _finalized_and_more()
    assert Finalized.seconds < time.monotonic() - start < 5


class Signals(str):
    """A module's name that sends a signal when it is looked up, once `armed`."""

    armed = False

    def __hash__(self) -> int:
        if self.armed:
            send(signal.SIGTERM)
        return super().__hash__()


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_nothing_is_lost_where_an_import_drops_its_lock() -> None:
    """Python prints a traceback for what is raised there."""

    def import_and_more() -> None:
        name = Signals("a_module")
        lock = importlib._bootstrap._get_module_lock(name)  # type: ignore[attr-defined]
        name.armed = True
        del lock
        time.sleep(10)

    with StopRequests() as stops, pytest.raises(KeyboardInterrupt), stops.droppable():
        import_and_more()


def _let_go() -> Iterator[None]:
    try:
        yield
    finally:
        send(signal.SIGTERM)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", ["a generator", "a weak reference's callback"])
def test_what_is_lost_elsewhere_is_raised_again(kind: str) -> None:
    def lost_and_more() -> None:
        if kind == "a generator":
            generator = _let_go()
            next(generator)
            del generator
        else:
            thing = threading.Event()
            weakref.finalize(thing, send, signal.SIGTERM)
            del thing
        time.sleep(10)

    start = time.monotonic()
    with StopRequests() as stops, pytest.raises(KeyboardInterrupt), stops.droppable():
        lost_and_more()
    assert time.monotonic() - start < 5
    assert stops.signal == signal.SIGTERM


def test_nothing_comes_after_work_that_was_left() -> None:
    with StopRequests() as stops:
        with pytest.raises(KeyboardInterrupt), stops.droppable():
            send(signal.SIGINT)
        time.sleep(3 * AGAIN_SECONDS)
    time.sleep(3 * AGAIN_SECONDS)
    assert not any(thread.name == "stop requests" for thread in threading.enumerate())


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_what_a_finalizer_would_lose_is_kept_where_work_must_not_be_dropped_any_more() -> None:
    with StopRequests() as stops:
        with stops.droppable():
            last = Finalized()
            last.seconds = 0.0
            del last
        time.sleep(5 * AGAIN_SECONDS)
        assert stops.requested


def test_what_is_sent_again_is_known_though_another_signal_comes_before_it() -> None:
    """Else the resent Ctrl-C would count as a second one, which breaks off what is being saved."""
    with StopRequests() as stops:
        send(signal.SIGTERM)
        stops._resent = signal.SIGINT
        send(signal.SIGHUP)
        send(signal.SIGINT)  # raises nothing, as it was the resent one
        with pytest.raises(KeyboardInterrupt):
            send(signal.SIGINT)


@pytest.mark.parametrize(("seconds", "heard"), [(math.inf, 1), (0.0, 2)])
def test_what_comes_together_is_one_request(seconds: float, heard: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """`KeyboardInterrupt` may be lost, in a destructor say, so a later signal must be heard again."""
    monkeypatch.setattr("athenan_spiel.system.stopping.ECHO_SECONDS", seconds)
    interrupted = 0
    with StopRequests() as stops, stops.droppable():
        for number in (signal.SIGTERM, signal.SIGHUP):
            try:
                send(number)
            except KeyboardInterrupt:
                interrupted += 1
    assert interrupted == heard


def test_a_signal_lets_a_module_be_imported_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Native code that imports Python code may abort the process at an exception, as that of torch does."""
    (tmp_path / "imported_whole.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\nwhole = True\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    def work() -> None:
        importlib.import_module("imported_whole")
        time.sleep(10)

    with StopRequests() as stops, pytest.raises(KeyboardInterrupt), stops.droppable():
        work()
    assert sys.modules["imported_whole"].whole
    assert stops.signal == signal.SIGTERM


def test_a_signal_lets_postponing_work_end() -> None:
    ended = []

    def work() -> None:
        with postponed():
            send(signal.SIGINT)
            time.sleep(3 * AGAIN_SECONDS)
            ended.append(True)
        time.sleep(10)

    with StopRequests() as stops, pytest.raises(KeyboardInterrupt), stops.droppable():
        work()
    assert ended == [True]


def test_the_memory_of_a_network_is_measured_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pass runs Python code in native code of torch, which aborts the process at an exception."""
    functional_call = memory.functional_call
    monkeypatch.setattr(memory, "functional_call", lambda *given: (send(signal.SIGINT), functional_call(*given))[1])
    memory._peak_bytes.cache_clear()
    measured = []

    def work() -> None:
        measured.append(memory.learning_bytes((3, 4, 4), TINY.network, 7))
        time.sleep(10)

    with StopRequests() as stops, pytest.raises(KeyboardInterrupt), stops.droppable():
        work()
    assert len(measured) == 1
    assert measured[0] > 0


def test_work_of_a_script_that_is_imported_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = """
import os, signal
from athenan_spiel.system.stopping import StopRequests
interrupted = False
with StopRequests() as stops:
    try:
        with stops.droppable():
            os.kill(os.getpid(), signal.SIGTERM)
            left = False
    except KeyboardInterrupt:
        interrupted = True
"""
    (tmp_path / "imported_script.py").write_text(script)
    monkeypatch.syspath_prepend(tmp_path)
    found = importlib.import_module("imported_script")
    assert found.interrupted
    assert not hasattr(found, "left")


def test_a_signal_that_was_caught_does_not_end_the_program_later(tmp_path: Path) -> None:
    program = """
import os, signal
from athenan_spiel.system.stopping import StopRequests
with StopRequests() as stops:
    try:
        with stops.droppable():
            exec("os.kill(os.getpid(), signal.SIGTERM)")
    except KeyboardInterrupt:
        pass
raise SystemExit(7)
"""
    (tmp_path / "caught.py").write_text(program)
    root = str(Path(__file__).resolve().parents[2])
    process = subprocess.run([sys.executable, "-m", "caught"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": root})
    assert process.returncode == 7


def interrupting(number: int) -> Callable[[Sequence[str]], int]:
    def run(words: Sequence[str]) -> int:
        send(number)
        raise AssertionError("nothing was interrupted")

    return run


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_command_ends_with_the_code_of_the_signal(
    number: int, code: int, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("athenan_spiel.cli.games.run", interrupting(number))
    before = handlers()
    assert main(["games"]) == code
    assert capsys.readouterr().err == "athenan games: stopped\n"
    assert handlers() == before


class Sending:
    """A callback that sends a signal when a round is learned."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __call__(self, event: Event) -> None:
        if isinstance(event, RoundFinished):
            send(self._number)


@pytest.mark.parametrize("name", ["run", "it's a run", "-run"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_training_saves_and_says_how_to_go_on(
    number: int, code: int, name: str, tmp_path: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("athenan_spiel.training.callbacks.view", lambda console: Sending(number))
    assert main(["train", "tic_tac_toe", f"--folder={name}", *ATHENAN_TINY]) == code
    assert capsys.readouterr().err == f"continue with: athenan resume {quoted(name)}\n"
    assert [path.name for path in (tmp_path / name / "checkpoints").iterdir()][-1:] == ["000002"]


def test_a_path_is_a_word_of_the_shell() -> None:
    words = ["runs/x", "a b", "it's", "$(date)", "-x"]
    assert list(map(quoted, words)) == ["runs/x", "'a b'", "'it'\"'\"'s'", "'$(date)'", "./-x"]


def test_eval_prints_what_was_played(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    from athenan_spiel.play.match import OngoingGame

    plays_here(monkeypatch)
    moves, played = OngoingGame._moves, 0

    def counted(match: OngoingGame) -> Requests[None]:
        nonlocal played
        played += 1
        if played == 3:
            send(signal.SIGTERM)
        yield from moves(match)

    monkeypatch.setattr(OngoingGame, "_moves", counted)
    assert main(["eval", "random", "--against", "random", "--game", "tic_tac_toe", "--matches", "8", "--json"]) == 143
    captured = capsys.readouterr()
    assert '"matches": 2' in captured.out
    assert "stopped" in captured.err


def test_signals_while_the_results_are_printed_lose_none(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one used to be raised again a moment later, in the middle of the table."""
    from athenan_spiel.cli import eval as command
    from athenan_spiel.play.match import OngoingGame

    plays_here(monkeypatch)
    moves, played, printed = OngoingGame._moves, 0, command.print_json

    def counted(match: OngoingGame) -> Requests[None]:
        nonlocal played
        played += 1
        if played == 3:
            send(signal.SIGTERM)
        yield from moves(match)

    def slowly(value: object) -> None:
        time.sleep(3 * AGAIN_SECONDS)
        send(signal.SIGHUP)
        printed(value)

    monkeypatch.setattr(OngoingGame, "_moves", counted)
    monkeypatch.setattr(command, "print_json", slowly)
    code = main(["eval", "random", "--against", "random", "--game", "tic_tac_toe", "--matches", "8", "--json"])
    assert code in (143, 129)
    assert '"matches": 2' in capsys.readouterr().out


def test_before_a_run_has_begun_nothing_is_said_of_saving(
    tmp_path: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        send(signal.SIGTERM)

    monkeypatch.setattr("athenan_spiel.training.loop.plan_run", interrupted)
    assert main(["train", "tic_tac_toe", "--folder", str(tmp_path / "run"), *ATHENAN_TINY]) == 143
    assert capsys.readouterr().err == "athenan train: stopped\n"
    assert not (tmp_path / "run").exists()


def test_training_in_python_hears_them_too(tmp_path: Path) -> None:
    callbacks: list[Callback] = [Sending(signal.SIGTERM)]
    run = train(TIC_TAC_TOE, TINY, tmp_path / "run", callbacks=callbacks)
    assert (run.reason, run.matches, run.checkpoint.name) == ("stopped", 3, "000003")


class Closing(io.StringIO):
    """A terminal that is closed some time."""

    gone = False

    def write(self, text: str) -> int:
        if self.gone:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return super().write(text)


def test_a_terminal_that_is_closed_ends_the_run_as_ctrl_c_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It sends SIGHUP, and nothing can be written to it any more."""
    from athenan_spiel.training import callbacks

    view, terminal, sending = callbacks.view, Closing(), Sending(signal.SIGHUP)

    def closing(console: Any) -> Callback:
        shown = view(console)

        def tell(event: Event) -> None:
            terminal.gone = terminal.gone or isinstance(event, RoundFinished)
            shown(event)
            sending(event)

        return tell

    monkeypatch.setattr(callbacks, "view", closing)
    monkeypatch.setattr("sys.stderr", terminal)
    assert main(["train", "tic_tac_toe", "--folder", str(tmp_path / "run"), *ATHENAN_TINY]) == 129
    assert (tmp_path / "run" / "checkpoints" / "000002").exists()
    assert "training: tic_tac_toe()" in terminal.getvalue()


def test_a_path_that_would_steer_the_terminal_is_shown_and_still_a_word_of_the_shell(
    tmp_path: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "it's\x1b[2J\\\udcff\n"
    word = quoted(name)
    assert word.isprintable()
    told = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, check=True).stdout
    assert told == os.fsencode(name)
    with monkeypatch.context() as patch:
        patch.setattr("athenan_spiel.training.callbacks.view", lambda console: Sending(signal.SIGTERM))
        assert main(["train", "tic_tac_toe", f"--folder={name}", *ATHENAN_TINY]) == 143
    assert capsys.readouterr().err == f"continue with: athenan resume {word}\n"
    assert main(["eval", f"./{name}@1i", "--against", "random", "--matches", "2"]) == 0
    assert main(["resume", name, "--matches", "2"]) == 0
    captured = capsys.readouterr()
    assert all(line.isprintable() for line in (captured.out + captured.err).splitlines())
