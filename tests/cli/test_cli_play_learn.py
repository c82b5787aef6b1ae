"""`athenan play GAME --learn`: the start clock, the game, Ctrl-C, and options that are refused."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from clocks import HANG_SECONDS
from command_line import ATHENAN, complaint

from athenan_spiel.cli.main import main

Out = pytest.CaptureFixture[str]
posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
CLOCKS = ["--start-clock", "0.3s", "--play-clock", "0.05s"]


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the temporary folders."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("forked_workers", "one_torch_thread")
@pytest.mark.parametrize(
    ("words", "typed"),
    [
        (["tic_tac_toe", "--learn", *CLOCKS], "\n".join("012345678" * 9)),
        (["tic_tac_toe", "--learn", *CLOCKS, "--second", "--seed", "1", "--raw"], "\n".join("012345678" * 9)),
        (["tic_tac_toe", "--learn", *CLOCKS, "--moves", "4", "0"], "\n".join("012345678" * 9)),
        (["pig(players=3,winscore=5)", "--learn", *CLOCKS, "--seat", "0"], "\n".join(["0", "1"] * 50)),
        (["athenan-ggp:.3s/.05s", "--game", "tic_tac_toe"], "\n".join("012345678" * 9)),
    ],
    ids=lambda x: x[0] if isinstance(x, list) else "",
)
def test_a_game_is_played_after_the_start_clock(
    words: list[str], typed: str, folders: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert main(["play", *words]) == 0
    out, said = capsys.readouterr()
    assert said.splitlines()[0] == "learning for 0.3 s before the first move"
    assert said.splitlines()[1].startswith("learned ")
    assert out.splitlines()[-1].endswith((" won.", " draw.", ".")), out
    assert "Your move: " in out
    assert [*folders.iterdir()] == []


@pytest.mark.usefixtures("forked_workers", "one_torch_thread")
def test_a_hint_before_the_first_network(folders: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athenan_spiel.training.background._Follower._load", lambda self: None)
    monkeypatch.setattr("sys.stdin", io.StringIO("hint\nundo\nquit\n"))
    assert main(["play", "tic_tac_toe", "--learn", *CLOCKS]) == 0
    out = capsys.readouterr().out
    assert "hint (UBFM without a network): x(" in out
    assert "game ended by quit" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--start-clock", "0s"], "expected a length of time above zero"),
        (["--play-clock", "soon"], "expected a length of time above zero"),
        (["--ponder"], "--ponder is not for an agent that learns during the game"),
        (["--memory", "2g"], "--memory is not for an agent that learns during the game"),
        (["--web"], "--web is not for an agent that learns during the game"),
        (["--allow-code", "a:b"], "--allow-code is not for an agent that learns during the game"),
        (["--game", "hex"], "--learn takes the game in place of an agent: athenan play 'hex' --learn"),
        (["--seconds", "2"], "--seconds is for other agents: use --play-clock"),
        (["--also", "random"], "--also is for a page"),
        (["--seat", "0", "1"], "--seat leaves no seat"),
    ],
    ids=lambda x: x[0] if isinstance(x, list) else "",
)
def test_options_of_other_agents_are_refused(words: list[str], said: str, capsys: Out) -> None:
    assert said in complaint(capsys, "play", "tic_tac_toe", "--learn", *words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["runs/none", "--learn"], "no game is called 'runs/none'"),
        (["kuhn_poker", "--learn"], "kuhn_poker is not supported"),
        (["random", "--game", "tic_tac_toe", "--start-clock", "3s"], "--start-clock and --play-clock are for --learn"),
        (["athenan-ggp:3s", "--game", "tic_tac_toe"], "expected athenan-ggp:START/PLAY"),
        (["athenan-ggp", "--game", "tic_tac_toe", "--ponder"], "--ponder is not for"),
        (["athenan-ggp", "--game", "tic_tac_toe", "--seconds", "1"], "--seconds needs an agent with a time limit"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_bad_agents_and_games_are_refused(words: list[str], said: str, capsys: Out) -> None:
    assert said in complaint(capsys, "play", *words)


@posix
@pytest.mark.parametrize(("number", "code", "play_begins"), [(signal.SIGINT, 130, True), (signal.SIGTERM, 143, False)])
def test_a_signal_ends_the_training_too(number: int, code: int, play_begins: bool, tmp_path: Path) -> None:
    clock = "0.1s" if play_begins else "1h"
    command = [*ATHENAN, "play", "tic_tac_toe", "--learn", "--start-clock", clock]
    environment = {
        **os.environ,
        "TMPDIR": str(tmp_path),
        "PYTHONPATH": os.fspath(Path(__file__).resolve().parents[2]),
        "PYTHONUNBUFFERED": "1",
    }
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stderr.readline() == "learning for 3600 s before the first move\n".replace(
            "3600", "0.1" if play_begins else "3600"
        )
        if play_begins:
            process.stdout.readline()
        else:
            while not [*tmp_path.glob("athenan-*/run/checkpoints/0*")]:
                time.sleep(0.05)
                assert process.poll() is None
        process.send_signal(number)
        _, said = process.communicate(timeout=HANG_SECONDS)  # also the end of the training, which has the same pipes
    assert process.returncode == code
    assert said.splitlines()[-1] == "athenan play: stopped"
    assert "Traceback" not in said
    assert [*tmp_path.iterdir()] == []
