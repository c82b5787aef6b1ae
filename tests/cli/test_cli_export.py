"""`athenan export`, and the commands that take what it has written."""

from __future__ import annotations

import importlib.util
import io
import re
import subprocess
from pathlib import Path

import pytest
from command_line import ATHENAN, Out, complaint

from athenan_spiel.cli.main import main
from athenan_spiel.training.agent_file import read_agent_header

pytestmark = pytest.mark.usefixtures("forked_workers")

has_onnx = pytest.mark.skipif(
    importlib.util.find_spec("onnxscript") is None, reason="needs onnxscript, which is not installed"
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_run_becomes_a_file(trained: Path, here: Path, capsys: Out) -> None:
    assert main(["export", str(trained)]) == 0
    said = capsys.readouterr()
    assert said.out == f"ttt.safetensors: {(here / 'ttt.safetensors').stat().st_size:,} bytes\n"
    assert "play against it: athenan play ttt.safetensors" in said.err
    assert main(["export", f"{trained}#2", "--file", "second"]) == 0
    assert read_agent_header(here / "second").counters.matches == 2
    assert (here / "second").read_bytes() == (here / "ttt.safetensors").read_bytes()
    assert "exists: choose another name, or use --overwrite" in complaint(capsys, "export", str(trained))
    assert main(["export", str(trained), "--overwrite"]) == 0


@has_onnx
def test_a_network_is_written_for_others(trained: Path, here: Path, capsys: Out) -> None:
    assert main(["export", str(trained), "--onnx", "ttt.onnx"]) == 0
    assert capsys.readouterr().out == f"ttt.onnx: {(here / 'ttt.onnx').stat().st_size:,} bytes\n"
    assert [path.name for path in here.iterdir()] == ["ttt.onnx"], "--onnx alone"
    assert main(["export", str(trained), "--onnx", "two.onnx", "--file", "two"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert main(["export", "two", "--onnx", "three.onnx"]) == 0
    assert (here / "two.onnx").read_bytes() == (here / "three.onnx").read_bytes() == (here / "ttt.onnx").read_bytes()
    assert "two' exists" in complaint(capsys, "export", str(trained), "--onnx", "four.onnx", "--file", "two")
    assert not (here / "four.onnx").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "athenan export: missing: RUN"),
        (
            ["no/such/run"],
            "expected the folder of a run or an agent file, got 'no/such/run', which does not exist",
        ),
        (["random"], "expected a run such as runs/NAME or runs/NAME#640, got 'random'"),
        (["TRAINED@1s"], "expected a run such as runs/NAME or runs/NAME#640, got "),
        (["TRAINED:mcts"], "expected a run such as runs/NAME or runs/NAME#640, got "),
        (["TRAINED#77"], "expected the number of a checkpoint in"),
        (["TRAINED#best"], "has no best network"),
        (["TRAINED", "--file", "no/such/folder/x"], "could not be written: No such file or directory"),
        (["TRAINED", "--file", "."], "expected the name of a new file, got the folder '.'"),
        (["TRAINED", "--fiel", "x"], "unknown option '--fiel': did you mean '--file'?"),
    ],
)
def test_what_cannot_be_exported_is_a_line(words: list[str], said: str, trained: Path, here: Path, capsys: Out) -> None:
    words = [word.replace("TRAINED", str(trained)) for word in words]
    assert said in complaint(capsys, "export", *words)
    assert list(here.iterdir()) == []


def test_the_file_is_played_and_measured_like_a_run(
    trained: Path, here: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["export", str(trained), "--file", "ttt"]) == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("quit\n"))
    assert main(["play", "ttt@1i"]) == 0
    capsys.readouterr()
    assert main(["eval", "ttt@1i", "--against", "random", "--matches", "2"]) == 0
    assert "ttt@1i at tic_tac_toe()" in capsys.readouterr().out
    commands = "boardsize 3\ngenmove black\nquit\n"
    done = subprocess.run([*ATHENAN, "gtp", "ttt@1i"], input=commands, capture_output=True, text=True, timeout=300)
    assert re.fullmatch(r"=\n\n= [ABC][123]\n\n=\n\n", done.stdout), done
    assert "expected the folder of a run, got 'ttt'" in complaint(capsys, "resume", "ttt")
    assert "agent files have no checkpoints" in complaint(capsys, "play", "ttt#2@1i")
    assert "learned 'tic_tac_toe()' and cannot play 'hex" in complaint(
        capsys, "eval", "ttt@1i", "--against", "random", "--game", "hex", "--matches", "2"
    )
