"""The `athenan` command as the tests use it: words that train little, and what is said about bad ones."""

from __future__ import annotations

import sys
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
