"""`--restarts`: a training whose process is killed goes on from its newest checkpoint, and says so."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clocks import HANG_SECONDS
from command_line import ATHENAN, TINY, Out, complaint

from athenan_spiel.cli import restarts
from athenan_spiel.cli.main import main
from athenan_spiel.cli.restarts import watched, without


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (["hex", "--restarts", "3", "--quiet"], ["hex", "--quiet"]),
        (["--restarts=3", "hex"], ["hex"]),
        (["hex"], ["hex"]),
    ],
)
def test_the_option_is_not_for_the_process_that_is_begun(words: list[str], left: list[str]) -> None:
    assert without(words, "--restarts") == left


class Codes:
    """Stands in for processes: they end with these codes, and leave a run behind them."""

    def __init__(self, folder: Path, *codes: int) -> None:
        self.folder = folder
        self.codes = list(codes)
        self.begun: list[list[str]] = []

    def __call__(self, words: list[str], stops: Any) -> int:
        self.begun.append(words)
        self.folder.mkdir(exist_ok=True)
        (self.folder / "config.toml").touch()
        return self.codes.pop(0)


@pytest.fixture
def ending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Codes]:
    def end(*codes: int) -> Codes:
        stand_in = Codes(tmp_path / "run", *codes)
        monkeypatch.setattr(restarts, "_code", stand_in)
        return stand_in

    return end


@pytest.mark.parametrize("code", [0, 1, 2])
def test_what_ends_by_itself_is_not_begun_again(ending: Callable[..., Codes], tmp_path: Path, code: int) -> None:
    codes = ending(code)
    assert watched(["train"], tmp_path / "run", ["resume"], 3, quiet=False) == code
    assert codes.begun == [["train"]]


def test_what_is_killed_goes_on(ending: Callable[..., Codes], tmp_path: Path, capsys: Out) -> None:
    codes = ending(-9, -9, 0)
    assert watched(["train"], tmp_path / "run", ["resume"], 2, quiet=False) == 0
    assert codes.begun == [["train"], ["resume"], ["resume"]]
    said = "the process that learns was ended by SIGKILL (out of memory?): it continues from its newest checkpoint"
    assert capsys.readouterr().err.splitlines() == [said] * 2


def test_what_is_killed_too_often_is_told(
    ending: Callable[..., Codes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    monkeypatch.chdir(tmp_path)
    ending(-9, -11)
    said = complaint(capsys, "train", "tic_tac_toe", "--restarts", "1", "--folder", "run", "--quiet")
    expected = "the process that learns was ended by SIGSEGV (out of memory?), 2 times within an hour"
    assert said == f"athenan train: {expected}; continue with: athenan resume run\n"


def test_a_run_goes_on_with_what_the_words_allow(ending: Callable[..., Codes], tmp_path: Path) -> None:
    codes = ending(-9, 0)
    words = [str(tmp_path / "run"), "--cluster", "--restarts=2", "--matches", "4", "--json", "--allow-code", "a:b"]
    assert main(["resume", *words]) == 0
    first, again = codes.begun
    assert first == ["resume", words[0], "--cluster", "local", "--matches", "4", "--json", "--allow-code", "a:b"]
    assert again == ["resume", words[0], "--json", "--allow-code", "a:b", "--cluster", "local"]


def test_less_than_none_is_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out) -> None:
    monkeypatch.chdir(tmp_path)
    assert "--restarts must be at least 0, got -1" in complaint(capsys, "train", "tic_tac_toe", "--restarts", "-1")


def test_a_learner_that_is_killed_comes_back(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    words = ["tic_tac_toe", "--restarts", "2", "--time", "5m", "--checkpoint-seconds", "0", "--json"]
    process = subprocess.Popen(
        [*ATHENAN, "train", *words, "--folder", str(folder), *TINY],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        events = map(json.loads, process.stdout)
        learned = next(
            event["matches"] for event in events if event["event"] == "checkpoint_written" and event["matches"]
        )
        os.kill(learner_of(process.pid), signal.SIGKILL)
        again = next(event for event in events if event["event"] == "run_started")
        assert again["matches"] >= learned
        next(event for event in events if event["event"] == "round_finished")
        process.terminate()
        _, said = process.communicate(timeout=HANG_SECONDS)
    finally:
        process.kill()
    assert process.returncode == 143
    assert said.splitlines()[0].startswith("the process that learns was ended by SIGKILL")


def test_the_learner_saves_and_ends_with_the_process_that_watches(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    words = ["tic_tac_toe", "--restarts", "2", "--time", "5m", "--json", "--folder", str(folder), *TINY]
    process = subprocess.Popen([*ATHENAN, "train", *words], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    next(line for line in process.stdout if json.loads(line)["event"] == "round_finished")
    process.kill()
    last = [json.loads(line) for line in process.stdout][-1]  # it is closed once all have ended
    assert (last["event"], last["reason"]) == ("run_finished", "stopped")
    process.wait()
    process.stdout.close()


def learner_of(parent: int) -> int:
    """The child of this process that is none of Python's own."""
    until = time.monotonic() + HANG_SECONDS
    while time.monotonic() < until:
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                is_child = int(stat.read_text().rpartition(")")[2].split()[1]) == parent
                words = (stat.parent / "cmdline").read_text()
            except OSError:
                continue
            if is_child and "spawn_main" in words:
                return int(stat.parent.name)
    raise AssertionError("nobody learns")
