"""`--cluster` on the command line: what its words mean, and what is said where there is no cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from clocks import HANG_SECONDS
from command_line import TINY, Out, complaint
from fake_ray import FakeRay, installed
from pages import DOCS, commands
from test_readme import in_short

from athenan_spiel.cli.main import main
from athenan_spiel.cli.options import parse_workers, with_address
from athenan_spiel.config import EngineConfig, TrainingConfig
from athenan_spiel.errors import ConfigError, UnsupportedGameError
from athenan_spiel.games import load_game
from athenan_spiel.training import preflight
from athenan_spiel.training.actors import placement
from athenan_spiel.training.preflight import usual_workers, worker_count

fake = pytest.fixture(installed)


class OwnGame:
    """Stands for a game that this script has registered."""


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ([], []),
        (["hex"], ["hex"]),
        (["hex", "--cluster"], ["hex", "--cluster", "local"]),
        (["--cluster", "--json", "hex"], ["--cluster", "local", "--json", "hex"]),
        (["--cluster", "auto", "hex"], ["--cluster", "auto", "hex"]),
        (["--cluster=h:6379", "hex"], ["--cluster=h:6379", "hex"]),
    ],
)
def test_without_an_address_it_is_a_local_one(words: Sequence[str], meant: Sequence[str]) -> None:
    assert with_address(words) == meant


def test_the_cluster_says_how_many_are_auto() -> None:
    assert parse_workers("auto", "local") == "auto"
    assert worker_count("auto", "hex", on_cluster=True) == 0
    assert parse_workers("3", "local") == worker_count(3, "hex", on_cluster=True) == 3
    assert parse_workers("0") == 0
    with pytest.raises(ConfigError, match=r"^--workers must be at least 1 or auto with --cluster, got 0$"):
        parse_workers("0", "local")


COMMANDS = [
    ["train", "tic_tac_toe"],
    ["resume", "RUN"],
    ["eval", "RUN@1i", "--against", "random", "--matches", "2"],
]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"seconds": 180.0}, "auto"),
        ({"seconds": 60.0}, "auto"),
        ({"seconds": 59.0}, None),
        ({"matches": 4}, None),
        ({"matches": 4, "seconds": 180.0}, None),
        ({"seconds": 180.0, "outcome": "my.heuristics:of_mine"}, None),
        ({"seconds": 180.0, "engine": EngineConfig(name="cuda")}, None),
    ],
)
def test_a_run_of_a_minute_or_more_has_workers(
    settings: dict[str, Any], expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, game = TrainingConfig(**settings), load_game("tic_tac_toe")
    monkeypatch.setattr(preflight, "cores", lambda: 2)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert usual_workers(config, game) == expected
    assert usual_workers(config, OwnGame()) is None  # type: ignore[arg-type]
    monkeypatch.setattr(preflight, "cores", lambda: 1)
    assert usual_workers(config, game) is None


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "auto"),
        (["--preset", "day", "--time", "60s"], "auto"),
        (["--preset", "day", "--time", "60s", "--workers", "1"], 1),
        (["--preset", "paper", "--time", "3m"], None),
        (["--workers.count", "1"], None),
        (["--matches", "3"], None),
    ],
)
def test_the_command_line_and_python_ask_for_the_same_workers(
    words: list[str], expected: int | str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def train(*arguments: object, workers: object, **others: object) -> None:
        asked.append(workers)
        raise ConfigError("enough")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(preflight, "cores", lambda: 2)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("athenan_spiel.training.train", train, raising=False)
    assert main(["train", "tic_tac_toe", *words]) == 2
    assert asked == [expected]


@pytest.mark.parametrize("words", COMMANDS)
def test_without_ray_each_command_names_the_extra(
    words: list[str], trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "ray", None)  # type: ignore[arg-type]
    words = [word.replace("RUN", str(trained)) for word in words]
    said = complaint(capsys, *words, "--cluster")
    assert said.endswith(": --cluster needs Ray, which is not installed: pip install 'athenan-spiel[ray]'\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", COMMANDS)
def test_what_is_no_address_is_a_line(
    words: list[str], trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [word.replace("RUN", str(trained)) for word in words]
    assert "a cluster must be local, auto or HOST:PORT, got '10.0.0.1'" in complaint(
        capsys, *words, "--cluster", "10.0.0.1"
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", ["-1", "0", "1.5", "many", ""])
@pytest.mark.parametrize("words", [["train", "tic_tac_toe"], ["resume", "RUN"]])
def test_a_number_of_workers_that_cannot_be_is_a_line(
    words: list[str], number: str, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [word.replace("RUN", str(trained)) for word in words]
    said = complaint(capsys, *words, "--cluster", "--workers", number)
    assert "--workers must be " in said
    assert said.endswith(f", got {number if number == '0' else repr(number)}\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", COMMANDS)
def test_a_game_that_a_machine_of_the_cluster_cannot_load_is_a_line(
    words: list[str], trained: Path, tmp_path: Path, fake: FakeRay, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    def refuse(game: str) -> None:
        raise UnsupportedGameError(f"no game {game!r} here:\n install it")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(placement, "load_game", refuse)
    fake.init(address="elsewhere")
    words = [word.replace("RUN", str(trained)) for word in words]
    said = complaint(capsys, *words, "--cluster", "auto")
    assert said.endswith(": node here of the cluster: no game 'tic_tac_toe()' here: install it\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", COMMANDS)
def test_a_cluster_that_does_not_answer_is_a_line(
    words: list[str], trained: Path, tmp_path: Path, fake: FakeRay, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [word.replace("RUN", str(trained)) for word in words]
    said = complaint(capsys, *words, "--cluster", "127.0.0.1:1")
    assert said.endswith(": --cluster: no Ray cluster joined at '127.0.0.1:1': Connection refused\n")
    assert not list(tmp_path.iterdir())


def test_workers_are_on_the_cluster(tmp_path: Path, fake: FakeRay) -> None:
    folder = tmp_path / "run"
    words = ["tic_tac_toe", "--cluster", "--workers", "1", "--matches", "4", "--folder", str(folder), *TINY]
    assert main(["train", *words]) == 0
    assert len(fake.actors) == 1
    assert "count = 1" in (folder / "config.toml").read_text(encoding="utf-8")
    assert main(["resume", str(folder), "--cluster", "--workers", "2", "--matches", "4"]) == 0
    assert len(fake.actors) == 3


def test_a_run_that_is_stopped_says_how_to_go_on(tmp_path: Path, fake: FakeRay, capsys: Out) -> None:
    fake.on_new = lambda actor: os.kill(os.getpid(), signal.SIGTERM)
    folder = tmp_path / "run"
    assert main(["train", "tic_tac_toe", "--cluster", "--workers", "1", "--folder", str(folder), *TINY]) == 143
    assert f"continue with: athenan resume {folder} --cluster local" in capsys.readouterr().err.splitlines()


def of_the_tutorial() -> list[list[str]]:
    """The commands of the tutorial's page, with small counts and a small board."""
    found = [words[1:] for words in commands(DOCS / "tutorial" / "cluster.md", "console") if words[0] == "athenan"]
    return [[word.replace("board_size=11", "board_size=3") for word in in_short(words)] for words in found]


def test_the_tutorials_page_does_what_it_says(tmp_path: Path, fake: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for words in of_the_tutorial():
        words = ["local" if word == "auto" else word for word in words]  # the fake cluster is nowhere to be joined
        assert main(words) == 0, words
    assert len(list(tmp_path.glob("runs/*/config.toml"))) == 2


@pytest.mark.ray
@pytest.mark.slow("a cluster begins, and a training on it, some ten seconds")
def test_the_tutorials_page_does_so_on_ray(tmp_path: Path) -> None:
    (first, *_) = (words for words in of_the_tutorial() if "auto" not in words)
    command = [sys.executable, "-m", "athenan_spiel", *first]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "runs" / "cluster" / "config.toml").is_file()
