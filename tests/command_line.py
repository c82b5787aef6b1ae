"""The `athenan` command as the tests use it: words that train little, and what is said about bad ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from athenan_spiel.arena import processes
from athenan_spiel.cli.main import main
from athenan_spiel.play import series
from athenan_spiel.play.match import OngoingGame

ATHENAN = [sys.executable, "-m", "athenan_spiel"]
TINY = ["--matches-at-once", "2", "--search.iterations", "1", "--network.filters", "4", "--network.neurons", "8"]

Out = pytest.CaptureFixture[str]


def complaint(capsys: Out, *words: str) -> str:
    """The one or two lines that are said about bad words."""
    capsys.readouterr()
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert 1 <= len(lines) <= 2, captured.err
    assert lines[0].startswith("athenan"), captured.err
    return captured.err


def plays_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all matches be played in this process, as where it may begin no others; so what is patched in it counts."""
    monkeypatch.setattr(processes, "_may_start_processes", lambda: False)


def fails_in_match(monkeypatch: pytest.MonkeyPatch, number: int, failure: BaseException) -> None:
    """Let `failure`, which is no player's, end the match of that number."""
    plays_here(monkeypatch)
    begin, begun = series._new_game, []

    def failing(*arguments: Any, **options: Any) -> OngoingGame:
        if len(begun) == number - 1:
            raise failure
        begun.append(begin(*arguments, **options))
        return begun[-1]

    monkeypatch.setattr(series, "_new_game", failing)


_CLIENT = """
import subprocess, sys
server = subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
server.stdin.write(sys.argv[1] + "\\n")
server.stdin.flush()
while not (line := server.stdout.readline()).startswith(sys.argv[2]):
    assert line
print(server.pid, flush=True)
server.stdout.read()
"""


def require_end_with_client(words: Sequence[str], command: str, answer: str, seconds: float = 10) -> None:
    """A server ends soon after its client is killed, in the middle of a search.

    Args:
        words: of the server, after `athenan`.
        command: begins the search.
        answer: how a line begins that the client waits for.
        seconds: in which it has to end, on a busy machine.
    """
    client = subprocess.Popen(
        [sys.executable, "-c", _CLIENT, command, answer, *ATHENAN, *words], stdout=subprocess.PIPE, text=True
    )
    assert client.stdout is not None
    server = int(client.stdout.readline())
    try:
        time.sleep(0.5)
        assert _is_alive(server)
        client.kill()
        client.wait()
        until = time.monotonic() + seconds
        while _is_alive(server) and time.monotonic() < until:
            time.sleep(0.05)
        assert not _is_alive(server)
    finally:
        client.kill()
        if _is_alive(server):
            os.kill(server, signal.SIGKILL)


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
