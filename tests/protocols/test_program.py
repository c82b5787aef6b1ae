"""Programs that behave, and programs that do not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from athenan_spiel.errors import AgentError, ProgramError, ProgramTimeoutError
from athenan_spiel.protocols import program
from athenan_spiel.protocols.program import Program, command_of


@contextmanager
def running(code: str) -> Iterator[Program]:
    one = Program([sys.executable, "-c", code])
    try:
        yield one
    finally:
        one.close()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # it ended before or during the read
        return False


def ends(pid: int) -> bool:
    until = time.monotonic() + 15
    while is_alive(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not is_alive(pid)


def test_lines_go_there_and_come_back() -> None:
    with running("while True: print(input()[::-1], flush=True)") as echo:
        echo.send("abc")
        echo.send("über")
        assert [echo.line(5), echo.line(5)] == ["cba", "rebü"]


def test_words_are_those_of_a_shell() -> None:
    assert command_of("gnugo --mode gtp 'a b'") == ("gnugo", "--mode", "gtp", "a b")


@pytest.mark.parametrize("text", ["", "  ", "a 'b"])
def test_no_command(text: str) -> None:
    with pytest.raises(AgentError, match="expected a program and its options"):
        command_of(text)


def test_no_such_program() -> None:
    with pytest.raises(ProgramError, match="/no/engine cannot be started: No such file"):
        Program(["/no/engine", "--mode", "gtp"])
    with pytest.raises(ProgramError, match="cannot be started"):
        Program(["/no/en\0gine"])


def test_a_silent_one_is_not_waited_for() -> None:
    with running("import time; time.sleep(60)") as silent:
        start = time.monotonic()
        with pytest.raises(ProgramTimeoutError, match=r"has not answered within 0\.1 s"):
            silent.line(0.1)
        with pytest.raises(ProgramTimeoutError):
            silent.line(-1)
        assert time.monotonic() - start < 5


def test_one_that_ends_says_why() -> None:
    with running("import sys; print('bye'); sys.exit('no licence\\033[2J')") as ending:
        assert ending.line(5) == "bye"
        for _ in range(2):
            with pytest.raises(ProgramError, match=r"has ended \(exit code 1\); it last wrote: no licence.x1b"):
                ending.line(5)


def test_one_that_does_not_read_is_not_written_to_for_ever() -> None:
    def send_much(to: Program) -> None:
        for _ in range(2 * program.MOST_SENT):
            to.send("x" * 1000)

    with running("import time; time.sleep(60)") as deaf, pytest.raises(ProgramError, match="does not read"):
        send_much(deaf)


def test_what_is_said_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "MOST_LINES", 10)
    code = (
        "import sys\n"
        "for i in range(100): print(i)\n"
        "print('y' * 1_000_000)\n"
        "print('z')\n"
        "sys.stderr.write('e' * 1_000_000)"
    )
    with running(code) as talkative:
        time.sleep(0.3)
        assert talkative._output.qsize() <= 10
        assert [talkative.line(5) for _ in range(100)] == [str(i) for i in range(100)]
        assert talkative.line(5) == "y" * program.LONGEST_LINE
        assert talkative.line(5) == "z"
        with pytest.raises(ProgramError) as ended:
            talkative.line(5)
        assert len(str(ended.value)) < 1000


def test_it_ends_with_its_object_and_its_children_with_it() -> None:
    code = (
        "import os, signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(os.getpid(), child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    for kindly in (True, False):
        stubborn = Program([sys.executable, "-c", code])
        pids = [int(pid) for pid in stubborn.line(10).split()]
        assert stubborn.running
        assert all(map(is_alive, pids))
        if kindly:
            stubborn.close()
        else:
            del stubborn
        assert all(map(ends, pids))


def test_a_kind_one_is_not_killed(tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    code = f"import sys\nsys.stdin.read()\nopen({os.fspath(saved)!r}, 'w').write('x')"
    kind = Program([sys.executable, "-c", code])
    kind.send("quit")
    kind.close()
    assert saved.exists()
    assert not kind.running


DAEMON = (
    "import os, sys, time\n"
    "read, write = os.pipe()\n"
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    if os.fork() == 0:\n"
    "        os.write(write, b'%d' % os.getpid())\n"
    "        time.sleep(600)\n"
    "    os._exit(0)\n"
    "os.wait()\n"
    "print(os.getpid(), int(os.read(read, 16)), flush=True)\n"
)
"""An engine that leaves a daemon in a session of its own, whose parent has ended."""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux finds descendants in other sessions")
@pytest.mark.parametrize("way", ["closed", "dropped", "ends by itself"])
def test_a_descendant_in_a_session_of_its_own_ends_too(way: str) -> None:
    code = DAEMON + ("" if way == "ends by itself" else "time.sleep(600)\n")
    one = Program([sys.executable, "-c", code])
    pids = [int(pid) for pid in one.line(20).split()]
    if way == "closed":
        one.close()
    elif way == "dropped":
        del one
    assert all(map(ends, pids))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends them with a process that is killed")
def test_engines_end_with_a_process_that_is_killed() -> None:
    """They read nothing, so the end of their input does not end them."""
    code = (
        "import sys, time\n"
        "from athenan_spiel.protocols.program import Program\n"
        f"one = Program([sys.executable, '-c', {DAEMON + 'time.sleep(600)'!r}])\n"
        "print(one.line(20), flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pids = [int(pid) for pid in owner.stdout.readline().split()]
        assert len(pids) == 2
        assert all(map(is_alive, pids))
        owner.kill()
    assert all(map(ends, pids))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_a_crash_is_told_as_the_signal() -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    with running(code) as crashing, pytest.raises(ProgramError, match=r"has ended \(exit code -11\)"):
        crashing.line(20)


@pytest.mark.skipif(sys.platform != "linux", reason="the signals are blocked on Linux alone")
def test_a_program_has_no_blocked_signals() -> None:
    """Processes of the library block those of a terminal, which a program would inherit."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        code = "import signal; print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())), flush=True); input()"
        with running(code) as one:
            assert one.line(20) == "[]"
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
